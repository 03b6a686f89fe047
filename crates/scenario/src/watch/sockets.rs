//! One end of a connection at one moment, as `ss -tinm` shows it.
//!
//! Rule: a name from `ss` has the same meaning and the same unit here. Memory is the number of pool
//! blocks, multiplied by their size. The stack has no memory outside the pool (`o`) and no memory
//! in a backlog (`bl`), so these values are 0.

use std::fmt;

use fullpipe_tcp::{Info, RecoveryState, TcpState};
use serde::Serialize;

use super::seconds::seconds;

/// One end of a connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Socket {
    /// Time, in nanoseconds from the start of the run.
    pub at_ns: u64,
    /// Name of the host.
    pub host: String,
    /// Name of the host at the other end.
    pub peer: String,
    /// Name of the flow, and the number of the connection in the flow, from 1.
    pub flow: String,
    /// State of the connection.
    pub state: &'static str,
    /// Bytes received but not read.
    pub recv_q: u32,
    /// Bytes written but not acknowledged.
    pub send_q: u32,
    /// Memory of the socket.
    pub skmem: Memory,
    /// Congestion control.
    pub congestion: String,
    /// Window scales of the peer and of this end.
    pub wscale: [u8; 2],
    /// Retransmission timeout, backoff included.
    pub rto_ms: f64,
    /// Smoothed round-trip time.
    pub rtt_ms: f64,
    /// Mean deviation of the round-trip time.
    pub rttvar_ms: f64,
    /// Payload of a full segment, in bytes.
    pub mss: u32,
    /// Congestion window in segments.
    pub cwnd: u32,
    /// Slow-start threshold in segments; `None` before the first loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssthresh: Option<u32>,
    /// Payload sent, retransmissions included.
    pub bytes_sent: u64,
    /// Payload retransmitted.
    pub bytes_retrans: u64,
    /// Payload acknowledged.
    pub bytes_acked: u64,
    /// Payload received in order.
    pub bytes_received: u64,
    /// Segments with payload sent, retransmissions included.
    pub data_segs_out: u64,
    /// Segments retransmitted.
    pub retrans: u64,
    /// Congestion window divided by the round-trip time, in bits per second.
    pub send_bps: f64,
    /// Pacing rate in bit/s; `None` without pacing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing_bps: Option<f64>,
    /// Latest delivery rate in bit/s; `None` before the first sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery_bps: Option<f64>,
    /// True if the application limited the delivery rate.
    pub app_limited: bool,
    /// Time in which some payload was unsent or unacknowledged.
    pub busy_ms: f64,
    /// Part of `busy_ms` in which the peer's window limited sending.
    pub rwnd_limited_ms: f64,
    /// Time in which the send buffer or packet memory limited sending.
    pub sndbuf_limited_ms: f64,
    /// State of loss recovery: open, disorder, cwr, recovery or loss.
    pub ca_state: &'static str,
    /// Segments in flight.
    pub unacked: u32,
    /// Segments considered lost but not yet retransmitted.
    pub lost: u32,
    /// Segments that the peer has SACKed.
    pub sacked: u32,
    /// Retransmitted segments that are in flight.
    pub retrans_unacked: u32,
    /// The peer's window in bytes.
    pub snd_wnd: u32,
    /// Part of this end's advertised window that the peer has not used, in bytes.
    pub rcv_wnd: u32,
    /// Smallest round-trip time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minrtt_ms: Option<f64>,
}

/// Memory of a socket, in bytes, as in `skmem:(…)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// Payload received but not read.
    pub r: u64,
    /// Size of the receive buffer, with the overhead that an operating system counts in addition to
    /// payload.
    pub rb: u64,
    /// Bytes handed to the device but not completed, if the device reports completions.
    pub t: u64,
    /// Size of the send buffer, with the overhead that an operating system counts in addition to
    /// payload.
    pub tb: u64,
    /// Bytes reserved for the advertised window, and unused bytes of partly filled blocks.
    pub f: u64,
    /// Bytes of the pool blocks that contain written payload.
    pub w: u64,
    /// Memory for options: always 0.
    pub o: u64,
    /// Memory in the backlog: always 0.
    pub bl: u64,
    /// Segments that the host dropped for lack of memory.
    pub d: u64,
}

