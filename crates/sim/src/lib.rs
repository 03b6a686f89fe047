//! fullpipe sim.
