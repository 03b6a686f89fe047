//! A socket in the format of `ss -tinm`.
//!
//! Rule: names, order, rounding and omitted values are those of `ss` (iproute2), so a line can be
//! compared as text with a line of `ss`. The keys of [`SsFields`] are the names of `ss` with the
//! unit.

use std::fmt::Write;

use serde::Serialize;

use super::{
    observation::{CongestionModel, SocketMemory, SocketObservation},
    tcp_info::TcpInfo,
};

/// The `skmem:(…)` of `ss`, in bytes.
#[derive(Clone, Copy, Debug, Serialize)]
struct SkMem {
    r: u32,
    rb: u32,
    t: u32,
    tb: u32,
    f: u32,
    w: u32,
    o: u32,
    bl: u32,
    d: u32,
}

impl From<&SocketMemory> for SkMem {
    fn from(memory: &SocketMemory) -> Self {
        let [r, rb, t, tb, f, w, o, bl, d] = memory.values();
        Self {
            r,
            rb,
            t,
            tb,
            f,
            w,
            o,
            bl,
            d,
        }
    }
}

/// A socket's values for JSON, under the names of `ss` with their units. A value that the kernel
/// does not report is absent.
#[derive(Clone, Debug, Serialize)]
pub struct SsFields<'a> {
    state: &'static str,
    recv_q: u32,
    send_q: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    skmem: Option<SkMem>,
    congestion: &'a str,
    #[serde(flatten)]
    info: Option<InfoFields>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(into = "serde_fields::Present")]
struct InfoFields(TcpInfo);

impl<'a> SsFields<'a> {
    /// The values of `socket`.
    pub fn of(socket: &'a SocketObservation) -> Self {
        Self {
            state: socket.state.name(),
            recv_q: socket.receive_queue,
            send_q: socket.send_queue,
            skmem: socket.memory.as_ref().map(SkMem::from),
            congestion: socket.congestion.as_str(),
            info: socket.info.map(InfoFields),
        }
    }
}

mod serde_fields {
    use serde::Serialize;

    use super::{InfoFields, TcpInfo};

    /// The values that every kernel reports.
    #[derive(Serialize)]
    pub struct Present {
        ca_state: &'static str,
        wscale: [u8; 2],
        rto_ms: f64,
        rtt_ms: f64,
        rttvar_ms: f64,
        mss: u32,
        pmtu: u32,
        rcvmss: u32,
        cwnd: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        ssthresh: Option<u32>,
        unacked: u32,
        lost: u32,
        sacked: u32,
        retrans_unacked: u32,
        retrans: u32,
        rcv_rtt_ms: f64,
        rcv_space: u32,
        lastsnd_ms: u32,
        lastrcv_ms: u32,
        lastack_ms: u32,
        app_limited: bool,
        #[serde(flatten)]
        later: Later,
    }

    /// The values that only newer kernels report.
    #[derive(Serialize)]
    struct Later {
        #[serde(skip_serializing_if = "Option::is_none")]
        bytes_sent: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        bytes_retrans: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        bytes_acked: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        bytes_received: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        data_segs_out: Option<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pacing_bps: Option<f64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        delivery_bps: Option<f64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        busy_ms: Option<f64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        rwnd_limited_ms: Option<f64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        sndbuf_limited_ms: Option<f64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        notsent: Option<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        minrtt_ms: Option<f64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        delivered_ce: Option<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        rcv_ooopack: Option<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        snd_wnd: Option<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        rcv_wnd: Option<u32>,
    }

    fn millis(micros: u32) -> f64 {
        f64::from(micros) / 1e3
    }

