//! The words of a verdict: the limit with its figure, and the proof.
//!
//! Rule: the limit comes first, then measured values of the run, one sentence each. A
//! sentence says what was measured. `binding` decides the limit.

use fullpipe_diagnose::facts::VerdictParts;
use fullpipe_scenario::{
    measured::Outcome,
    units::{grouped, rate_text, seconds_text, three_digits},
};
use fullpipe_sim::link::{Direction, LinkModel};
use fullpipe_tcp::Limit;

use super::{
    binding::{Binding, at_receiver, at_work, is_window, short_table, thinking},
    bounds,
    buffers::Buffer,
    cause::Cause,
    evidence::{Evidence, pool_bytes},
    gone, names, processor,
};

/// A share of at least this counts as all of the time: for a transfer between opening and
/// closing, and for a busy link or processor.
const NEARLY_ALL: f64 = 0.95;
/// A limit with a smaller share of the time is not mentioned beside another.
const WORTH_SAYING: f64 = 0.005;

/// A window that is closed for this share of the time allows no rate.
const MOSTLY_CLOSED: f64 = 0.5;

/// A limit with its figure, and sentences that prove it.
type Proof = (String, Vec<String>);

/// The limit and its proof.
pub fn proof(evidence: &Evidence<'_>, binding: &Binding) -> VerdictParts {
    let thinking = thinking(evidence);
    // Shares are of the time without think time.
    let share = binding.share / (1.0 - thinking).max(f64::MIN_POSITIVE);
    let binding = &Binding {
        share: share.min(1.0),
        ..*binding
    };
    let (limited_by, mut because) = of_cause(evidence, binding);
    because.splice(0..0, not_complete(evidence));
    if thinking > 0.0 {
        because.push(format!(
            "The percentages of this verdict, unlike those of Limits, exclude the {} before the first byte \
             was written.",
            seconds_text(thinking * evidence.measured.elapsed_s)
        ));
    }
    VerdictParts {
        limited_by,
        because,
        ..VerdictParts::default()
    }
}

/// The outcome of a transfer that did not end.
fn not_complete(evidence: &Evidence<'_>) -> Option<String> {
    let outcome = match evidence.measured.outcome {
        Outcome::Complete => return None,
        Outcome::Dropped => "The connection was dropped",
        Outcome::Stalled => "The transfer stalled",
    };
    let delivered = grouped(evidence.measured.delivered_bytes);
    Some(format!("{outcome} after {delivered} bytes."))
}

fn of_cause(evidence: &Evidence<'_>, binding: &Binding) -> Proof {
    let cause = binding.cause;
    let share = percent(binding.share);
    let plain = |figure: String, because: Vec<String>| (of(cause, &figure), because);
    if binding.limit == Limit::Pacing && is_window(cause) {
        return paced(evidence, cause, &share);
    }
    match cause {
        Cause::Path => path(evidence, binding.limit, binding.share),
        Cause::Application => plain(
            format!("{share} of the time everything that it had written was already sent"),
            vec!["No buffer or window was full during that time.".to_string()],
        ),
        Cause::SendBuffer => send_buffer(evidence, &share),
        Cause::SendBufferLimit => send_buffer_limit(evidence, &share),
        Cause::Unacknowledged => {
            let most = u64::from(evidence.sender().config.tcp.unacknowledged);
            buffer(evidence, cause, "tcp.unacknowledged", most, &share)
        }
        Cause::DelayedAck => delayed_ack(evidence, &share),
        Cause::Memory => memory(evidence, &share),
        Cause::ReceiveWindow
        | Cause::ReceiveBufferLimit
        | Cause::InitialReceiveWindow
        | Cause::PeerMemory
        | Cause::SlowReader
        | Cause::Reassembly
        | Cause::ZeroWindow => at_the_receiver(evidence, cause, &share),
        Cause::SlowStart => plain(
            format!("the sender waited for a growing congestion window {share} of the time"),
            vec!["The transfer ended before that window reached any other limit.".to_string()],
        ),
        Cause::Congestion => plain(
            format!("used up {share} of the time, without a loss"),
            vec![window_at_the_end(evidence), round_trip(evidence)],
        ),
        Cause::Loss => plain(loss_figure(&share), loss(evidence)),
        Cause::OutOfOrder => out_of_order(evidence, &share),
        Cause::RangeTable => range_table(evidence, binding.limit, &share),
        Cause::Pacing => pacing(evidence, &share),
        Cause::Device => plain(
            format!("full {share} of the time"),
            vec![format!(
                "The device sends over link `{}`, which was {} busy.",
                evidence.busiest().name,
                percent(evidence.measured.link_busy_share),
            )],
        ),
        Cause::Cpu => busy_processor(evidence),
        Cause::Descriptors => descriptors(evidence),
        Cause::Nagle | Cause::Cork => nagle(evidence, &share),
        Cause::Handshake => plain(
            format!("the connection was being opened {share} of the time"),
            Vec::new(),
        ),
        Cause::Closing => plain(
            format!(
                "all payload had been sent, and the connection was closing, {share} of the time"
            ),
            Vec::new(),
        ),
        // The files for datagrams and for vanished peers write these words.
        Cause::ReceiveQueue | Cause::PeerGone | Cause::Nothing => plain(String::new(), Vec::new()),
    }
}

