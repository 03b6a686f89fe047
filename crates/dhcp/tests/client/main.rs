//! The client against a small server, in virtual time.

mod hostile;
mod life;
mod server;