/// Ends and flow of a socket.
#[derive(Clone, Debug)]
pub struct SocketOwner<'a> {
    /// Name of the socket's host.
    pub host: &'a str,
    /// Name of the host at the other end.
    pub peer: &'a str,
    /// Name of the flow, and the number of the connection in the flow.
    pub flow: String,
    /// Congestion control.
    pub congestion: String,
    /// Bytes of a pool block of the socket's host.
    pub block_size: u32,
    /// Percentages of the send buffer and of the receive buffer that payload may use.
    pub payload_shares: [u32; 2],
    /// Segments that the host dropped for lack of memory.
    pub drops: u64,
}

impl Socket {
    /// Converts `info` to the fields of `ss`.
    pub fn of(owner: SocketOwner<'_>, info: &Info) -> Self {
        let millis = |time: fullpipe_pool::Duration| time.as_secs_f64() * 1e3;
        let segments = |bytes: u32| bytes.div_ceil(info.mss.max(1));
        let rtt_s = info.srtt.as_secs_f64();
        let blocks = |count: u32| u64::from(count) * u64::from(owner.block_size);
        let unread = u64::from(info.receive_queue);
        let whole =
            |text: u32, share: u32| (u64::from(text) * 100).div_ceil(u64::from(share.max(1)));
        let [sent_share, received_share] = owner.payload_shares;
        Self {
            at_ns: info.at.as_nanos(),
            host: owner.host.to_string(),
            peer: owner.peer.to_string(),
            flow: owner.flow,
            state: state_name(info.state),
            recv_q: info.receive_queue,
            send_q: info.send_queue,
            skmem: Memory {
                r: unread,
                rb: whole(info.receive_buffer, received_share),
                t: info.in_device.into(),
                tb: whole(info.send_buffer, sent_share),
                f: blocks(info.receive_blocks).saturating_sub(unread),
                w: blocks(info.send_blocks),
                d: owner.drops,
                ..Memory::default()
            },
            congestion: owner.congestion,
            wscale: [info.agreed.snd_wscale, info.agreed.rcv_wscale],
            rto_ms: millis(info.rto),
            rtt_ms: millis(info.srtt),
            rttvar_ms: millis(info.rttvar),
            mss: info.mss,
            cwnd: info.cwnd / info.mss.max(1),
            ssthresh: (info.ssthresh != u32::MAX).then(|| info.ssthresh / info.mss.max(1)),
            bytes_sent: info.bytes_sent + info.bytes_retransmitted,
            bytes_retrans: info.bytes_retransmitted,
            bytes_acked: info.bytes_acked,
            bytes_received: info.bytes_received,
            data_segs_out: info.segments_sent,
            retrans: info.segments_retransmitted,
            send_bps: match rtt_s > 0.0 {
                true => f64::from(info.cwnd) * 8.0 / rtt_s,
                false => 0.0,
            },
            pacing_bps: (info.pacing_rate != u64::MAX).then_some(info.pacing_rate as f64 * 8.0),
            delivery_bps: (info.delivery_rate > 0).then_some(info.delivery_rate as f64 * 8.0),
            app_limited: info.app_limited,
            busy_ms: millis(info.busy),
            rwnd_limited_ms: millis(info.receive_window_limited()),
            sndbuf_limited_ms: millis(info.send_buffer_limited()),
            ca_state: info.recovery.name(),
            unacked: segments(info.in_flight),
            lost: segments(info.lost),
            sacked: segments(info.sacked),
            retrans_unacked: segments(info.retransmitted),
            snd_wnd: info.snd_wnd,
            rcv_wnd: info.rcv_wnd,
            minrtt_ms: info.min_rtt.map(millis),
        }
    }

    /// The heading above a list of sockets.
    pub const HEADING: &'static str =
        "time           State       Recv-Q     Send-Q  Local -> Peer, flow";
}

/// Writes the first line of a socket: time, state, queues, ends and flow.
pub(super) fn write_head(
    f: &mut fmt::Formatter<'_>,
    at_ns: u64,
    state: &str,
    [recv_q, send_q]: [impl fmt::Display; 2],
    [host, peer, flow]: [&str; 3],
) -> fmt::Result {
    let at = seconds(at_ns);
    writeln!(
        f,
        "{at:<14} {state:<10} {recv_q:>7} {send_q:>10}  {host} -> {peer}, {flow}"
    )
}

