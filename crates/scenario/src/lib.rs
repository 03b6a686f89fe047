//! Describes a transfer with hosts, links and flows; changes settings by name; runs and measures
//! it.
//!
//! An [`Experiment`] is a TOML file that was read without a mistake. Its [`Row`]s are its
//! scenarios. Each row has a [`Setup`], which is everything that a run needs except its seed. A
//! [`Scene`] is the simulated network (world) of a setup and a seed. [`Scene::play`] runs it in
//! virtual time and returns a [`Played`]: the measured quantities and the time by limit.
//!
//! Rule: a setup and a seed are the complete input, so equal setups and seeds give equal results.
//! Nothing in this crate judges or explains a result, compares rows, or prints.
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use fullpipe_scenario::{Experiment, Scene, Setup, Shares, watch::Watch};
//!
//! let text = r#"
//! title = "A send buffer and a long path"
//! hosts.near = {}
//! hosts.far = {}
//! links.path = { between = ["near", "far"], rate = "100mbit", delay = "10ms" }
//! workload = { from = "near", to = "far", write = 16384, duration = "1s" }
//! rows = [{ label = "16 KB", set.near.tcp.send_buffer = "16K" }]
//! "#;
//! let experiment = Experiment::parse("buffer", "buffer.toml", text).expect("no mistake");
//! let mut setup = experiment.rows[0].setup.clone();
//! let goodput_mbps = |setup: &Setup| {
//!     let mut scene = Scene::new(setup, 1, false, Watch::NONE);
//!     let played = scene.play(&|_share| ControlFlow::Continue(()));
//!     let played = played.expect("every checker is content").expect("nothing breaks the run");
//!     assert!(Shares::of(played.sender.times()).share(fullpipe_tcp::Limit::SendBuffer) > 0.5);
//!     played.measured.goodput_mbps
//! };
//! let before = goodput_mbps(&setup);
//! setup.set("near.tcp.send_buffer", "32K").expect("a knob and a value");
//! assert!(goodput_mbps(&setup) > 1.5 * before);
//! ```
//!
//! # Modules
//!
//! | part | module |
//! | --- | --- |
//! | the file, its rows, every setting by name | [`experiment`], [`Mistake`], [`schema()`] |
//! | the first flow's path without traffic | [`path`], [`response`] |
//! | the world, its run and its end | [`scene`] |
//! | lost frames and full directions of links | [`path_account`] |
//! | the measured quantities, and the time by limit | [`Measured`], [`Times`], [`Shares`] |
//! | events, sockets and counters of a run | [`watch`] |
#![forbid(unsafe_code)]

mod climb;
mod coordinate;
pub mod document;
pub mod experiment;
pub mod measured;
mod mistake;
mod observer;
pub mod path;
pub mod path_account;
pub mod response;
pub mod scene;
mod schema;
mod shares;
mod template;
pub mod units;
pub mod watch;

pub use coordinate::Coordinate;
pub use document::hint;
pub use experiment::{Experiment, HostPlan, Row, Setup};
pub use measured::{
    FlowMeasured, Form, HostMeasured, Measured, Outcome, Quantity, Spread, Summary,
};
pub use mistake::Mistake;
pub use path_account::PathAccount;
pub use scene::{Played, Scene};
pub use schema::schema;
pub use shares::{Account, Limits, Shares, Times};
pub use template::template;
