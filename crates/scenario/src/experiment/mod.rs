//! An experiment: hosts, switches, links, flows, and rows. A row is a scenario of the experiment
//! with changed settings.
//!
//! Rule: an [`Experiment`] is valid, because its reader (`parse`) refuses every mistake.

mod congestion;
mod cpu;
mod datagrams;
mod device;
mod endless;
mod flow;
mod kernel;
mod link;
mod model;
mod origins;
mod other_names;
mod parse;
mod published;
mod relief;
mod setting;
mod setup;

#[cfg(test)]
mod tests;

pub use congestion::OutsideCongestion;
pub use cpu::{CPU_FIELDS, CpuField};
pub use flow::{FLOW_FIELDS, FlowField, FlowPlan, LowWater, Stop};
pub use flow::{omitted_until, with_bytes};
pub use kernel::{GSO_MAX_SEGS, HostStack, STACK};
pub use link::{LINK_FIELDS, LinkField, LinkPlan, Place};
pub use model::title;
pub use model::{Experiment, Row};
pub use origins::{Chosen, Fitted, Implied, OUTCOME, Origins, OwnSetting, RowFigure};
pub use published::{Peer, Published};
pub use published::{is_published, peers_with};
pub use relief::{RELIEFS, Relief, ReliefValues, is_policed};
pub use setting::SettingError;
pub use setup::{HostPlan, Setup};

pub use device::DEVICE_FIELDS;
pub use other_names::{OTHER_NAMES, OtherName, of_preset as other_names};
pub use parse::{CHOSEN_KEYS, FITTED_KEYS, HOST_KEYS, IMPLIED_KEYS, ROW_KEYS, TOP_KEYS};