/// The limit's name and its figure.
fn of(cause: Cause, figure: &str) -> String {
    format!("{}: {figure}", cause.words())
}

/// A link that was always busy: the limit that the sender waited for only decided where
/// payload waited.
fn path(evidence: &Evidence<'_>, limit: Limit, share: f64) -> Proof {
    let plan = evidence.busiest();
    let link = plan.link(Direction::Forward);
    let rate = link.rate_bps as f64;
    let goodput = evidence.active_bps() / (1.0 - thinking(evidence)).max(f64::MIN_POSITIVE);
    let what = match (link.radio, link.token_bucket) {
        (Some(radio), _) => format!(
            "The link is a half-duplex radio of {}, and each frame needs {} us of access time.",
            rate_text(rate),
            radio.access_us
        ),
        (None, Some(bucket)) => format!(
            "A token bucket shapes the link to {}, headers included.",
            rate_text(bucket.rate_bps as f64)
        ),
        (None, None) => format!("The link's rate is {}, headers included.", rate_text(rate)),
    };
    let busy_share = busy(evidence, evidence.measured.link_busy_share);
    let comma = if busy_share.ends_with("busy") {
        ""
    } else {
        ","
    };
    let limited_by = format!(
        "link `{}`: {busy_share}{comma} at a goodput of {}",
        plan.name,
        rate_text(goodput)
    );
    let waited = percent(shown(evidence, share * (1.0 - thinking(evidence))).0);
    let mut because = vec![what];
    because.extend(shared(evidence, "The link"));
    because.extend(busy_as_well(evidence));
    because.push(waited_for(evidence, limit, &waited));
    because.push(format!(
        "`{}` used at most {} of packet memory.",
        evidence.setup.hosts[evidence.setup.subject].name,
        bytes(evidence.measured.peak_pool_bytes)
    ));
    (limited_by, because)
}

/// The processor that was always busy beside a link.
fn busy_as_well(evidence: &Evidence<'_>) -> Option<String> {
    let shares = evidence.measured.hosts.iter();
    let (name, share) = shares
        .filter_map(|host| Some((&host.host, host.cpu_busy_share?)))
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    let whole = busy(evidence, share);
    let own = processor::busiest(evidence).filter(|(host, _)| host.name == *name);
    let without = match own {
        Some((_, own)) if own < NEARLY_ALL * share => {
            format!(
                "; without its reader's calls it was {}",
                busy(evidence, own)
            )
        }
        Some(_) | None => String::new(),
    };
    (shown(evidence, share).0 >= NEARLY_ALL)
        .then(|| format!("The processor of `{name}` was {whole} as well{without}."))
}

