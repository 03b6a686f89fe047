//! Tests of the client with a small server, in virtual time.

mod hostile;
mod life;
mod server;
