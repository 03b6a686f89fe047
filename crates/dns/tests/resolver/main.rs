//! Tests of the resolver and the connector, in virtual time.

mod connector;
mod hostile;
mod lookup;
mod server;
