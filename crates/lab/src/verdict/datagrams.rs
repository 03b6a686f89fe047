//! What bounds a row of datagrams.
//!
//! Rule: where datagrams were lost, the place that lost most of them is the
//! bound; where none were, it is what was used up, and else the sender's own
//! rate. Nothing is sent again and nothing waits for an acknowledgment, so no
//! buffer at the sender ever binds.

use super::{Cause, Evidence, Verdict, plain, remedy, with_remedy, words::percent};
use crate::units::grouped;

/// A processor or a link that is in use for more than this share is used up.
const USED_UP: f64 = 0.95;
/// A smaller share of all datagrams is not worth a word.
const WORTH_SAYING: f64 = 0.001;

/// The verdict on datagrams.
pub fn of(evidence: &Evidence<'_>) -> Verdict {
    let lost = evidence.measured.lost_share.unwrap_or(0.0);
    let (cause, sentence) = if lost > WORTH_SAYING {
        lossy(evidence, lost)
    } else {
        lossless(evidence)
    };
    let verdict = plain(cause, format!("{}: {sentence}", cause.heading()));
    match remedy::of_datagrams(evidence, cause) {
        Some(remedy) => with_remedy(evidence, verdict, remedy, None),
        None => verdict,
    }
}

/// Where most of what is missing was lost.
fn lossy(evidence: &Evidence<'_>, lost: f64) -> (Cause, String) {
    let (measured, receiver) = (evidence.measured, evidence.receiver());
    let in_queue = measured.udp_rcvbuf_errors.unwrap_or(0.0) as u64;
    let in_ring = measured.rx_ring_drops;
    let sent = grouped(measured.datagrams_sent.unwrap_or(0.0) as u64);
    let share = percent(lost);
    if in_queue.max(in_ring) == 0 {
        let sentence = format!("{share} of {sent} datagrams were lost on the way.");
        return (Cause::Loss, sentence);
    }
    let (cause, place) = if in_queue >= in_ring {
        let place = format!(
            "{} datagrams found the receive queue full (udp.receive_queue = {}",
            grouped(in_queue),
            receiver.config.udp.receive_queue
        );
        (Cause::ReceiveQueue, place)
    } else {
        let place = format!(
            "{} frames found the receive ring full (device.rx_descriptors = {}",
            grouped(in_ring),
            receiver.device.rx_descriptors
        );
        (Cause::Descriptors, place)
    };
    let busy = measured.hosts.get(evidence.setup.flow().to);
    let busy = busy.and_then(|host| host.cpu_busy_share).unwrap_or(0.0);
    let sentence = format!(
        "{place} of `{}`), and {share} of {sent} datagrams were lost; its processor was busy {} of \
         the time.",
        receiver.name,
        percent(busy),
    );
    (cause, sentence)
}

/// What was used up, where all that was sent arrived.
fn lossless(evidence: &Evidence<'_>) -> (Cause, String) {
    let measured = evidence.measured;
    let shares = measured
        .hosts
        .iter()
        .filter_map(|host| Some((host, host.cpu_busy_share?)));
    let busiest = shares.max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((host, share)) = busiest.filter(|(_, share)| *share > USED_UP) {
        let sentence = format!(
            "the processor of `{}` was busy {} of the time; no buffer will help.",
            host.host,
            percent(share)
        );
        return (Cause::Cpu, sentence);
    }
    let busy = percent(measured.link_busy_share);
    if measured.link_busy_share > USED_UP {
        let link = &evidence.busiest().name;
        return (
            Cause::Path,
            format!("link `{link}` was busy {busy} of the time."),
        );
    }
    let sentence =
        format!("no more was sent, and all of it arrived; the link was busy {busy} of the time.");
    (Cause::Application, sentence)
}
