//! Sentences about the facts that a capture cannot show.
//!
//! Rule: each missing observation gives one sentence, which includes the consequence.

use super::observed::{DirectionSeen, Side, Vantage, WindowScale};
use crate::capture::End;

/// Observations that the capture as a whole lacks. [`DirectionSeen`] has those that one direction
/// lacks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lacks {
    pub cut_options: u64,
    pub clock_went_back: u64,
    pub fragments: u64,
    /// The only end whose segments were captured.
    pub only: Option<End>,
}

/// Returns the sentences for a connection whose payload `sender` sends.
pub fn cannot_tell(
    vantage: &Vantage,
    directions: &[DirectionSeen; 2],
    sender: End,
    lacks: Lacks,
) -> Vec<String> {
    let data = &directions[sender.index()];
    let mut all = Vec::new();
    if let Some(only) = lacks.only {
        all.push(one_direction(only == sender).to_string());
        let more = further(data, lacks);
        all.extend(more.into_iter().filter(|_| only == sender));
        return all;
    }
    let mut say = |sentence: String| all.push(sentence);
    if !vantage.has_handshake {
        let scale = match directions[sender.other().index()].window_scale {
            WindowScale::Inferred(shift) => {
                format!("its shift of {shift} is inferred from the bytes in flight")
            }
            WindowScale::Seen(_) | WindowScale::Unknown => {
                "so time limited by the receive window cannot be distinguished from time with another limit".into()
            }
        };
        say(format!(
            "The options of the handshake were not captured: the receiver's window scale was not seen, and {scale}."
        ));
    }
    match vantage.side {
        Side::Sender => {}
        Side::Middle | Side::Receiver => say(
            "The capture was not made at the sender: the times at which the sender sent are computed from the round trip, and effects of the sender's queue, send buffer and pacing appear late.".into(),
        ),
        Side::Unknown => say("The capture does not show how far from the sender it was made, so the times at which ACKs reached the sender are uncertain.".into()),
    }
    if vantage.side != Side::Sender && !vantage.has_timestamps {
        say("The sender sent no timestamps: waits between the sender and the place of the capture cannot be distinguished from waits at the sender.".into());
    }
    all.extend(further(data, lacks));
    all
}

/// The sentence for a capture that has only the sender's or only the receiver's segments.
const fn one_direction(is_sender: bool) -> &'static str {
    match is_sender {
        true => {
            "The capture has only the segments of the sender: without ACKs, bytes in flight, round trips and the receive window are unknown. The account (time by limit) has only retransmissions, pauses after a write, and the time after FIN; the limit for the rest of the time is unknown. To see more limits, capture both directions."
        }
        false => {
            "The capture has only the segments of the receiver: payload is counted by the receiver's ACKs, and nothing shows when the payload was sent. The account (time by limit) has only closed windows, holes that SACK blocks show, and the time after FIN; the limit for the rest of the time is unknown. To see more limits, capture both directions."
        }
    }
}

/// Sentences about the capture itself.
fn further(data: &DirectionSeen, lacks: Lacks) -> Vec<String> {
    let mut all = Vec::new();
    let mut say = |sentence: String| all.push(sentence);
    if data.has_super_segments {
        say("Segments are longer than the MSS: the capture was made above segmentation offload, so pacing and the spacing of segments are not visible.".into());
    }
    if data.missing_bytes > 0 {
        say(format!(
            "{} bytes were acknowledged but are not in the capture: the capture lost packets, or began too late.",
            data.missing_bytes
        ));
    }
    if lacks.cut_options > 0 {
        say(format!(
            "The TCP options of {} segments were not captured completely: missing SACK blocks and timestamps are unknown.",
            lacks.cut_options
        ));
    }
    if lacks.clock_went_back > 0 {
        say(format!(
            "The clock of the capturing host went back {} times: times near these steps are uncertain.",
            lacks.clock_went_back
        ));
    }
    if lacks.fragments > 0 {
        say(format!(
            "{} segments were sent as IP fragments: only the first fragment of each segment is counted.",
            lacks.fragments
        ));
    }
    all
}