impl fmt::Display for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_head(
            f,
            self.at_ns,
            self.state,
            [self.recv_q, self.send_q],
            [&self.host, &self.peer, &self.flow],
        )?;
        write!(
            f,
            "\t {} {} wscale:{},{} rto:{} rtt:{:.3}/{:.3} mss:{} cwnd:{}",
            self.skmem,
            self.congestion,
            self.wscale[0],
            self.wscale[1],
            self.rto_ms.round(),
            self.rtt_ms,
            self.rttvar_ms,
            self.mss,
            self.cwnd
        )?;
        if let Some(ssthresh) = self.ssthresh {
            write!(f, " ssthresh:{ssthresh}")?;
        }
        for (name, count) in [
            ("bytes_sent", self.bytes_sent),
            ("bytes_retrans", self.bytes_retrans),
            ("bytes_acked", self.bytes_acked),
            ("bytes_received", self.bytes_received),
            ("data_segs_out", self.data_segs_out),
        ] {
            if count > 0 {
                write!(f, " {name}:{count}")?;
            }
        }
        write!(f, " send {:.0}bps", self.send_bps)?;
        if let Some(rate) = self.pacing_bps {
            write!(f, " pacing_rate {rate:.0}bps")?;
        }
        if let Some(rate) = self.delivery_bps {
            write!(f, " delivery_rate {rate:.0}bps")?;
        }
        if self.app_limited {
            f.write_str(" app_limited")?;
        }
        self.write_limits(f)?;
        if self.ca_state != RecoveryState::Open.name() {
            write!(f, " ca_state:{}", self.ca_state)?;
        }
        if self.unacked > 0 {
            write!(f, " unacked:{}", self.unacked)?;
        }
        if self.retrans > 0 {
            write!(f, " retrans:{}/{}", self.retrans_unacked, self.retrans)?;
        }
        for (name, count) in [("lost", self.lost), ("sacked", self.sacked)] {
            if count > 0 {
                write!(f, " {name}:{count}")?;
            }
        }
        if let Some(minrtt) = self.minrtt_ms {
            write!(f, " minrtt:{minrtt:.3}")?;
        }
        write!(f, " snd_wnd:{} rcv_wnd:{}", self.snd_wnd, self.rcv_wnd)
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            r,
            rb,
            t,
            tb,
            f: promised,
            w,
            o,
            bl,
            d,
        } = self;
        write!(
            f,
            "skmem:(r{r},rb{rb},t{t},tb{tb},f{promised},w{w},o{o},bl{bl},d{d})"
        )
    }
}

impl Socket {
    /// Writes the limits as shares of the busy time, as `ss` does.
    fn write_limits(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.busy_ms > 0.0 {
            write!(f, " busy:{:.0}ms", self.busy_ms)?;
        }
        for (name, time) in [
            ("rwnd_limited", self.rwnd_limited_ms),
            ("sndbuf_limited", self.sndbuf_limited_ms),
        ] {
            if time > 0.0 {
                // Cap the share at 100 %: the sender can wait for packet memory while no payload is
                // unacknowledged, that is, outside the busy time.
                let share = (time / self.busy_ms * 100.0).min(100.0);
                write!(f, " {name}:{time:.0}ms({share:.1}%)")?;
            }
        }
        Ok(())
    }
}

/// Name of a state in `ss`.
pub const fn state_name(state: TcpState) -> &'static str {
    match state {
        TcpState::SynSent => "SYN-SENT",
        TcpState::SynReceived => "SYN-RECV",
        TcpState::Established => "ESTAB",
        TcpState::FinWait1 => "FIN-WAIT-1",
        TcpState::FinWait2 => "FIN-WAIT-2",
        TcpState::CloseWait => "CLOSE-WAIT",
        TcpState::Closing => "CLOSING",
        TcpState::LastAck => "LAST-ACK",
        TcpState::TimeWait => "TIME-WAIT",
        TcpState::Closed => "UNCONN",
    }
}
