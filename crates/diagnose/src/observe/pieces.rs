//! A wait between two sends of payload, its pieces, and a recovery.
//!
//! Rule: these are records only; `waits` fills them and decides what limited the sender.

use super::{episodes::Place, sender_events::Repair};

/// A piece of a wait, which ends with an ACK or with the next send.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    pub until: u64,
    pub flight: u64,
    pub room: Option<u64>,
    pub is_zero: bool,
    pub recovery: Option<Repair>,
    pub is_closing: bool,
    /// True if payload was acknowledged before this piece.
    pub was_acked: bool,
}

/// The repair of lost segments.
#[derive(Clone, Copy, Debug)]
pub struct Recovery {
    /// Position after the last byte in flight when the recovery began.
    pub point: u64,
    pub by: Repair,
    pub place: Place,
    pub repairs: u64,
    pub needless: u64,
    /// Number of timeouts since an ACK last acknowledged payload.
    pub in_a_row: u64,
}

/// The current wait.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wait {
    /// Time of the last send.
    pub since: u64,
    pub len: u64,
    pub had_push: bool,
    /// Time of the last ACK that acknowledged payload or moved the right edge of the window.
    pub freed_at: Option<u64>,
    pub flight_before_ack: u64,
    pub answered: bool,
}