/// The wait that the link's rate caused, in words.
fn waited_for(evidence: &Evidence<'_>, limit: Limit, share: &str) -> String {
    let what = waiting_for(evidence, limit);
    let waited = format!("The sender waited for {what} {share} of the time");
    let slow_start = evidence.limits.sender.share(Limit::CwndSlowStart);
    match limit {
        Limit::CwndSteady | Limit::CwndAfterLoss | Limit::CwndAfterMark | Limit::Recovery
            if slow_start >= WORTH_SAYING =>
        {
            let slow_start = percent(shown(evidence, slow_start).0);
            format!("{waited}, and in slow start another {slow_start}.")
        }
        Limit::SendBuffer | Limit::ReceiveWindow | Limit::ZeroWindow | Limit::Memory => {
            format!("{waited}, because the link could not send faster.")
        }
        Limit::Application
        | Limit::CwndSlowStart
        | Limit::CwndSteady
        | Limit::CwndAfterLoss
        | Limit::CwndAfterMark
        | Limit::CwndAfterIdle
        | Limit::Pacing
        | Limit::Device
        | Limit::Nagle
        | Limit::Recovery
        | Limit::Handshake
        | Limit::Closing
        | Limit::Processor => format!("{waited}."),
    }
}

/// The number of connections that share a link or a processor, if there are several.
fn shared(evidence: &Evidence<'_>, subject: &str) -> Option<String> {
    let at_once = evidence.times().round() as u32;
    match evidence.connections() {
        1 => None,
        all if at_once == all => Some(format!("{subject} is shared by {all} connections.")),
        all => Some(format!(
            "{subject} is shared by {all} connections, on average {at_once} at a time."
        )),
    }
}

