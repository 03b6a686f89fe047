//! Segmentation: the amount of payload that leaves now, or the limit that stops
//! it.
//!
//! Rule: segments are cut here, at transmit, when all bounds are known. A segment leaves if it is
//! full-sized. A smaller segment leaves if it ends the payload written and neither Nagle's
//! algorithm, a cork nor a woken writer delays it, or if no ACK is expected that could make room
//! for a full segment. RFC 9293 §3.8.6.2.1.

use crate::{Allowance, Limit};

/// Inputs of the decision, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Situation {
    /// Bytes that all bounds together allow.
    pub allowance: Allowance,
    /// Bytes written and not sent.
    pub unsent: u32,
    /// Bytes sent and not acknowledged.
    pub outstanding: u32,
    /// Effective segment size.
    pub mss: u32,
    /// Largest payload, in bytes, that the next frame should carry: `mss`, or more for a device
    /// that cuts frames into segments.
    pub goal: u32,
    /// Largest window that the peer ever advertised.
    pub max_snd_wnd: u32,
    /// Nagle's algorithm is on.
    pub nagle: bool,
    /// The application has corked the connection.
    pub corked: bool,
    /// The rest of the peer's window is used too, after full segments, even if it is smaller
    /// than a segment.
    pub uses_up_window: bool,
    /// FIN follows: no more payload will be written.
    pub fin_queued: bool,
    /// State of the last write, whichever bound gave the allowance.
    pub writer: Writer,
    /// The override timer expired: as much leaves as the window allows.
    pub override_sws: bool,
}

/// State of the application's last write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// The write was accepted whole.
    Free,
    /// The write was refused or cut short: its remaining bytes will complete the last segment.
    Blocked,
    /// The write was refused or cut short, and the writer was notified of room.
    Woken,
}

/// Result of the decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Send this many bytes now.
    Send(u32),
    /// Send nothing, because of this limit.
    Hold(Limit),
}

/// Decides how much payload leaves now.
pub fn segmentize(situation: &Situation) -> Decision {
    let Situation {
        allowance: Allowance { room, bound_by },
        unsent,
        mss,
        ..
    } = *situation;
    if room == 0 {
        return Decision::Hold(bound_by);
    }
    if room >= mss {
        let most = room.min(situation.goal);
        let is_all = room == unsent && most == room;
        if is_all && tail_goes_along(situation) {
            return Decision::Send(room);
        }
        return Decision::Send(most - most % mss);
    }
    if room == unsent {
        return send_tail(situation, bound_by);
    }
    // The window has room for less than a segment while more payload waits. To avoid silly window
    // syndrome, send so little only in three cases: nothing is in flight (and, if the peer's window
    // is the bound, half of its largest size is open), the rest of the window is to be used up, or
    // the override timer has expired.
    let in_vain = situation.outstanding == 0
        && match bound_by {
            Limit::ReceiveWindow | Limit::ZeroWindow => room >= situation.max_snd_wnd / 2,
            _ => true,
        };
    let uses_up = situation.uses_up_window
        && bound_by == Limit::ReceiveWindow
        && situation.outstanding >= mss
        && !situation.nagle
        && !situation.corked;
    if in_vain || uses_up || situation.override_sws {
        Decision::Send(room)
    } else {
        Decision::Hold(bound_by)
    }
}

/// Returns true if the last bytes written, less than a segment, leave in one frame with the
/// full segments before them. They wait while Nagle's algorithm or a cork is on, or while the
/// woken writer is about to complete the segment.
fn tail_goes_along(situation: &Situation) -> bool {
    let completed_soon = situation.writer == Writer::Woken;
    let held = situation.nagle || situation.corked || completed_soon;
    situation.fin_queued || situation.override_sws || !held
}

/// Decides by Nagle's algorithm and cork whether the last bytes written, less than a segment,
/// leave.
fn send_tail(situation: &Situation, bound_by: Limit) -> Decision {
    let Situation {
        unsent,
        outstanding,
        nagle,
        corked,
        fin_queued,
        writer,
        override_sws,
        ..
    } = *situation;
    let writer_waits = writer != Writer::Free;
    if fin_queued || override_sws {
        return Decision::Send(unsent);
    }
    // Send the tail of a blocked writer if nothing is in flight, even under a cork: no ACK will
    // come to free room and wake the writer.
    let completed_soon = writer == Writer::Woken;
    if outstanding == 0 && !completed_soon && (writer_waits || !corked) {
        return Decision::Send(unsent);
    }
    if corked || nagle || completed_soon {
        return Decision::Hold(if writer_waits { bound_by } else { Limit::Nagle });
    }
    Decision::Send(unsent)
}
