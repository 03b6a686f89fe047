//! The setting that bounds the goodput, for graphs.
//!
//! Rule: if the setting bounds the bytes in flight, the graph shows that number of bytes.

use fullpipe_scenario::{Played, Setup, experiment::HostPlan};

use crate::{
    advice::{first_changed, present_setting},
    cause::Cause,
    lever::{Lever, Place},
};

/// A setting of a host that bounds the flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The setting by its name in its host's system, with its value.
    pub setting: String,
    /// The host with this setting.
    pub host: String,
    /// Payload in flight that the setting allows, in bytes.
    pub bytes: Option<u64>,
}

/// Returns the setting that `lever`, a change that could be tried, would change. Returns `None` if
/// the lever does not change a host.
pub fn of(setup: &Setup, played: &Played, lever: &Lever) -> Option<Bound> {
    let Place::Hosts(places) = &lever.place else {
        return None;
    };
    let host = first_changed(setup, places, lever);
    let setting = present_setting(host, lever.field);
    Some(Bound {
        setting: format!("{} = {}", setting.name, setting.present),
        host: host.name.clone(),
        bytes: match lever.cause {
            Cause::SEND_BUFFER | Cause::SEND_BUFFER_LIMIT => Some(sending(host)),
            Cause::UNACKNOWLEDGED => Some(host.config.tcp.unacknowledged.into()),
            Cause::RECEIVE_WINDOW
            | Cause::RECEIVE_BUFFER_LIMIT
            | Cause::PEER_MEMORY
            | Cause::INITIAL_RECEIVE_WINDOW => Some(played.peer_window),
            _ => None,
        },
    })
}

/// Returns the payload that fits into the send buffer of `host`, in bytes.
fn sending(host: &HostPlan) -> u64 {
    let tcp = &host.config.tcp;
    let size = match tcp.send_buffer_max > tcp.send_buffer {
        true => tcp.send_buffer_max,
        false => tcp.send_buffer.min(tcp.send_buffer_limit),
    };
    u64::from(size) * u64::from(tcp.send_payload_share) / 100
}
