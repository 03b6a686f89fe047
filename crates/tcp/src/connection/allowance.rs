//! The send allowance: bytes that may leave now, and the bound that lets no more leave.
//!
//! Rule: the smallest bound is the limit, both for a retransmission and for new payload. Lost
//! ranges go first, so while a lost range waits to be retransmitted, the bounds of its
//! retransmission limit the sender. This file decides nothing about sizes of segments
//! (`segmentize`) and sets no timer (`output`).

use core::ops::Range;

use super::{Connection, Env};
use crate::{Allowance, Limit, SeqNum, limit::tightest, recovery::RecoveryPhase};

impl Connection {
    /// Returns the tightest of the bounds on new payload, with the limit that this bound names.
    /// While a lost range must leave first, new payload has a room of 0 bytes, and the limit is the
    /// limit of the retransmission.
    pub(super) fn send_allowance(&self, env: &Env<'_>) -> Allowance {
        if let Some(lost) = self.due_repair(env) {
            let repair = self.repair_allowance(&lost, env);
            let bound_by = match repair.room {
                0 => repair.bound_by,
                _ => Limit::Recovery,
            };
            return Allowance { room: 0, bound_by };
        }
        let congestion = if self.is_recovering() {
            Limit::Recovery
        } else {
            self.congestion.limit()
        };
        let unacknowledged = self
            .settings
            .unacknowledged
            .saturating_sub(self.send.outstanding());
        tightest(&[
            (self.source_limit(), self.send.unsent()),
            (Limit::SendBuffer, unacknowledged),
            (self.window_limit(), self.send.window_room()),
            (congestion, self.cwnd_room()),
            (Limit::Pacing, self.pacing_room(env)),
            (Limit::Device, self.device_room()),
        ])
    }

    /// Returns the tightest of the bounds on the retransmission of `lost`. The congestion window,
    /// or PRR, allows the retransmission if there is room for a full segment or nothing is in
    /// flight.
    pub(super) fn repair_allowance(&self, lost: &Range<SeqNum>, env: &Env<'_>) -> Allowance {
        let edge = self.send.snd_una + self.send.snd_wnd;
        let nothing_in_flight = self.recovery.board().in_flight() == 0;
        let congestion = if nothing_in_flight || self.cwnd_room() >= self.mss(env) {
            u32::MAX
        } else {
            0
        };
        tightest(&[
            (self.window_limit(), lost.start.room_to(edge)),
            (Limit::Recovery, congestion),
            (Limit::Pacing, self.pacing_room(env)),
            (Limit::Device, self.device_room()),
        ])
    }

    /// Returns true if all bounds let a retransmission or new payload leave.
    pub(super) fn may_send_payload(&self, env: &Env<'_>) -> bool {
        match self.due_repair(env) {
            Some(lost) => !self.frto_awaits_ack() && self.repair_allowance(&lost, env).room > 0,
            None => self.send_allowance(env).room > 0,
        }
    }

    /// Returns the limit to which the time is charged while `limit` stops the sender: recovery, if
    /// an ACK is overdue that would change `limit`; otherwise `limit`. While an ACK is overdue, the
    /// sender waits for its retransmission timer, or for the ACK of a segment that a timer has
    /// sent.
    pub(super) fn charged_to(&self, limit: Limit) -> Limit {
        let is_overdue = self.ack_is_overdue || self.recovery.timeouts() > 0;
        if !is_overdue || self.recovery.board().in_flight() == 0 {
            return limit;
        }
        match limit {
            Limit::Nagle if self.settings.corked => limit,
            Limit::Application
            | Limit::SendBuffer
            | Limit::ReceiveWindow
            | Limit::CwndSlowStart
            | Limit::CwndSteady
            | Limit::CwndAfterLoss
            | Limit::CwndAfterMark
            | Limit::CwndAfterIdle
            | Limit::Nagle
            | Limit::Recovery
            | Limit::Memory
            | Limit::Closing => Limit::Recovery,
            Limit::ZeroWindow
            | Limit::Pacing
            | Limit::Device
            | Limit::Handshake
            | Limit::Processor => limit,
        }
    }

    /// Returns true if F-RTO retransmits nothing before the next ACK. F-RTO waits only while bytes
    /// are in flight, because otherwise no ACK can show if the timeout was spurious.
    pub(super) fn frto_awaits_ack(&self) -> bool {
        self.recovery.frto_awaits_new_data() && self.recovery.board().in_flight() > 0
    }

    /// Returns the lost range that goes before new payload: the lowest one. Returns `None`
    /// while F-RTO sends new data first.
    fn due_repair(&self, env: &Env<'_>) -> Option<Range<SeqNum>> {
        if self.recovery.frto_prefers_new_data() {
            return None;
        }
        self.recovery.next_lost(env.sent)
    }

    /// Returns the limit while the peer's window is full.
    fn window_limit(&self) -> Limit {
        if self.send.snd_wnd == 0 && self.recovery.board().in_flight() == 0 {
            Limit::ZeroWindow
        } else {
            Limit::ReceiveWindow
        }
    }

    /// Returns the limit of a sender that has sent everything written.
    pub(super) fn source_limit(&self) -> Limit {
        match self.send.blocked {
            _ if self.is_recovering() => Limit::Recovery,
            _ if self.send.fin_queued => Limit::Closing,
            Some(blocked) => blocked.by,
            None => Limit::Application,
        }
    }

    /// Returns the bytes that the congestion window, or PRR, lets leave.
    pub(super) fn cwnd_room(&self) -> u32 {
        let paced_by_prr =
            self.recovery.phase() == RecoveryPhase::Fast && !self.congestion.controls_recovery();
        let cwnd = if paced_by_prr {
            self.recovery.window()
        } else {
            self.congestion.cwnd()
        };
        cwnd.saturating_sub(self.recovery.board().in_flight())
    }

    /// Returns the bytes that the pacer lets leave now: unlimited, or none.
    fn pacing_room(&self, env: &Env<'_>) -> u32 {
        if self.pacer.may_send(env.now) {
            u32::MAX
        } else {
            0
        }
    }
}
