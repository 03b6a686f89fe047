//! fullpipe lab.
