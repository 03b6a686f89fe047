//! Tests of the transition matrix.

use alloc::string::String;
use core::fmt::Write;

use super::*;

/// Compares the whole matrix, so that a review shows each changed entry.
#[test]
fn the_matrix_is_that_of_rfc_9293() {
    let triggers = [
        SynArrived,
        HandshakeDone,
        Close,
        FinArrived,
        FinAcked,
        Reset,
        TimeOver,
    ];
    let mut matrix = String::new();
    for state in TcpState::ALL {
        write!(matrix, "{}:", state.name()).unwrap();
        for trigger in triggers {
            if let Ok(next) = state.next(trigger) {
                write!(matrix, " {trigger:?}>{}", next.name()).unwrap();
            }
        }
        matrix.push('\n');
    }
    assert_eq!(
        matrix,
        "\
SYN-SENT: SynArrived>SYN-RECEIVED HandshakeDone>ESTABLISHED Close>CLOSED Reset>CLOSED
SYN-RECEIVED: HandshakeDone>ESTABLISHED Close>FIN-WAIT-1 FinArrived>CLOSE-WAIT Reset>CLOSED
ESTABLISHED: Close>FIN-WAIT-1 FinArrived>CLOSE-WAIT Reset>CLOSED
FIN-WAIT-1: FinArrived>CLOSING FinAcked>FIN-WAIT-2 Reset>CLOSED
FIN-WAIT-2: FinArrived>TIME-WAIT Reset>CLOSED
CLOSE-WAIT: Close>LAST-ACK Reset>CLOSED
CLOSING: FinAcked>TIME-WAIT Reset>CLOSED
LAST-ACK: FinAcked>CLOSED Reset>CLOSED
TIME-WAIT: Reset>CLOSED TimeOver>CLOSED
CLOSED: Reset>CLOSED
"
    );
}
