//! Rows of an experiment on hosts of this machine's kernel, in real time.
//!
//! A row is one scenario of an experiment file. Each host is a network namespace with its own
//! sysctls and a TAP device. A link of the simulator, run in real time (`fullpipe_perf::live`),
//! connects the devices. The applications use real sockets with the row's options, and write and
//! read as the row's flows specify. [`run_row`] returns goodput, duration, and two accounts (time
//! by limit) of the sender: one from what the kernel reports about the sender's sockets, one from a
//! capture at the sender's host.
//!
//! | part | module |
//! | --- | --- |
//! | settings that the kernel has, and those that it lacks | `plan`, `settings` |
//! | namespaces, devices, sysctls | `hosts` |
//! | sockets and applications | `sockets`, `traffic` |
//! | accounts while the row runs | `follow`, `recorded` |
//! | advice applied to the hosts, and the transfer again | [`what_if`] |
//! | captures at both ends of the link, for the judge of captures | `taps` |
//! | transfers between fullpipe's stack and the kernel, and accounts from both ends | [`views`] |
//!
//! Rule: everything belongs to this process: namespaces have no name, devices vanish with their
//! descriptors, and no setting of the machine itself is changed. The kernel therefore removes
//! everything when the process ends, even if it crashes.
#![forbid(unsafe_code)]

mod follow;
mod hosts;
mod plan;
mod recorded;
mod run;
mod settings;
mod sockets;
mod taps;
mod traffic;
pub mod views;
pub mod what_if;

#[cfg(test)]
mod tests;

pub use hosts::check_privileges;
pub use plan::KernelPlan;
pub use run::{KernelError, KernelOptions, kernel_release, run_row};
pub use taps::captured_at_both_ends;
