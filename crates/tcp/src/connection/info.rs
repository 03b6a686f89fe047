//! Everything there is to know of one connection at one moment.
//!
//! Rule: a copy, not a view; RFC names; times and bytes by limit add up.

use fullpipe_pool::{Duration, Instant, Pool};

use super::{Connection, Env, TcpState, Tuning};
use crate::{
    CloseReason, LimitClock, ReceiveClock,
    congestion::FastestSample,
    options::Agreed,
    recovery::{RecoveryPhase, SentArena},
};

/// A connection at one moment. Sequence numbers as on the wire, the rest bytes.
#[derive(Clone, Debug)]
pub struct Info {
    /// Where the connection stands.
    pub state: TcpState,
    /// How it ended, if it has.
    pub close_reason: Option<CloseReason>,
    /// When it was opened.
    pub born: Instant,
    /// When this was taken.
    pub at: Instant,
    /// When a segment of the peer last came; before the first, when it was opened.
    pub last_received_at: Instant,
    /// What the application set.
    pub tuning: Tuning,
    /// What both SYNs agreed on.
    pub agreed: Agreed,
    /// Effective segment size: bytes of text in a full segment.
    pub mss: u32,
    /// Initial send sequence number.
    pub iss: u32,
    /// Oldest unacknowledged sequence number.
    pub snd_una: u32,
    /// Next sequence number to send for the first time.
    pub snd_nxt: u32,
    /// Bytes on their way: neither SACKed nor taken for lost.
    pub in_flight: u32,
    /// The peer's window.
    pub snd_wnd: u32,
    /// The largest window it ever advertised.
    pub max_snd_wnd: u32,
    /// Initial receive sequence number.
    pub irs: u32,
    /// Next sequence number expected.
    pub rcv_nxt: u32,
    /// What is left of the window that was advertised.
    pub rcv_wnd: u32,
    /// Written and not acknowledged.
    pub send_queue: u32,
    /// Written and not sent.
    pub unsent: u32,
    /// Received in order and not read.
    pub receive_queue: u32,
    /// Separate pieces that wait behind gaps.
    pub holes: u32,
    /// Urgent text not yet read. RFC 9293 §3.8.5.
    pub urgent_left: u32,
    /// Bytes that the send buffer may hold now.
    pub send_buffer: u32,
    /// Bytes that the receive buffer may hold now.
    pub receive_buffer: u32,
    /// Blocks of packet memory that the send buffer holds.
    pub send_blocks: u32,
    /// Blocks that the receive buffer holds or was promised.
    pub receive_blocks: u32,
    /// Congestion window.
    pub cwnd: u32,
    /// Slow-start threshold; `u32::MAX` before the first loss.
    pub ssthresh: u32,
    /// Bytes a second at which segments leave; `u64::MAX` is unlimited.
    pub pacing_rate: u64,
    /// Bytes a second that the last sample of the delivery rate had, unless the
    /// application's pauses made it slower; 0 before the first.
    pub delivery_rate: u64,
    /// That is what the application sent, and not what the path can carry.
    pub app_limited: bool,
    /// Bytes handed to the device that it has not sent yet, where devices tell.
    pub in_device: u32,
    /// The fastest delivery rate sample taken.
    pub fastest_sample: FastestSample,
    /// What is being done about loss.
    pub recovery: RecoveryPhase,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Duration,
    /// Its mean deviation.
    pub rttvar: Duration,
    /// Smallest round-trip time seen.
    pub min_rtt: Option<Duration>,
    /// Retransmission timeout, backoff included.
    pub rto: Duration,
    /// Text sent for the first time.
    pub bytes_sent: u64,
    /// Text sent again.
    pub bytes_retransmitted: u64,
    /// Text acknowledged by the peer.
    pub bytes_acked: u64,
    /// Text received in order.
    pub bytes_received: u64,
    /// Segments with text sent, retransmissions included.
    pub segments_sent: u32,
    /// Segments sent again.
    pub segments_retransmitted: u32,
    /// Segments with text that were full-sized.
    pub full_sized_sent: u32,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Fast recoveries.
    pub fast_recoveries: u32,
    /// Zero-window probes sent.
    pub zero_window_probes: u32,
    /// What held the sender back, for how long.
    pub limit: LimitClock,
    /// What the receiver did to its sender, for how long.
    pub receive_limit: ReceiveClock,
}