    impl From<InfoFields> for Present {
        fn from(InfoFields(info): InfoFields) -> Self {
            Self {
                ca_state: super::ca_state_name(info.ca_state),
                wscale: [info.snd_wscale(), info.rcv_wscale()],
                rto_ms: millis(info.rto),
                rtt_ms: millis(info.rtt),
                rttvar_ms: millis(info.rttvar),
                mss: info.snd_mss,
                pmtu: info.pmtu,
                rcvmss: info.rcv_mss,
                cwnd: info.snd_cwnd,
                ssthresh: info.ssthresh(),
                unacked: info.unacked,
                lost: info.lost,
                sacked: info.sacked,
                retrans_unacked: info.retrans,
                retrans: info.total_retrans,
                rcv_rtt_ms: millis(info.rcv_rtt),
                rcv_space: info.rcv_space,
                lastsnd_ms: info.last_data_sent,
                lastrcv_ms: info.last_data_recv,
                lastack_ms: info.last_ack_recv,
                app_limited: info.is_app_limited(),
                later: Later::of(&info),
            }
        }
    }

    impl Later {
        fn of(info: &TcpInfo) -> Self {
            let millis_of = |time: Option<u64>| time.map(|micros| micros as f64 / 1e3);
            let bits = |rate: Option<u64>| {
                let known = rate.filter(|&rate| rate != u64::MAX && rate > 0);
                known.map(|rate| rate as f64 * 8.0)
            };
            Self {
                bytes_sent: info.bytes_sent,
                bytes_retrans: info.bytes_retrans,
                bytes_acked: info.bytes_acked,
                bytes_received: info.bytes_received,
                data_segs_out: info.data_segs_out,
                pacing_bps: bits(info.pacing_rate),
                delivery_bps: bits(info.delivery_rate),
                busy_ms: millis_of(info.busy_time),
                rwnd_limited_ms: millis_of(info.rwnd_limited),
                sndbuf_limited_ms: millis_of(info.sndbuf_limited),
                notsent: info.notsent_bytes,
                minrtt_ms: info.min_rtt.filter(|&rtt| rtt != u32::MAX).map(millis),
                delivered_ce: info.delivered_ce,
                rcv_ooopack: info.rcv_ooopack,
                snd_wnd: info.snd_wnd,
                rcv_wnd: info.rcv_wnd,
            }
        }
    }
}

/// The name of the kernel's state of loss recovery.
fn ca_state_name(number: u8) -> &'static str {
    match number {
        0 => "open",
        1 => "disorder",
        2 => "cwr",
        3 => "recovery",
        4 => "loss",
        _ => "unknown",
    }
}

/// The second line that `ss -tinm` prints for `socket`, without its indent.
pub fn ss_line(socket: &SocketObservation) -> String {
    let mut line = String::new();
    if let Some(memory) = &socket.memory {
        let values = memory.values();
        let named = SocketMemory::NAMES.iter().zip(values);
        let parts: Vec<_> = named
            .map(|(name, value)| format!("{name}{value}"))
            .collect();
        let _ = write!(line, "skmem:({})", parts.join(","));
    }
    let Some(info) = &socket.info else {
        return line;
    };
    options(&mut line, socket, info);
    windows(&mut line, info);
    transfer(&mut line, info);
    if let Some(model) = &socket.model {
        congestion(&mut line, model);
    }
    rates(&mut line, socket, info);
    waits(&mut line, info);
    losses(&mut line, info);
    receiving(&mut line, info);
    line
}

/// Appends ` name:value` if the value exists and is not 0.
fn whole(line: &mut String, name: &str, value: impl Into<Option<u64>>) {
    if let Some(value) = value.into().filter(|value| *value > 0) {
        let _ = write!(line, " {name}:{value}");
    }
}

/// Appends ` name:value`, in milliseconds, if the time is not 0.
fn millis(line: &mut String, name: &str, micros: u32) {
    if micros > 0 {
        let _ = write!(line, " {name}:{}", six_digits(f64::from(micros) / 1e3));
    }
}

