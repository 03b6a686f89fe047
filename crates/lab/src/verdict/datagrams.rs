//! What bounds a row of datagrams.
//!
//! Rule: where datagrams were lost, the place that lost most of them is the
//! bound; where none were, it is what was used up, and else the sender's own
//! rate. Nothing is sent again and nothing waits for an acknowledgment, so no
//! buffer at the sender ever binds.

use super::{Cause, Evidence, Verdict, plain};
use crate::units::grouped;

/// A processor or a link that is in use for more than this share is used up.
const USED_UP: f64 = 0.95;
/// A smaller share of all datagrams is not worth a word.
const WORTH_SAYING: f64 = 0.001;

/// The verdict on datagrams.
pub fn of(evidence: &Evidence<'_>) -> Verdict {
    let Evidence {
        setup, measured, ..
    } = *evidence;
    let [sender, receiver] = [setup.flow().from, setup.flow().to].map(|place| {
        let cpu = measured
            .hosts
            .get(place)
            .and_then(|host| host.cpu_busy_share);
        (&setup.hosts[place], cpu.unwrap_or(0.0))
    });
    let lost = measured.lost_share.unwrap_or(0.0);
    let sent = measured.datagrams_sent.unwrap_or(0.0);
    let in_queue = measured.udp_rcvbuf_errors.unwrap_or(0.0);
    let in_ring = measured.rx_ring_drops as f64;
    let at_most = |share: f64| format!("{:.0} %", share * 100.0);
    let (cause, sentence) = if lost > WORTH_SAYING && in_queue.max(in_ring) > 0.0 {
        let (cause, place, knob) = if in_queue >= in_ring {
            let queue = receiver.0.config.udp.receive_queue;
            (
                Cause::ReceiveQueue,
                format!(
                    "{} datagrams found the receive queue full",
                    grouped(in_queue as u64)
                ),
                format!("udp.receive_queue = {queue}"),
            )
        } else {
            let ring = receiver.0.device.rx_descriptors;
            (
                Cause::Descriptors,
                format!(
                    "{} frames found the receive ring full",
                    grouped(in_ring as u64)
                ),
                format!("device.rx_descriptors = {ring}"),
            )
        };
        let sentence = format!(
            "{place} ({knob} of `{}`), and {} of {} datagrams were lost; its processor was busy {} \
             of the time.",
            receiver.0.name,
            at_most(lost),
            grouped(sent as u64),
            at_most(receiver.1),
        );
        (cause, sentence)
    } else if lost > WORTH_SAYING {
        let sentence = format!(
            "{} of {} datagrams were lost on the way.",
            at_most(lost),
            grouped(sent as u64)
        );
        (Cause::Loss, sentence)
    } else if sender.1.max(receiver.1) > USED_UP {
        let (host, share) = if sender.1 >= receiver.1 {
            sender
        } else {
            receiver
        };
        let sentence = format!(
            "the processor of `{}` was busy {} of the time; no buffer will help.",
            host.name,
            at_most(share)
        );
        (Cause::Cpu, sentence)
    } else if measured.link_busy_share > USED_UP {
        let sentence = format!(
            "link `{}` was busy {} of the time.",
            setup.links[evidence.busiest].name,
            at_most(measured.link_busy_share)
        );
        (Cause::Path, sentence)
    } else {
        let sentence = format!(
            "no more was sent, and {} of it arrived.",
            at_most(1.0 - lost)
        );
        (Cause::Application, sentence)
    };
    plain(cause, format!("{}: {sentence}", cause.heading()))
}
