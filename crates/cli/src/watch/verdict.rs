//! The verdict about a socket as text.
//!
//! Rule: the limit comes first, then the figures from which it follows, then the changes, each with
//! the present value of its setting. A counter of the kernel that contradicts the verdict is named.

use fullpipe_diagnose::{
    socket::{FollowedSocket, HostSettings, KernelNote, SocketVerdict, socket_verdict},
    vocabulary::Limit,
};
use fullpipe_lab::{
    layout::{Layout, Tone},
    units::{grouped, rate_text, seconds_text, three_digits},
};

use fullpipe_host::ProcessName;

/// Limits with a share below this one are omitted from the line with the account (time by limit).
const LEAST_SHARE: f64 = 0.005;

/// Returns the verdict about `socket`. `other` is the other end of its connection, if it is on the
/// same host.
pub fn verdict_text(
    socket: &FollowedSocket,
    other: Option<&FollowedSocket>,
    owner: Option<&ProcessName>,
    settings: &HostSettings,
    layout: Layout,
) -> String {
    let verdict = socket_verdict(socket, other, settings);
    let mut text = String::new();
    let id = &socket.latest.id;
    let mut title = format!("sk {:x}  {} to {}", id.cookie, id.local, id.peer);
    if let Some(owner) = owner {
        title += &format!("  {}[{}]", owner.name, owner.pid);
    }
    layout.paragraph(&mut text, "", 0, &layout.paint(Tone::Heading, &title));
    layout.field(&mut text, "Limited by", &limited(socket, &verdict, layout));
    if socket.account.times.total_micros() > 0 {
        layout.field(&mut text, "All limits", &account(socket));
    }
    layout.field(&mut text, "Because", &figures(socket, &verdict));
    if let Some(rate) = verdict.allows {
        let round_trip = socket.latest.info.map_or(0, |info| info.rtt);
        let sentence = format!(
            "a rate of at most {} at a round trip of {}",
            rate_text(rate * 8.0),
            seconds_text(f64::from(round_trip) / 1e6)
        );
        layout.field(&mut text, "Allows", &sentence);
    }
    for step in &verdict.steps {
        let mut sentence = step.what.clone();
        if let Some(now) = &step.now {
            sentence += &format!(" Now {now}.");
        }
        layout.field(&mut text, "Change", &sentence);
        if let Some(line) = &step.paste {
            layout.field(&mut text, "", &layout.paint(Tone::Good, line));
        }
    }
    for note in &verdict.notes {
        layout.field(&mut text, "Kernel", &note_text(note));
    }
    text
}

fn limited(socket: &FollowedSocket, verdict: &SocketVerdict, layout: Layout) -> String {
    let name = verdict.limit.map_or("unknown", Limit::name);
    let name = layout.paint(Tone::Limit, name);
    let path = if verdict.is_path {
        ", the path's rate"
    } else {
        ""
    };
    let mut sentence = match socket.account.times.total_micros() {
        0 => format!("{name}{path} at this moment"),
        micros => format!(
            "{name}{path} for {:.0} % of {}; the limit is certain for {:.0} % of the time",
            verdict.share * 100.0,
            seconds_text(micros as f64 / 1e6),
            socket.account.certain_share() * 100.0
        ),
    };
    if verdict.receives {
        let receiver = match verdict.receive_limit {
            Some((limit, share)) => format!(
                "{} {:.0} % of the time",
                layout.paint(Tone::Limit, limit.name()),
                share * 100.0
            ),
            None => "nothing: the peer limits what it sends".to_string(),
        };
        sentence = format!("as a receiver by {receiver}; as a sender by {sentence}");
    }
    sentence
}

/// Returns the limits and their shares, the largest first.
fn account(socket: &FollowedSocket) -> String {
    let times = &socket.account.times;
    let mut shares: Vec<_> = times
        .iter()
        .map(|(limit, _)| (limit.map_or("unknown", Limit::name), times.share(limit)))
        .filter(|(_, share)| *share >= LEAST_SHARE)
        .collect();
    shares.sort_by(|one, other| other.1.total_cmp(&one.1));
    let parts: Vec<_> = shares
        .iter()
        .map(|(name, share)| format!("{name} {:.0} %", share * 100.0))
        .collect();
    parts.join(", ")
}

