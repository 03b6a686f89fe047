//! A connection with work to do does not stay silent longer than its timers
//! allow.
//!
//! Rule: whatever holds text back, either a timer runs or somebody else must
//! move: the application, or the device. A sender that only its timers can move
//! is heard at least once in the longest of them.

use fullpipe_pool::{Duration, Instant};
use fullpipe_tcp::{Info, TcpConfig};

use super::Violation;

/// What is known of a connection from outside.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionView {
    /// The time.
    pub now: Instant,
    /// When its host last sent something for it.
    pub spoke: Instant,
    /// When its stack wants to be woken.
    pub timer: Option<Instant>,
    /// Its device takes nothing, or holds what it waits to be told of: the link
    /// moves next.
    pub device_moves: bool,
}

/// Slack for what is not the connection's own timer: resolving a neighbour.
const SLACK: Duration = Duration::from_secs(5);

/// Looks at an established connection.
///
/// # Errors
/// When it is silent although it has work to do.
pub fn check(info: &Info, config: &TcpConfig, seen: &ConnectionView) -> Result<(), Violation> {
    if info.send_queue == 0 || seen.device_moves || info.state == fullpipe_tcp::TcpState::Closed {
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
    // A cork without a time limit is the application's; it needs no timer, but
    // what has been sent under it does.
    let waits = info.send_queue == info.unsent;
    if waits && info.tuning.corked && config.cork_timeout.is_zero() {
        return Ok(());
    }
    if seen.timer.is_none() {
        return Err(format!(
            "there is work to do and no timer runs ({})",
            holds()
        ));
    }
    let longest = config
        .rto_max
        .max(config.cork_timeout)
        .max(config.sws_override);
    let silent = seen.now.since(seen.spoke);
    if silent > longest + SLACK {
        return Err(format!("silent for {silent} with work to do ({})", holds()));
    }
    Ok(())
}