fn options(line: &mut String, socket: &SocketObservation, info: &TcpInfo) {
    for (bit, name) in [
        (1, "ts"),
        (2, "sack"),
        (8, "ecn"),
        (16, "ecnseen"),
        (32, "fastopen"),
    ] {
        if info.options & bit != 0 {
            let _ = write!(line, " {name}");
        }
    }
    if !socket.congestion.as_str().is_empty() {
        let _ = write!(line, " {}", socket.congestion.as_str());
    }
    if info.has_window_scaling() {
        let (send, receive) = (info.snd_wscale(), info.rcv_wscale());
        let _ = write!(line, " wscale:{send},{receive}");
    }
}

fn windows(line: &mut String, info: &TcpInfo) {
    /// The retransmission timeout before the first measurement, in microseconds.
    const FIRST_RTO: u32 = 3_000_000;
    if info.rto != FIRST_RTO {
        millis(line, "rto", info.rto);
    }
    whole(line, "backoff", u64::from(info.backoff));
    if info.rtt > 0 {
        millis(line, "rtt", info.rtt);
        let _ = write!(line, "/{}", six_digits(f64::from(info.rttvar) / 1e3));
    }
    millis(line, "ato", info.ato);
    for (name, value) in [
        ("mss", info.snd_mss),
        ("pmtu", info.pmtu),
        ("rcvmss", info.rcv_mss),
        ("advmss", info.advmss),
        ("cwnd", info.snd_cwnd),
    ] {
        whole(line, name, u64::from(value));
    }
    if info.snd_ssthresh < 0xffff {
        whole(line, "ssthresh", u64::from(info.snd_ssthresh));
    }
}

fn transfer(line: &mut String, info: &TcpInfo) {
    whole(line, "bytes_sent", info.bytes_sent);
    whole(line, "bytes_retrans", info.bytes_retrans);
    whole(line, "bytes_acked", info.bytes_acked);
    whole(line, "bytes_received", info.bytes_received);
    for (name, value) in [
        ("segs_out", info.segs_out),
        ("segs_in", info.segs_in),
        ("data_segs_out", info.data_segs_out),
        ("data_segs_in", info.data_segs_in),
    ] {
        whole(line, name, value.map(u64::from));
    }
}

fn congestion(line: &mut String, model: &CongestionModel) {
    let gain = |gain: u32| six_digits(f64::from(gain) / 256.0);
    match *model {
        CongestionModel::Bbr {
            rate,
            min_rtt,
            pacing_gain,
            cwnd_gain,
        } => {
            let rtt = six_digits(f64::from(min_rtt) / 1e3);
            let _ = write!(line, " bbr:(bw:{}bps,mrtt:{rtt}", rate * 8);
            if pacing_gain > 0 {
                let _ = write!(line, ",pacing_gain:{}", gain(pacing_gain));
            }
            if cwnd_gain > 0 {
                let _ = write!(line, ",cwnd_gain:{}", gain(cwnd_gain));
            }
            line.push(')');
        }
        CongestionModel::Dctcp {
            enabled: true,
            ce_state,
            alpha,
            ab_ecn,
            ab_total,
        } => {
            let ce_state = u8::from(ce_state);
            let _ = write!(
                line,
                " dctcp:(ce_state:{ce_state},alpha:{alpha},ab_ecn:{ab_ecn},ab_tot:{ab_total})"
            );
        }
        CongestionModel::Dctcp { enabled: false, .. } => line.push_str(" dctcp:fallback_mode"),
        // `ss` prints none of these values.
        CongestionModel::Vegas { .. } => {}
    }
}

