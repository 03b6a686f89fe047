//! Both hosts of the twin (the simulated copy of the captured connection): segment size, options,
//! buffers, windows and acknowledgments.

use fullpipe::Config;
use fullpipe_diagnose::observe::SeenLimit;
use fullpipe_scenario::units::grouped;
use fullpipe_tcp::Limit;

use crate::{
    evidence::{Evidence, SizedBy},
    plan::{Basis, Plan, RECEIVER, SENDER},
    sizes,
};

/// The size of a buffer or window is inferred only if it was the limit for at least this share of
/// the lifetime.
const SHOWS: f64 = 0.05;
/// Payload as a percentage of the memory that Linux charges to a send buffer for a full segment
/// without segmentation offload: 1,448 of 2,304 bytes.
const LINUX_PAYLOAD_PERCENT: u64 = 63;
/// Largest send buffer of a Linux socket with `SO_SNDBUF` and the usual `wmem_max`, in bytes.
const LINUX_LIMIT: u64 = 425_984;
/// Ample size of a buffer whose size the segments do not show, as a multiple of the largest number
/// of bytes in flight.
const AMPLE: u64 = 8;
/// First send buffer of Linux in bytes, the second value of `tcp_wmem`.
const FIRST_BUFFER: u64 = 16_384;
/// Bytes of a block of packet memory.
const BLOCK: u64 = 2_048;
/// The receive buffer counts as constant if the first tenth of the windows reaches this share of
/// the largest window.
const CONSTANT: f64 = 0.9;
/// A constant buffer counts as set by the program if windows stay below this share of the first
/// window that an autotuned buffer would have.
const TUNED: f64 = 0.8;
/// A pacing rate counts as configured if pacing was the limit for at least this share of the
/// lifetime.
const PACED: f64 = 0.3;
/// Nagle's algorithm counts as off only if at least this many partial segments left while other
/// segments were in flight.
const PARTIAL: usize = 4;
/// If the receive window limits the sender for more than this share of the lifetime, partial
/// segments do not show whether Nagle's algorithm is off, because a window may cut segments.
const WINDOW: f64 = 0.3;
/// The number of segments per ACK is inferred only from at least this many ACKs.
const ACKS: usize = 16;

/// Adds the values of the hosts to `plan`.
pub fn add(plan: &mut Plan, evidence: &Evidence<'_>) {
    options(plan, evidence);
    if plan.preset.name == "linux" {
        let why = "Linux charges 2,304 bytes to a send buffer for 1,448 bytes of payload, without segmentation offload";
        let share = LINUX_PAYLOAD_PERCENT;
        plan.set("sender.tcp.send_payload_share", share, Basis::Assumed, why);
    }
    let send = send_buffer(plan, evidence);
    let receive = receive_window(plan, evidence);
    memory(plan, send + receive);
    acknowledgments(plan, evidence);
    initial_window(plan, evidence);
    bursts(plan, evidence);
    pacing_rate(plan, evidence);
    partial_segments(plan, evidence);
}

/// Adds a value for both hosts.
fn both(plan: &mut Plan, knob: &str, to: &str, why: &str) {
    for host in [SENDER, RECEIVER] {
        plan.set(&format!("{host}.{knob}"), to, Basis::Seen, why);
    }
}

fn options(plan: &mut Plan, evidence: &Evidence<'_>) {
    let observed = evidence.observed;
    if !observed.vantage.has_handshake {
        return;
    }
    if !observed.vantage.has_timestamps {
        both(
            plan,
            "tcp.timestamps",
            "false",
            "not both SYNs have timestamps",
        );
    }
    if evidence.log.refuses_sack() {
        both(
            plan,
            "tcp.sack",
            "false",
            "a SYN has no SACK-permitted option",
        );
    }
    if evidence.log.refuses_scaling() {
        let why = "a SYN has no window scale option";
        both(plan, "tcp.window_scaling", "false", why);
    }
}

/// Adds the size of the send buffer if the bytes in flight show the size. If the bytes in flight do
/// not show the size, but more than half of the preset's size was in flight, adds an ample size
/// ([`AMPLE`]). Returns the size in bytes, on Linux including the kernel's overhead per segment.
fn send_buffer(plan: &mut Plan, evidence: &Evidence<'_>) -> u64 {
    let config = plan.preset.config();
    let own = config.tcp.send_buffer.max(config.tcp.send_buffer_max);
    let is_linux = plan.preset.name == "linux";
    if let Some(payload) = plateau(evidence) {
        let why = format!(
            "{} bytes were in flight when the send buffer limited the sender",
            grouped(payload)
        );
        return set_buffer(plan, evidence, payload, why, Basis::Inferred);
    }
    let flight = evidence.largest_flight();
    if flight <= u64::from(own) / 2 {
        return own.into();
    }
    let ample = (flight * AMPLE).min(1 << 30);
    let why = format!(
        "the capture does not show the size of the send buffer; at most {} bytes were in flight",
        grouped(flight)
    );
    match is_linux {
        true => plan.set("sender.tcp_wmem", send_bounds(ample), Basis::Assumed, why),
        false => plan.set("sender.tcp.send_buffer", ample, Basis::Assumed, why),
    }
    ample
}

