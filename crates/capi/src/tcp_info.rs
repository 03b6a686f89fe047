//! The option TCP_INFO, in the layout of Linux.
//!
//! Rule: the fields have Linux's order, sizes and units (`struct tcp_info` of linux/tcp.h), up to
//! `tcpi_snd_wnd`. A quantity that the stack does not keep is 0. Where Linux counts packets and the
//! stack counts bytes, the bytes are converted to segments: rounded down for `tcpi_snd_cwnd` and
//! `tcpi_snd_ssthresh`, rounded up for all others.

use fullpipe::{Duration, Info, RecoveryState, TcpState};

/// State of a connection: `struct tcp_info` of Linux, with the same names of fields.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FpTcpInfo {
    pub tcpi_state: u8,
    pub tcpi_ca_state: u8,
    pub tcpi_retransmits: u8,
    pub tcpi_probes: u8,
    pub tcpi_backoff: u8,
    pub tcpi_options: u8,
    /// `tcpi_snd_wscale` in the low four bits, `tcpi_rcv_wscale` in the high four bits.
    pub tcpi_wscales: u8,
    /// `tcpi_delivery_rate_app_limited` in the lowest bit.
    pub tcpi_flags: u8,
    pub tcpi_rto: u32,
    pub tcpi_ato: u32,
    pub tcpi_snd_mss: u32,
    pub tcpi_rcv_mss: u32,
    pub tcpi_unacked: u32,
    pub tcpi_sacked: u32,
    pub tcpi_lost: u32,
    pub tcpi_retrans: u32,
    pub tcpi_fackets: u32,
    pub tcpi_last_data_sent: u32,
    pub tcpi_last_ack_sent: u32,
    pub tcpi_last_data_recv: u32,
    pub tcpi_last_ack_recv: u32,
    pub tcpi_pmtu: u32,
    pub tcpi_rcv_ssthresh: u32,
    pub tcpi_rtt: u32,
    pub tcpi_rttvar: u32,
    pub tcpi_snd_ssthresh: u32,
    pub tcpi_snd_cwnd: u32,
    pub tcpi_advmss: u32,
    pub tcpi_reordering: u32,
    pub tcpi_rcv_rtt: u32,
    pub tcpi_rcv_space: u32,
    pub tcpi_total_retrans: u32,
    pub tcpi_pacing_rate: u64,
    pub tcpi_max_pacing_rate: u64,
    pub tcpi_bytes_acked: u64,
    pub tcpi_bytes_received: u64,
    pub tcpi_segs_out: u32,
    pub tcpi_segs_in: u32,
    pub tcpi_notsent_bytes: u32,
    pub tcpi_min_rtt: u32,
    pub tcpi_data_segs_in: u32,
    pub tcpi_data_segs_out: u32,
    pub tcpi_delivery_rate: u64,
    pub tcpi_busy_time: u64,
    pub tcpi_rwnd_limited: u64,
    pub tcpi_sndbuf_limited: u64,
    pub tcpi_delivered: u32,
    pub tcpi_delivered_ce: u32,
    pub tcpi_bytes_sent: u64,
    pub tcpi_bytes_retrans: u64,
    pub tcpi_dsack_dups: u32,
    pub tcpi_reord_seen: u32,
    pub tcpi_rcv_ooopack: u32,
    pub tcpi_snd_wnd: u32,
}

/// Bits of `tcpi_options`: timestamps, SACK, window scale, ECN.
const OPTIONS: [u8; 4] = [1, 2, 4, 8];

impl FpTcpInfo {
    /// Returns `info` in Linux's layout.
    pub(crate) fn new(info: &Info) -> Self {
        let mss = info.mss.max(1);
        let segments = |bytes: u32| bytes.div_ceil(mss);
        let micros = |time: Duration| time.as_micros().min(u32::MAX.into()) as u32;
        let count = |count: u64| count.min(u32::MAX.into()) as u32;
        let agreed = &info.agreed;
        let options = [agreed.timestamps, agreed.sack, agreed.scaling, agreed.ecn];
        let options = options.iter().zip(OPTIONS).filter(|(on, _)| **on);
        Self {
            tcpi_state: state(info.state),
            tcpi_ca_state: match info.recovery {
                RecoveryState::Open => 0,
                RecoveryState::Disorder => 1,
                RecoveryState::Cwr => 2,
                RecoveryState::Recovery => 3,
                RecoveryState::Loss => 4,
            },
            tcpi_options: options.fold(0, |bits, (_, bit)| bits | bit),
            tcpi_wscales: agreed.snd_wscale & 15 | agreed.rcv_wscale << 4,
            tcpi_flags: info.app_limited.into(),
            tcpi_rto: micros(info.rto),
            tcpi_snd_mss: info.mss,
            tcpi_unacked: segments(info.snd_nxt.wrapping_sub(info.snd_una)),
            tcpi_sacked: segments(info.sacked),
            tcpi_lost: segments(info.lost),
            tcpi_retrans: segments(info.retransmitted),
            tcpi_last_data_recv: count(info.at.since(info.last_received_at).as_micros() / 1_000),
            tcpi_rtt: micros(info.srtt),
            tcpi_rttvar: micros(info.rttvar),
            tcpi_snd_ssthresh: match info.ssthresh {
                u32::MAX => i32::MAX as u32,
                bytes => bytes / mss,
            },
            tcpi_snd_cwnd: info.cwnd / mss,
            tcpi_rcv_space: info.receive_buffer,
            tcpi_total_retrans: count(info.segments_retransmitted),
            tcpi_pacing_rate: info.pacing_rate,
            tcpi_max_pacing_rate: u64::MAX,
            tcpi_bytes_acked: info.bytes_acked,
            tcpi_bytes_received: info.bytes_received,
            tcpi_notsent_bytes: info.unsent,
            tcpi_min_rtt: info.min_rtt.map_or(u32::MAX, micros),
            tcpi_data_segs_out: count(info.segments_sent),
            tcpi_delivery_rate: info.delivery_rate,
            tcpi_busy_time: info.busy.as_micros(),
            tcpi_rwnd_limited: info.receive_window_limited().as_micros(),
            tcpi_sndbuf_limited: info.send_buffer_limited().as_micros(),
            tcpi_bytes_sent: info.bytes_sent + info.bytes_retransmitted,
            tcpi_bytes_retrans: info.bytes_retransmitted,
            tcpi_snd_wnd: info.snd_wnd,
            ..Self::default()
        }
    }
}

/// Returns the number that a TCP state has in Linux.
const fn state(state: TcpState) -> u8 {
    match state {
        TcpState::Established => 1,
        TcpState::SynSent => 2,
        TcpState::SynReceived => 3,
        TcpState::FinWait1 => 4,
        TcpState::FinWait2 => 5,
        TcpState::TimeWait => 6,
        TcpState::Closed => 7,
        TcpState::CloseWait => 8,
        TcpState::LastAck => 9,
        TcpState::Closing => 11,
    }
}
