//! Checks that a connection with work to do is not silent longer than its timers
//! allow.
//!
//! Rule: while payload waits, either a timer runs, or the application or the device must act. If
//! only a sender's timers can wake the sender, the sender hands a segment to the device within the
//! longest of the timers' timeouts. This segment may then wait in the device behind segments of
//! other connections.

use fullpipe_pool::{Duration, Instant};
use fullpipe_tcp::{Info, TcpConfig};

use super::Violation;

/// The observable state of a connection.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionView {
    /// The time.
    pub now: Instant,
    /// Time from which the connection's longest timer may run. This is the time of the latest of
    /// four events: the stack made a segment, the device sent a segment, the application wrote,
    /// or an ACK of new payload arrived, which restarts the retransmission timer. RFC 6298 §5.3.
    pub waits_since: Instant,
    /// Time at which the stack wants to be woken.
    pub timer: Option<Instant>,
    /// The host's processor is working; when it is done, the host may send.
    pub is_busy: bool,
    /// The host's device must act next: it is full, or the stack waits until the device has sent
    /// frames.
    pub device_moves: bool,
}

/// Tolerance for address resolution, which has its own timers.
const SLACK: Duration = Duration::from_secs(5);

/// Checks an established connection.
///
/// # Errors
/// Fails if the connection has work to do and is silent for longer than its timers allow.
pub fn check(info: &Info, config: &TcpConfig, seen: &ConnectionView) -> Result<(), Violation> {
    let others_act = seen.device_moves || seen.is_busy;
    if info.send_queue == 0 || others_act || info.state == fullpipe_tcp::TcpState::Closed {
        return Ok(());
    }
    let holds = || {
        format!(
            "{} bytes unsent, {} unacknowledged, snd_wnd {}, limit {}",
            info.unsent,
            info.send_queue - info.unsent,
            info.snd_wnd,
            info.limit.current().name()
        )
    };
    // A cork without a time limit is the application's decision, so no timer is needed while only
    // unsent payload waits. Payload that was sent while corked needs a timer.
    let waits = info.send_queue == info.unsent;
    if waits && info.tuning.corked && config.cork_timeout.is_zero() {
        return Ok(());
    }
    if seen.timer.is_none() {
        return Err(format!(
            "payload is unsent or unacknowledged, but no timer runs ({})",
            holds()
        ));
    }
    let longest = config
        .rto_max
        .max(config.cork_timeout)
        .max(config.sws_override);
    let silent = seen.now.since(seen.waits_since);
    if silent > longest + SLACK {
        return Err(format!(
            "nothing was sent for {silent}, although payload is unsent or unacknowledged ({})",
            holds()
        ));
    }
    Ok(())
}