/// Returns true if the bytes in flight showed the size of the send buffer.
pub fn has_buffer(plan: &Plan) -> bool {
    let settings = [
        "sender.SO_SNDBUF",
        "sender.tcp.send_buffer",
        "sender.tcp_wmem",
    ];
    let known = settings.iter().filter_map(|set| plan.get(set));
    known.into_iter().any(|value| value.basis != Basis::Assumed)
}

/// Sets a send buffer with room for `payload` bytes. Returns its size in bytes, on Linux including
/// the kernel's overhead per segment.
pub fn set_buffer(
    plan: &mut Plan,
    evidence: &Evidence<'_>,
    payload: u64,
    why: String,
    basis: Basis,
) -> u64 {
    for set in [
        "sender.SO_SNDBUF",
        "sender.tcp.send_buffer",
        "sender.tcp_wmem",
    ] {
        plan.unset(set);
    }
    if plan.preset.name != "linux" {
        plan.set("sender.tcp.send_buffer", payload, basis, why);
        return payload;
    }
    let buffer = payload * 100 / LINUX_PAYLOAD_PERCENT;
    // A program can set a buffer larger than [`LINUX_LIMIT`] only if `wmem_max` was raised.
    let is_option = match evidence.recorded.send {
        Some(SizedBy::Program) => true,
        Some(SizedBy::Autotuning) => false,
        Some(SizedBy::Either) | None => buffer <= LINUX_LIMIT,
    };
    let set = if is_option {
        if buffer > LINUX_LIMIT {
            let why = "a smaller wmem_max would cap SO_SNDBUF";
            plan.set("sender.wmem_max", buffer / 2, Basis::Inferred, why);
        }
        plan.set("sender.SO_SNDBUF", buffer / 2, basis, why);
        "sender.SO_SNDBUF"
    } else {
        let bounds = send_bounds(buffer);
        plan.set("sender.tcp_wmem", bounds, basis, why);
        "sender.tcp_wmem"
    };
    if evidence
        .recorded
        .send
        .is_none_or(|by| by == SizedBy::Either)
    {
        plan.mark_either(set);
    }
    buffer
}

/// Value of `tcp_wmem` for buffers that grow up to `most` bytes.
pub fn send_bounds(most: u64) -> String {
    format!("4096 {} {most}", FIRST_BUFFER.min(most / 2))
}

/// Bytes in flight when the send buffer was full: the 90th percentile over the segments that were
/// sent while the account (time by limit) names the send buffer as the limit. Returns `None` if
/// this limit applied for a short time only, or if these bytes filled the receive window.
fn plateau(evidence: &Evidence<'_>) -> Option<u64> {
    let limit = SeenLimit::from(Limit::SendBuffer);
    if evidence.share(&[Limit::SendBuffer]) < SHOWS {
        return None;
    }
    let bands = evidence.observed.bands.iter();
    let mut bands = bands.filter(|band| band.limit == limit).peekable();
    let mut peaks = Vec::new();
    for sent in evidence.trace.new_segments() {
        while bands.next_if(|band| band.end_ns < sent.at).is_some() {}
        if bands.peek().is_some_and(|band| band.at_ns <= sent.at) {
            peaks.push(sent.flight);
        }
    }
    peaks.sort_unstable();
    let peak = peaks.get(peaks.len() * 9 / 10).copied()?;
    // If the bytes in flight reach the receive window, the receive window was the limit, and not
    // the send buffer.
    let windows = evidence.trace.acks.iter().filter_map(|acked| acked.window);
    let mut windows: Vec<u64> = windows.collect();
    windows.sort_unstable();
    let window = windows.get(windows.len() / 2);
    let is_window = window.is_some_and(|window| peak + 2 * u64::from(evidence.mss) >= *window);
    (!is_window).then_some(peak)
}