fn figures(socket: &FollowedSocket, verdict: &SocketVerdict) -> String {
    let mut parts = Vec::new();
    let (latest, peaks) = (&socket.latest, &socket.peaks);
    if socket.observations > 1 {
        let seconds = socket.observed_us() as f64 / 1e6;
        let moved = socket.account.moved[usize::from(verdict.receives)];
        let rate = moved as f64 * 8.0 / seconds.max(f64::MIN_POSITIVE);
        let direction = if verdict.receives { "in" } else { "out" };
        parts.push(format!("{} {direction}", rate_text(rate)));
    }
    if let Some(info) = &latest.info {
        let min_rtt = info.min_rtt.filter(|&rtt| rtt != u32::MAX);
        let rtt = |micros: u32| seconds_text(f64::from(micros) / 1e6);
        parts.push(match min_rtt {
            Some(least) => format!("round trip {}, smallest {}", rtt(info.rtt), rtt(least)),
            None => format!("round trip {}", rtt(info.rtt)),
        });
        parts.push(format!(
            "at most {} bytes in flight; the congestion window allows {}, the peer's window {}",
            grouped(peaks.in_flight.into()),
            grouped(u64::from(info.snd_cwnd) * u64::from(info.snd_mss)),
            match info.snd_wnd {
                Some(_) => grouped(peaks.snd_wnd.into()),
                None => "an unknown number".to_string(),
            }
        ));
        if info.total_retrans > 0 {
            parts.push(format!("{} segments retransmitted", info.total_retrans));
        }
    }
    if latest.unsent() > 0 {
        parts.push(format!("{} bytes unsent", grouped(latest.unsent().into())));
    }
    if let Some(memory) = &latest.memory {
        parts.push(format!(
            "send buffer filled with {} of {} bytes",
            grouped(memory.queued.into()),
            grouped(memory.sndbuf.into())
        ));
    }
    if latest.receive_queue > 0 {
        parts.push(format!(
            "{} bytes unread",
            grouped(latest.receive_queue.into())
        ));
    }
    parts.join("; ")
}

fn note_text(note: &KernelNote) -> String {
    match note {
        KernelNote::SendBufferUncounted { kernel_s, seen_s } => format!(
            "tcpi_sndbuf_limited counted {} s, but the send buffer was full for {} s. The kernel \
             does not count time in which its congestion control reports cwnd as the limit.",
            three_digits(*kernel_s),
            three_digits(*seen_s)
        ),
        KernelNote::BusyWithoutBacklog { seen_s } => format!(
            "tcpi_busy_time includes {} s in which the program had written nothing more to send: \
             in this time the program was the limit, not the network.",
            three_digits(*seen_s)
        ),
        KernelNote::RefilledTail {
            queued_bytes,
            sndbuf_bytes,
        } => format!(
            "the send buffer holds {} bytes, more than its size of {}: the kernel refills the \
             last super-segment. `ip link set DEV gso_max_segs 1` turns the refilling off.",
            grouped((*queued_bytes).into()),
            grouped((*sndbuf_bytes).into())
        ),
        KernelNote::DeliveryRateOfProgram => {
            "the program limited every sample of the delivery rate: the path may be faster."
                .to_string()
        }
        KernelNote::NoPeerWindow => {
            "this kernel is older than Linux 5.4 and does not report the peer's window: only \
             tcpi_rwnd_limited shows time in which that window was the limit."
                .to_string()
        }
        KernelNote::MemoryPressure {
            pages,
            pressure_pages,
        } => format!(
            "TCP memory is under pressure: {} pages are used, and \
             pressure begins at {} (net.ipv4.tcp_mem). The kernel shrinks the buffers.",
            grouped(*pages),
            grouped(*pressure_pages)
        ),
    }
}