/// Returns the words that mark a bound as that of each of several connections.
fn each(evidence: &Evidence<'_>) -> &'static str {
    if evidence.is_alone() {
        ""
    } else {
        " for each connection"
    }
}

/// A pacing rate that follows from a window.
fn paced(evidence: &Evidence<'_>, window: Cause, share: &str) -> Proof {
    let bounds = bounds::all(evidence.setup, &evidence.scale());
    let most = bounds::of(&bounds, window).unwrap_or(f64::INFINITY);
    let figure = format!(
        "it allows at most {} at a round trip of {}",
        rate_text(most),
        millis(evidence.measured.srtt_ms)
    );
    let algorithm = evidence.sender().config.get("tcp.congestion");
    let settled = format!(
        "{} paces at the delivery rate that it measures, and the goodput was {}.",
        algorithm.unwrap_or_default(),
        rate_text(evidence.measured.goodput_mbps * 1e6)
    );
    let waited = format!("Pacing delayed segments {share} of the time.");
    (of(window, &figure), vec![settled, waited])
}

fn send_buffer(evidence: &Evidence<'_>, share: &str) -> Proof {
    let sending = Buffer::sending(evidence.sender());
    let knob = sending
        .tuned_to
        .map_or(sending.knobs.set, |_| sending.knobs.max);
    let (cause, payload) = (Cause::SendBuffer, sending.text());
    let (limited_by, mut because) = buffer(evidence, cause, knob, payload, share);
    let size = sending.tuned_to.unwrap_or(sending.set);
    let setting = names::number(evidence.sender(), knob, size);
    because.splice(0..0, names::size_words(&setting, size, payload));
    (limited_by, because)
}

/// A bound of `payload` bytes on what the sender has in flight.
fn buffer(
    evidence: &Evidence<'_>,
    cause: Cause,
    knob: &'static str,
    payload: u64,
    share: &str,
) -> Proof {
    let setting = names::number(evidence.sender(), knob, payload);
    let figure = format!(
        "{} = {} was full {share} of the time",
        setting.name, setting.present
    );
    let free = bounds::room_waited_for(evidence.setup);
    if free == 0 {
        return (of(cause, &figure), vec![a_round_trip(evidence, payload)]);
    }
    let resumes = format!(
        "A blocked writer resumed when {} were free, so {} to {} were in flight, {} on average.",
        bytes(free),
        grouped(payload - free),
        bytes(payload),
        grouped(payload - free / 2),
    );
    let because = vec![resumes, a_round_trip(evidence, payload - free / 2)];
    (of(cause, &figure), because)
}

fn send_buffer_limit(evidence: &Evidence<'_>, share: &str) -> Proof {
    let sending = Buffer::sending(evidence.sender());
    let [set, limit] = [sending.knobs.set, sending.knobs.limit]
        .map(|knob| names::number(evidence.sender(), knob, sending.set));
    let figure = format!(
        "{} = {} {} {} = {}",
        limit.name,
        limit.present,
        if sending.limit < sending.set {
            "is less than"
        } else {
            "allows no more than"
        },
        set.name,
        set.present
    );
    let mut because = vec![format!("The buffer was full {share} of the time.")];
    because.extend(names::size_words(&limit, sending.limit, sending.text()));
    because.push(a_round_trip(evidence, sending.text()));
    (of(Cause::SendBufferLimit, &figure), because)
}

/// The rate that a window of `payload` bytes allows.
fn a_round_trip(evidence: &Evidence<'_>, payload: u64) -> String {
    let rtt_ms = evidence.measured.srtt_ms;
    let most = if rtt_ms > 0.0 {
        format!("at most {}", rate_text(payload as f64 * 8e3 / rtt_ms))
    } else {
        "any rate".to_string()
    };
    format!(
        "{} in each round trip of {} are {most}{}.",
        bytes(payload),
        millis(rtt_ms),
        each(evidence)
    )
}

/// The smoothed round trip of the first connection.
fn round_trip(evidence: &Evidence<'_>) -> String {
    let rtt = millis(evidence.measured.srtt_ms);
    format!("The smoothed round trip was {rtt} at the end.")
}

/// The congestion window of the first connection.
fn window_at_the_end(evidence: &Evidence<'_>) -> String {
    let whose = if evidence.is_alone() {
        "The congestion window"
    } else {
        "The first connection's congestion window"
    };
    format!("{whose} was {} at the end.", bytes(evidence.cwnd))
}

fn pacing(evidence: &Evidence<'_>, share: &str) -> Proof {
    let sender = evidence.sender();
    let most = u64::from(sender.config.tcp.pacing_rate_max);
    let setting = names::number(sender, "tcp.pacing_rate_max", most);
    if most == 0 {
        let limited_by = format!(
            "the pacing rate of {}: pacing delayed segments {share} of the time",
            sender.config.get("tcp.congestion").unwrap_or_default(),
        );
        let because = vec![
            format!(
                "The goodput was {}.",
                rate_text(evidence.measured.goodput_mbps * 1e6)
            ),
            "Congestion control chose the pacing rate; tcp.pacing_rate_max sets no cap."
                .to_string(),
        ];
        return (limited_by, because);
    }
    let whose = format!(
        "{} = {} is {}.",
        setting.name,
        setting.present,
        rate_text(most as f64 * 8.0)
    );
    let figure = format!("the cap on the pacing rate delayed segments {share} of the time");
    (of(Cause::Pacing, &figure), vec![whose])
}

fn busy_processor(evidence: &Evidence<'_>) -> Proof {
    let (name, share) =
        processor::busiest(evidence).map_or(("", 0.0), |(host, share)| (host.name.as_str(), share));
    let mut because = vec![format!(
        "Link `{}` was {}.",
        evidence.busiest().name,
        busy(evidence, evidence.measured.link_busy_share)
    )];
    because.extend(shared(evidence, "The processor"));
    if processor::text_for_calls(evidence).is_some() {
        because.push("The writer's calls cost more than 5 % of what its frames cost.".to_string());
    }
    let limited_by = format!("the processor of `{name}`: {}", busy(evidence, share));
    (limited_by, because)
}

fn descriptors(evidence: &Evidence<'_>) -> Proof {
    let receiver = evidence.receiver();
    let present = u64::from(receiver.device.rx_descriptors);
    let setting = names::device(receiver, "device.rx_descriptors", present, present);
    let figure = format!(
        "the ring of `{}`, {} = {}, was full and lost {} frames",
        receiver.name,
        setting.name,
        setting.present,
        grouped(processor::lost_in_ring(evidence)),
    );
    (
        of(Cause::Descriptors, &figure),
        vec![retransmitted(evidence)],
    )
}

fn retransmitted(evidence: &Evidence<'_>) -> String {
    let measured = evidence.measured;
    let timeouts = match measured.timeouts {
        0 => "no timeout".to_string(),
        timeouts => counted(timeouts, "timeout"),
    };
    format!(
        "{} of {} segments were retransmissions; there was {timeouts}.",
        grouped(measured.retransmitted_segments),
        grouped(measured.data_segments),
    )
}

fn delayed_ack(evidence: &Evidence<'_>, share: &str) -> Proof {
    let (sender, receiver) = (evidence.sender(), evidence.receiver());
    let size = Buffer::sending(sender).text();
    let setting = names::number(sender, "tcp.send_buffer", size);
    let figure = format!(
        "`{}` waits {} ms before it acknowledges a single segment",
        receiver.name,
        receiver.config.tcp.delayed_ack.as_millis(),
    );
    let small = format!(
        "{} = {} is less than two segments of {}, and was full {share} of the time.",
        setting.name,
        setting.present,
        bytes(evidence.segment_bytes())
    );
    let turn_s = receiver.config.tcp.delayed_ack.as_secs_f64() + evidence.scale().rtt_s;
    let rate = format!(
        "{} in every {}, the timer and a round trip, are {}.",
        bytes(size),
        millis(turn_s * 1e3),
        rate_text(size as f64 * 8.0 / turn_s),
    );
    (of(Cause::DelayedAck, &figure), vec![small, rate])
}

fn memory(evidence: &Evidence<'_>, share: &str) -> Proof {
    let sender = evidence.sender();
    let pool = &sender.config.pool;
    let figure = format!(
        "{share} of the time a write waited for one of the {} blocks of {}",
        grouped(pool.blocks.into()),
        bytes(u64::from(pool.block_size)),
    );
    let mut because: Vec<_> = memory_in_use(evidence).into_iter().collect();
    because.push(round_trip(evidence));
    (of(Cause::Memory, &figure), because)
}

/// Peak use of the sender's pool, and the purpose of the rest. The pool of the host
/// under study alone is measured.
fn memory_in_use(evidence: &Evidence<'_>) -> Option<String> {
    let sender = evidence.sender();
    let subject = &evidence.setup.hosts[evidence.setup.subject];
    let (peak, pool) = (evidence.measured.peak_pool_bytes, pool_bytes(sender));
    let left = pool.saturating_sub(peak);
    let used = format!("At most {} of {} were in use", grouped(peak), bytes(pool));
    let reserved = pool as f64 - bounds::send_memory(sender);
    (subject.name == sender.name).then(|| {
        if left > 0 && left as f64 <= reserved {
            format!(
                "{used}; the other {} are reserved for receiving.",
                grouped(left)
            )
        } else {
            format!("{used}.")
        }
    })
}

/// A window that the receiver keeps small or closed.
fn at_the_receiver(evidence: &Evidence<'_>, cause: Cause, share: &str) -> Proof {
    let name = &evidence.receiver().name;
    let own = percent(at_receiver(evidence).1);
    let used_up = format!(
        "at most {}, used up {share} of the time",
        bytes(evidence.peer_window)
    );
    let window = format!("The window was {used_up}.");
    let rate = a_round_trip(evidence, evidence.peer_window);
    let (figure, because) = match cause {
        Cause::ZeroWindow => (
            format!("the receiver advertised no window {share} of the time"),
            its_buffer(evidence),
        ),
        Cause::InitialReceiveWindow => first_window(evidence, share),
        Cause::PeerMemory => (
            format!("{own} of the time the pool of `{name}` had no block for a larger window"),
            vec![window, rate],
        ),
        Cause::SlowReader => {
            let closed = evidence.limits.sender.share(Limit::ZeroWindow);
            let mut because = if closed >= MOSTLY_CLOSED {
                // The window's size would prove nothing.
                vec![format!(
                    "The window was closed {} of the time.",
                    percent(closed)
                )]
            } else {
                vec![window]
            };
            because.extend(gone::unanswered(evidence));
            let dropped = gone::dropped_unread(evidence).unwrap_or_default();
            (
                format!("`{name}` did not read what had arrived {own} of the time{dropped}"),
                because,
            )
        }
        Cause::Reassembly => (
            format!("{own} of the time payload behind holes filled the buffer of `{name}`"),
            vec![window, rate],
        ),
        _ => {
            let mut because = its_buffer(evidence);
            because.push(rate);
            (used_up, because)
        }
    };
    (of(cause, &figure), because)
}

/// The window before anything had arrived, its setting, and the window after it.
fn first_window(evidence: &Evidence<'_>, share: &str) -> Proof {
    let receiver = evidence.receiver();
    let present = u64::from(receiver.config.tcp.initial_receive_window);
    let setting = names::number(receiver, "tcp.initial_receive_window", present);
    let first = bytes(bounds::first_window(evidence.setup, &evidence.scale()));
    let figure = format!("{first}, used up {share} of the time");
    let comes = format!(
        "Before `{}` had received anything, its window was {} = {} segments, and never more than {}.",
        receiver.name,
        setting.name,
        setting.present,
        bytes(bounds::UNSCALED),
    );
    let later = format!(
        "Later the window was up to {}.",
        bytes(evidence.peer_window)
    );
    (figure, vec![comes, later])
}

/// The setting behind the peer's window, and its size for payload.
fn its_buffer(evidence: &Evidence<'_>) -> Vec<String> {
    let receiver = evidence.receiver();
    let receiving = Buffer::receiving(receiver);
    let knob = match receiving.tuned_to {
        Some(_) => receiving.knobs.max,
        None if receiving.limit <= receiving.set => receiving.knobs.limit,
        None => receiving.knobs.set,
    };
    let size = receiving
        .tuned_to
        .unwrap_or(receiving.set.min(receiving.limit));
    let setting = names::number(receiver, knob, size);
    let mut words = vec![format!(
        "The window comes from {} = {} of `{}`.",
        setting.name, setting.present, receiver.name
    )];
    words.extend(names::size_words(&setting, size, receiving.text()));
    words
}

fn nagle(evidence: &Evidence<'_>, share: &str) -> Proof {
    let flow = evidence.setup.flow();
    let (limit, waits_for) = if flow.is_no_push() {
        let values = ["true", "false"];
        let (setting, _) = names::of_flow(evidence.sender(), &flow.name, "no_push", values);
        (setting.name, "more to be written")
    } else {
        (Cause::Nagle.words().to_string(), "an acknowledgment")
    };
    let limited_by = format!(
        "{limit}: a partial segment, below {}, waited for {waits_for} {share} of the time",
        bytes(evidence.measured.segment_bytes),
    );
    let writes = format!("Each write was {}.", bytes(u64::from(flow.write)));
    let waited = format!(
        "A byte waited {} on average before it left.",
        millis(evidence.measured.unsent_ms),
    );
    (limited_by, vec![writes, waited])
}

fn loss_figure(share: &str) -> String {
    format!(
        "{share} of the time the sender waited for lost segments to be repaired, or for the \
         congestion window that losses had reduced"
    )
}

fn loss(evidence: &Evidence<'_>) -> Vec<String> {
    let measured = evidence.measured;
    let mut because = vec![retransmitted(evidence)];
    let chance = evidence.path().loss;
    if chance > 0.0 {
        because.push(format!(
            "The path loses {} % of the segments at random: about {} of the {}.",
            three_digits(chance * 100.0),
            grouped((chance * measured.data_segments as f64).round() as u64),
            grouped(measured.data_segments),
        ));
    } else {
        because.push(no_random_loss(evidence));
        // The time that such losses cost is at most what the link was idle.
        because.push(format!(
            "Link `{}` was {} busy, slow start included.",
            evidence.busiest().name,
            percent(evidence.measured.link_busy_share)
        ));
    }
    because.push(window_at_the_end(evidence));
    because
}

/// The reason for losses where the path loses nothing at random.
fn no_random_loss(evidence: &Evidence<'_>) -> String {
    let flow = evidence.setup.flow();
    let route = evidence.setup.route(flow.from, flow.to);
    let links = route
        .iter()
        .map(|&(number, direction)| evidence.setup.links[number].link(direction));
    let has = |what: &dyn Fn(&LinkModel) -> bool| links.clone().any(|link| what(&link));
    let lost = if has(&|link| link.burst_loss.is_some() || link.outage.is_some()) {
        "they were lost in a burst, in an outage or in a full queue"
    } else if has(&|link| link.codel.is_some()) {
        "CoDel or a full queue dropped them"
    } else {
        "a full queue dropped them"
    };
    format!("The path loses nothing at random: {lost}.")
}

fn out_of_order(evidence: &Evidence<'_>, share: &str) -> Proof {
    let receiver = evidence.receiver();
    let setting = names::number(receiver, "tcp.out_of_order", 0);
    let figure = format!(
        "{} = {} of `{}` had no room for payload behind a hole",
        setting.name, setting.present, receiver.name
    );
    let mut because = vec![format!("Losses limited the sender {share} of the time.")];
    because.extend(loss(evidence));
    (of(Cause::OutOfOrder, &figure), because)
}

/// A table of ranges that was too small, and the repairs that took longer for it.
fn range_table(evidence: &Evidence<'_>, limit: Limit, share: &str) -> Proof {
    let Some(table) = short_table(evidence) else {
        return (loss_figure(share), loss(evidence));
    };
    let setting = names::number(table.host, table.kind.knob(), 0);
    let name = &table.host.name;
    let (knob, count) = (
        format!("{} = {}", setting.name, setting.present),
        grouped(table.full),
    );
    let (figure, effect) = if table.kind.is_senders() {
        (
            format!("{knob} of `{name}` was too small {count} times"),
            "The sender then merged ranges in flight, or ignored SACK blocks, and repaired losses late or \
             more than once.",
        )
    } else {
        (
            format!("{knob} of `{name}` was full for {count} segments behind holes"),
            "The receiver discarded them, and the sender had to retransmit them.",
        )
    };
    let mut because = vec![effect.to_string(), waited_for(evidence, limit, share)];
    because.extend(loss(evidence));
    let twice = evidence.measured.needless_share;
    if twice >= WORTH_SAYING {
        because.push(format!(
            "{} of the payload arrived more than once.",
            percent(twice)
        ));
    }
    (of(Cause::RangeTable, &figure), because)
}

/// The resource that a sender waits for at a limit, in words.
fn waiting_for(evidence: &Evidence<'_>, limit: Limit) -> String {
    let words = match limit {
        Limit::Application => "the application",
        Limit::SendBuffer => "room in the send buffer",
        Limit::ReceiveWindow => "the peer's receive window",
        Limit::ZeroWindow => "the peer to open its window",
        Limit::CwndSlowStart
        | Limit::CwndSteady
        | Limit::CwndAfterLoss
        | Limit::CwndAfterMark
        | Limit::CwndAfterIdle
        | Limit::Recovery => {
            return window_and_its_followers(evidence);
        }
        Limit::Pacing => "the pacing rate",
        Limit::Device => "the device",
        Limit::Nagle => "a full segment",
        Limit::Memory => "packet memory",
        Limit::Handshake => "the handshake",
        Limit::Closing => "the end",
        Limit::Processor => "the processor",
    };
    words.to_string()
}

/// The congestion window in words, with pacing and loss recovery if they took time.
fn window_and_its_followers(evidence: &Evidence<'_>) -> String {
    let shown = |limit: Limit| evidence.limits.sender.share(limit) >= WORTH_SAYING;
    let followers = match (shown(Limit::Pacing), shown(Limit::Recovery)) {
        (false, false) => "",
        (true, false) => " or the pacing rate derived from it",
        (false, true) => " or loss recovery",
        (true, true) => ", the pacing rate derived from it, or loss recovery",
    };
    format!("the congestion window{followers}")
}

/// The share of the time in which a link or a processor was busy, in words. If much of
/// the time was opening or closing, the share is of the rest.
pub fn busy(evidence: &Evidence<'_>, share: f64) -> String {
    match shown(evidence, share) {
        (share, true) => format!("{} busy while payload was being sent", percent(share)),
        (share, false) if evidence.activity.share < NEARLY_ALL => {
            format!("{} busy while a connection was open", percent(share))
        }
        (share, false) => format!("{} busy", percent(share)),
    }
}

/// A share, and true if it is of the time without opening and closing.
fn shown(evidence: &Evidence<'_>, share: f64) -> (f64, bool) {
    let at_work = at_work(evidence);
    let measured = evidence.measured;
    let fullest = measured
        .cpu_busy_share
        .unwrap_or(0.0)
        .max(measured.link_busy_share);
    if at_work <= 0.0 || at_work.max(fullest) >= NEARLY_ALL {
        return (share, false);
    }
    (share / at_work, true)
}

/// "1 probe", "2 probes".
pub fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(count))
}

pub fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn bytes(count: u64) -> String {
    format!("{} bytes", grouped(count))
}

/// A time in milliseconds.
pub fn millis(ms: f64) -> String {
    format!("{} ms", three_digits(ms))
}
