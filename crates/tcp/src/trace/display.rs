//! Texts of the trace's events, for people.
//!
//! Rule: a text is one short phrase with every value of the event. Values have the names and units
//! of the RFCs. Only a program that displays an event has code for these texts.

use core::fmt;

use fullpipe_wire::TcpFlags;

use super::{RecoveryEvent, TraceEvent};

impl fmt::Display for TraceEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Opened { passive, iss, irs } => match passive {
                true => write!(f, "accepted, iss {iss}, irs {irs}"),
                false => write!(f, "opened, iss {iss}"),
            },
            Self::State(state) => write!(f, "state {state}"),
            Self::SegmentIn {
                flags,
                seq,
                ack,
                window,
                len,
            }
            | Self::SegmentOut {
                flags,
                seq,
                ack,
                window,
                len,
            } => {
                let is_received = matches!(self, Self::SegmentIn { .. });
                segment(f, is_received, flags, [seq, ack, window, len])
            }
            Self::Sack { left, right } => write!(f, "SACK {left}:{right}"),
            Self::Retransmission { seq, len } => {
                write!(f, "retransmission, seq {seq}, length {len}")
            }
            Self::Limit(limit) => write!(f, "limited by {limit}"),
            Self::ReceiveLimit(limit) => write!(f, "receiver limited by {limit}"),
            Self::Window {
                cwnd,
                ssthresh,
                in_flight,
            } => write!(
                f,
                "cwnd {cwnd}, ssthresh {ssthresh}, in flight {in_flight} bytes"
            ),
            Self::Rtt {
                sample_us,
                srtt_us,
                rttvar_us,
                rto_us,
            } => write!(
                f,
                "RTT {sample_us} us, srtt {srtt_us} us, rttvar {rttvar_us} us, rto {rto_us} us"
            ),
            Self::Discard(reason) => write!(f, "segment discarded: {reason}"),
            Self::Timeout(count) => write!(f, "retransmission timeout {count} in a row"),
            Self::Recovery(event) => event.fmt(f),
            Self::WriterBlocked { asked, taken } => {
                write!(f, "writer blocked: {taken} of {asked} bytes taken")
            }
            Self::WriterResumed(room) => write!(f, "writer released: room for {room} bytes"),
            Self::MemoryPressure(wanted) => {
                write!(f, "packet memory is used up: {wanted} bytes were wanted")
            }
            Self::Pressure(level) => write!(f, "packet memory: {level}"),
            Self::Pool {
                holder,
                held,
                promised,
            } => write!(
                f,
                "packet memory of {holder}: {held} blocks held, {promised} reserved"
            ),
        }
    }
}

/// Writes a segment. The numbers are its sequence number, acknowledgment number, window and length.
fn segment(
    f: &mut fmt::Formatter<'_>,
    is_received: bool,
    flags: TcpFlags,
    [seq, ack, window, len]: [u32; 4],
) -> fmt::Result {
    let verb = if is_received { "received" } else { "sent" };
    write!(
        f,
        "{verb} {flags}, seq {seq}, ack {ack}, window {window}, length {len}"
    )
}

impl fmt::Display for RecoveryEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::FastRecovery => "fast recovery begins",
            Self::Recovered => "recovered",
            Self::Undone => "spurious recovery undone",
            Self::TailProbe => "tail loss probe",
            Self::MarkResponse => "congestion mark: congestion window reduced",
        })
    }
}