/// Adds the size of the receive buffer, and returns it in bytes.
fn receive_window(plan: &mut Plan, evidence: &Evidence<'_>) -> u64 {
    let config = plan.preset.config();
    let own = u64::from(config.tcp.receive_buffer.max(config.tcp.receive_buffer_max));
    let windows: Vec<u64> = evidence
        .trace
        .acks
        .iter()
        .filter_map(|one| one.window)
        .collect();
    let Some(largest) = windows.iter().copied().max().filter(|most| *most > 0) else {
        return own;
    };
    let first = windows[..windows.len().div_ceil(10)].iter().max();
    let is_constant = first.is_some_and(|first| *first as f64 >= CONSTANT * largest as f64);
    let limits = evidence.share(&[Limit::ReceiveWindow, Limit::ZeroWindow]) >= SHOWS;
    let is_tuned = config.tcp.receive_buffer_max > config.tcp.receive_buffer;
    let why = format!(
        "the receiver advertised windows of at most {} bytes",
        grouped(largest)
    );
    let share = u64::from(config.tcp.receive_payload_share);
    let buffer = largest * 100 / share;
    // A receiver that tunes its buffer would begin with a larger window, so a program set the size
    // of this constant buffer.
    let is_set = is_constant && (largest as f64) < TUNED * own_window(&config);
    let is_linux = plan.preset.name == "linux";
    let sized = sizes::of_receive_buffer(evidence, largest);
    // If a receiver tunes its buffer and its window stops growing below the preset's cap, the
    // receiver's own cap is probably lower than the preset's.
    if is_linux && sized == SizedBy::Autotuning && (limits || is_set) && buffer < own {
        let why = format!(
            "{why}; the window scale shows autotuning, because a program that sets SO_RCVBUF would make the scale smaller"
        );
        let first = (windows[0] * 100 / share).clamp(1, buffer - 1).min(131_072);
        let bounds = format!("4096 {first} {buffer}");
        plan.set("receiver.tcp_rmem", bounds, Basis::Inferred, why);
        return buffer;
    }
    let is_option = sized == SizedBy::Program && limits;
    match (is_linux, is_constant && limits || is_set || is_option) {
        (true, true) => {
            // A program can set a buffer above the preset's `rmem_max` only if `rmem_max` is
            // raised, too.
            if largest > u64::from(config.tcp.receive_buffer_limit) / 2 {
                let why = "a smaller rmem_max would cap SO_RCVBUF";
                plan.set("receiver.rmem_max", largest, Basis::Inferred, why);
            }
            plan.set("receiver.SO_RCVBUF", largest, Basis::Inferred, why);
            if sized == SizedBy::Either {
                plan.mark_either("receiver.SO_RCVBUF");
            }
        }
        (true, false) if limits || buffer > own => {
            let bounds = format!("4096 131072 {}", buffer.max(131_072));
            plan.set("receiver.tcp_rmem", bounds, Basis::Inferred, why);
            if limits && sized == SizedBy::Either {
                plan.mark_either("receiver.tcp_rmem");
            }
        }
        (false, _) if !is_tuned || limits => {
            plan.set("receiver.tcp.receive_buffer", buffer, Basis::Seen, why);
        }
        (true | false, _) => return own,
    }
    buffer
}

/// First window of the preset's receiver, in bytes.
fn own_window(config: &Config) -> f64 {
    let tcp = &config.tcp;
    f64::from(tcp.receive_buffer) * f64::from(tcp.receive_payload_share) / 100.0
}

/// Adds packet memory for buffers of `bytes`, if hosts of the default preset have too little.
fn memory(plan: &mut Plan, bytes: u64) {
    let config = plan.preset.config();
    let blocks = (bytes * 4).div_ceil(BLOCK);
    if plan.preset.name == "default" && blocks > u64::from(config.pool.blocks) {
        for host in [SENDER, RECEIVER] {
            let why = "enough packet memory that it does not limit the twin";
            plan.set(&format!("{host}.pool.blocks"), blocks, Basis::Assumed, why);
        }
    }
}

/// Adds the number of segments per ACK, if this number is not the usual two.
fn acknowledgments(plan: &mut Plan, evidence: &Evidence<'_>) {
    let mut sizes: Vec<u64> = evidence
        .trace
        .acks
        .iter()
        .map(|acked| acked.bytes)
        .collect();
    sizes.retain(|bytes| *bytes > 0);
    // The first ACKs may be quick ACKs, so only the later half counts.
    let mut later = sizes.split_off(sizes.len() / 2);
    later.sort_unstable();
    let Some(middle) = later.get(later.len() / 2).filter(|_| later.len() >= ACKS) else {
        return;
    };
    let segments = (*middle as f64 / f64::from(evidence.mss)).round() as u64;
    let is_small = evidence.share(&[Limit::Application, Limit::Nagle]) > 0.5;
    if segments != 2 && segments <= 64 && !is_small {
        let segments = segments.max(1);
        let why = format!(
            "most ACKs cover {}",
            match segments {
                1 => "one segment".to_string(),
                many => format!("{many} segments"),
            }
        );
        plan.set("receiver.tcp.ack_every", segments, Basis::Seen, why);
    }
}