fn rates(line: &mut String, socket: &SocketObservation, info: &TcpInfo) {
    let rtt = match socket.model {
        Some(CongestionModel::Vegas {
            enabled: true, rtt, ..
        }) if rtt > 0 && rtt != 0x7fff_ffff => rtt,
        Some(_) | None => info.rtt,
    };
    if rtt > 0 && info.snd_mss > 0 && info.snd_cwnd > 0 {
        let bits = f64::from(info.snd_cwnd) * f64::from(info.snd_mss) * 8e6 / f64::from(rtt);
        let _ = write!(line, " send {bits:.0}bps");
    }
    for (name, value) in [
        ("lastsnd", info.last_data_sent),
        ("lastrcv", info.last_data_recv),
        ("lastack", info.last_ack_recv),
    ] {
        whole(line, name, u64::from(value));
    }
    let is_rate = |rate: &u64| *rate > 0 && *rate != u64::MAX;
    if let Some(rate) = info.pacing_rate.filter(is_rate) {
        let _ = write!(line, " pacing_rate {}bps", rate * 8);
        if let Some(most) = info.max_pacing_rate.filter(is_rate) {
            let _ = write!(line, "/{}bps", most * 8);
        }
    }
    if let Some(rate) = info.delivery_rate.filter(is_rate) {
        let _ = write!(line, " delivery_rate {}bps", rate * 8);
    }
    whole(line, "delivered", info.delivered.map(u64::from));
    whole(line, "delivered_ce", info.delivered_ce.map(u64::from));
    if info.is_app_limited() {
        line.push_str(" app_limited");
    }
}

fn waits(line: &mut String, info: &TcpInfo) {
    let Some(busy) = info.busy_time.filter(|busy| *busy > 0) else {
        return;
    };
    let _ = write!(line, " busy:{}ms", busy / 1_000);
    for (name, part) in [
        ("rwnd_limited", info.rwnd_limited),
        ("sndbuf_limited", info.sndbuf_limited),
    ] {
        if let Some(part) = part.filter(|part| *part > 0) {
            let share = 100.0 * part as f64 / busy as f64;
            let _ = write!(line, " {name}:{}ms({share:.1}%)", part / 1_000);
        }
    }
}

fn losses(line: &mut String, info: &TcpInfo) {
    /// The kernel's initial value of `reordering`, in segments.
    const REORDERING: u32 = 3;
    whole(line, "unacked", u64::from(info.unacked));
    if info.retrans > 0 || info.total_retrans > 0 {
        let _ = write!(line, " retrans:{}/{}", info.retrans, info.total_retrans);
    }
    whole(line, "lost", u64::from(info.lost));
    whole(line, "sacked", u64::from(info.sacked));
    whole(line, "dsack_dups", info.dsack_dups.map(u64::from));
    whole(line, "fackets", u64::from(info.fackets));
    if info.reordering != REORDERING {
        let _ = write!(line, " reordering:{}", info.reordering);
    }
    whole(line, "reord_seen", info.reord_seen.map(u64::from));
}

fn receiving(line: &mut String, info: &TcpInfo) {
    millis(line, "rcv_rtt", info.rcv_rtt);
    whole(line, "rcv_space", u64::from(info.rcv_space));
    whole(line, "rcv_ssthresh", u64::from(info.rcv_ssthresh));
    whole(line, "notsent", info.notsent_bytes.map(u64::from));
    let min_rtt = info.min_rtt.filter(|&rtt| rtt != u32::MAX);
    millis(line, "minrtt", min_rtt.unwrap_or(0));
    whole(line, "rcv_ooopack", info.rcv_ooopack.map(u64::from));
    whole(line, "snd_wnd", info.snd_wnd.map(u64::from));
    whole(line, "rcv_wnd", info.rcv_wnd.map(u64::from));
    whole(line, "rehash", info.rehash.map(u64::from));
}

/// Formats a number like C's `%g`: six significant digits, without trailing zeros.
pub(super) fn six_digits(number: f64) -> String {
    const DIGITS: i32 = 6;
    if number == 0.0 {
        return "0".to_string();
    }
    let rounded = format!("{number:.*e}", DIGITS as usize - 1);
    let (mantissa, exponent) = rounded.split_once('e').unwrap_or((&rounded, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text.to_string(),
    };
    if (-4..DIGITS).contains(&exponent) {
        let decimals = (DIGITS - 1 - exponent).max(0) as usize;
        return trimmed(&format!("{number:.decimals$}"));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs())
}
