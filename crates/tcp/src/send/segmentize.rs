//! How much of the text leaves now, as one segment, or why nothing does.
//!
//! Rule: segments are cut here, at transmit, when everything that bounds them
//! is known. A segment is full-sized, or it is the end of what was written, or
//! waiting for a full-sized one would be in vain. RFC 9293 §3.8.6.2.1.

use crate::{Allowance, Limit};

/// Everything the decision depends on. Bytes throughout.
#[derive(Clone, Copy, Debug)]
pub struct Situation {
    /// What all bounds together allow.
    pub allowance: Allowance,
    /// Written and not sent.
    pub unsent: u32,
    /// Sent and not acknowledged.
    pub outstanding: u32,
    /// Effective segment size.
    pub mss: u32,
    /// Most text that the next frame should carry; ≥ `mss`, and more only for a
    /// device that cuts.
    pub goal: u32,
    /// Largest window the peer ever advertised.
    pub max_snd_wnd: u32,
    /// Nagle's algorithm is on.
    pub nagle: bool,
    /// The application asked to hold less than a segment.
    pub corked: bool,
    /// What is left of the peer's window leaves, too, behind full segments.
    pub uses_up_window: bool,
    /// FIN follows: nothing will be added to the tail.
    pub fin_queued: bool,
    /// The writer that was refused has been told that there is room.
    pub writer_woken: bool,
    /// The override timer ran out: send what the window takes.
    pub override_sws: bool,
}

/// The outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Send this many bytes now.
    Send(u32),
    /// Send nothing, because of this.
    Hold(Limit),
}

/// Decides what leaves now.
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
        if is_all && tail_goes_along(situation, bound_by) {
            return Decision::Send(room);
        }
        return Decision::Send(most - most % mss);
    }
    if room == unsent {
        return send_tail(situation, bound_by);
    }
    // A window has room for less than a segment while more text waits: sending
    // it would make the window silly, unless no ACK is due that could open it.
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

/// Whether the last bytes written, less than a segment, leave in the frame of
/// the full segments before them. With those in flight Nagle would hold them.
fn tail_goes_along(situation: &Situation, bound_by: Limit) -> bool {
    let writer_waits = matches!(bound_by, Limit::SendBuffer | Limit::Memory);
    let held = situation.nagle || situation.corked || (writer_waits && situation.writer_woken);
    situation.fin_queued || situation.override_sws || !held
}

/// The last bytes written are less than a segment: Nagle and the cork decide.
fn send_tail(situation: &Situation, bound_by: Limit) -> Decision {
    let Situation {
        unsent,
        outstanding,
        nagle,
        corked,
        fin_queued,
        writer_woken,
        override_sws,
        ..
    } = *situation;
    let writer_waits = matches!(bound_by, Limit::SendBuffer | Limit::Memory);
    if fin_queued || override_sws {
        return Decision::Send(unsent);
    }
    // A writer that waits for room will complete the segment once it has been
    // woken. It has not been while an ACK is needed to make room, and with
    // nothing in flight no ACK will come, cork or not.
    let completed_soon = writer_waits && writer_woken;
    if outstanding == 0 && !completed_soon && (writer_waits || !corked) {
        return Decision::Send(unsent);
    }
    if corked || nagle || completed_soon {
        return Decision::Hold(if writer_waits { bound_by } else { Limit::Nagle });
    }
    Decision::Send(unsent)
}