/// Adds the initial window if the first flight shows an unusual initial window.
fn initial_window(plan: &mut Plan, evidence: &Evidence<'_>) {
    let trace = &evidence.trace;
    let Some(first) = trace.acks.iter().find(|acked| acked.bytes > 0) else {
        return;
    };
    let until = first.at + trace.to_sender;
    let flight = trace.new_segments().take_while(|sent| sent.at < until);
    let flight = flight.map(|sent| sent.end).max().unwrap_or(0);
    let segments = (flight as f64 / f64::from(evidence.mss)).round() as u64;
    let usual = u64::from(plan.preset.config().tcp.initial_window);
    let has_more = trace.bytes > 4 * flight && evidence.largest_flight() > flight * 3 / 2;
    if has_more && segments >= 1 && segments.abs_diff(usual) > usual / 10 {
        let why = format!(
            "the sender sent {} bytes before the first ACK arrived",
            grouped(flight)
        );
        let segments = segments.min(1_000);
        plan.set("sender.tcp.initial_window", segments, Basis::Inferred, why);
    }
}

/// Disables pacing if the segments of the first round trip left in one burst.
fn bursts(plan: &mut Plan, evidence: &Evidence<'_>) {
    let trace = &evidence.trace;
    let Some(acked) = trace.acks.iter().find(|acked| acked.bytes > 0) else {
        return;
    };
    let mut flight = trace.new_segments().take_while(|sent| sent.at < acked.at);
    let Some(first) = flight.next() else { return };
    let Some((place, last)) = flight.enumerate().last() else {
        return;
    };
    let ticks = first.tsval.zip(last.tsval);
    let by_clock = ticks.map_or(u64::MAX, |(from, to)| {
        (u64::from(to.wrapping_sub(from)) + 1) * 1_000_000
    });
    let span = (last.at - first.at).min(by_clock);
    if place >= 3 && span * 20 < evidence.base_rtt() {
        let why = "the segments of the first round trip left in one burst";
        plan.set("sender.tcp.pacing", "false", Basis::Inferred, why);
    }
}

/// Adds a configured pacing rate if the account names pacing as the limit.
fn pacing_rate(plan: &mut Plan, evidence: &Evidence<'_>) {
    // Skip connections with losses: BBR behind a policer also paces and loses segments, while a
    // configured pacing rate below the path's rate causes no losses.
    let data = evidence.observed.data();
    let loses = data.retransmissions.total() * 200 > data.data_segments;
    if evidence.share(&[Limit::Pacing]) < PACED || loses {
        return;
    }
    let limit = SeenLimit::from(Limit::Pacing);
    let bands = evidence
        .observed
        .bands
        .iter()
        .filter(|band| band.limit == limit);
    let (bytes, time) = bands.fold((0, 0), |(bytes, time), band| {
        (bytes + band.bytes, time + band.end_ns - band.at_ns)
    });
    let rate = bytes as f64 * 1e9 / time.max(1) as f64;
    let why = "single segments left at equal intervals, and the path can carry them faster";
    plan.set("sender.tcp.pacing", "true", Basis::Inferred, why);
    let rate = (rate.round() as u64).clamp(1, u64::from(u32::MAX));
    plan.set("sender.tcp.pacing_rate_max", rate, Basis::Inferred, why);
}

/// Disables Nagle's algorithm if partial segments left while others were in flight. Linux delays a
/// partial segment only while another partial segment is in flight (Minshall's variant), so on
/// Linux only two partial segments in flight show that the algorithm is off. If only full segments
/// were in flight with each partial segment, the value for Linux is only assumed.
fn partial_segments(plan: &mut Plan, evidence: &Evidence<'_>) {
    let new: Vec<_> = evidence.trace.new_segments().collect();
    let Some((_, all)) = new.split_last() else {
        return;
    };
    if evidence.share(&[Limit::ReceiveWindow, Limit::ZeroWindow]) > WINDOW {
        return;
    }
    let (mut partial, mut together) = (0, 0);
    let mut last_end = 0;
    for sent in all {
        let len = sent.end - sent.start;
        if len < u64::from(evidence.mss) && sent.flight > len {
            partial += 1;
            together += usize::from(last_end > sent.end - sent.flight);
            last_end = sent.end;
        }
    }
    let is_linux = plan.preset.name == "linux";
    let shows = |count: usize| count >= PARTIAL && count * 50 >= all.len();
    if shows(if is_linux { together } else { partial }) {
        let why = format!("{partial} partial segments left while other segments were in flight");
        plan.set("sender.tcp.nagle", "false", Basis::Inferred, why);
    } else if is_linux && shows(partial) {
        let why = "Linux sends a partial segment while only full segments are in flight; the twin \
                   does so only without Nagle's algorithm";
        plan.set("sender.tcp.nagle", "false", Basis::Assumed, why);
    }
}
