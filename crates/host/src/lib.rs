//! fullpipe host.