impl Info {
    /// Age of the connection: what the times of each clock add up to.
    pub fn age(&self) -> Duration {
        self.at.since(self.born)
    }
}

impl Connection {
    /// Everything there is to know at this moment.
    pub fn info(&self, env: &Env<'_>) -> Info {
        let (send, receive, totals) = (&self.send, &self.receive, &self.totals);
        let read_up_to = receive.rcv_nxt - receive.readable();
        Info {
            state: self.state,
            close_reason: self.close_reason,
            born: self.born,
            at: env.now,
            last_received_at: self.last_received_at,
            tuning: self.tuning,
            agreed: self.agreed,
            mss: self.mss(env),
            iss: send.iss.0,
            snd_una: send.snd_una.0,
            snd_nxt: send.snd_nxt.0,
            in_flight: self.recovery.board().in_flight(),
            snd_wnd: send.snd_wnd,
            max_snd_wnd: send.max_snd_wnd,
            irs: receive.irs.0,
            rcv_nxt: receive.rcv_nxt.0,
            rcv_wnd: receive.window_left(),
            send_queue: send.stream.len() as u32,
            unsent: send.unsent(),
            receive_queue: receive.readable(),
            holes: receive.ranges(),
            urgent_left: receive.rcv_up.map_or(0, |up| read_up_to.room_to(up)),
            send_buffer: self.send_size.get(),
            receive_buffer: self.receive_size.get(),
            send_blocks: send.stream.held_blocks(env.pool),
            receive_blocks: receive.stream.held_blocks(env.pool)
                + receive.stream.promised_blocks(env.pool),
            cwnd: self.congestion.cwnd(),
            ssthresh: self.congestion.ssthresh(),
            pacing_rate: self.rate_now(env.config),
            delivery_rate: self.rate.latest(),
            app_limited: self.rate.latest_is_app_limited(),
            in_device: self.small_queue.held(),
            fastest_sample: self.rate.fastest(),
            recovery: self.recovery.phase(),
            srtt: self.rtt.srtt(),
            rttvar: self.rtt.rttvar(),
            min_rtt: self.rtt.min_rtt(),
            rto: self.rtt.rto(env.config),
            bytes_sent: totals.bytes_sent,
            bytes_retransmitted: totals.bytes_retransmitted,
            bytes_acked: totals.bytes_acked,
            bytes_received: totals.bytes_received,
            segments_sent: totals.segments_sent,
            segments_retransmitted: totals.segments_retransmitted,
            full_sized_sent: totals.full_sized_sent,
            timeouts: totals.timeouts,
            fast_recoveries: totals.fast_recoveries,
            zero_window_probes: totals.zero_window_probes,
            limit: self.limit.clone(),
            receive_limit: self.receive_limit.clone(),
        }
    }

    /// Checks what must hold between any two calls.
    ///
    /// # Panics
    /// With what is broken.
    pub fn verify(&self, now: Instant, pool: &Pool, sent: &SentArena) {
        let send = &self.send;
        assert!(
            send.snd_una.at_or_before(send.snd_nxt),
            "snd_nxt before snd_una"
        );
        self.recovery
            .board()
            .verify(send.snd_una, send.snd_nxt, sent);
        send.stream.verify(pool);
        self.receive.verify(pool);
        let age = now.since(self.born);
        let sending: Duration = self
            .limit
            .shares(now)
            .fold(Duration::ZERO, |sum, (_, time, _)| sum + time);
        assert_eq!(sending, age, "times over the sender's limits");
        let received: Duration = self
            .receive_limit
            .shares(now)
            .fold(Duration::ZERO, |sum, (_, time, _)| sum + time);
        assert_eq!(received, age, "times over the receiver's limits");
        let bytes: u64 = self.limit.shares(now).map(|(_, _, bytes)| bytes).sum();
        assert_eq!(
            bytes, self.totals.bytes_sent,
            "bytes over the sender's limits"
        );
    }
}
