//! fullpipe on this machine: network devices of the kernel.

pub mod kernel;
