//! Tests of the forwarder with programs in a network namespace whose whole traffic goes through a
//! TUN device. The forwarder carries this traffic through kernel sockets in another namespace.
//!
//! Rule: every test runs in a namespace of its own, in which its servers are, and makes a second
//! namespace for the clients. Both namespaces end with the test's process. Every wait has a limit.

#[path = "../../../host/tests/apart/mod.rs"]
mod apart;
mod echo;
mod example;
mod faults;
mod ground;
mod many_flows;
mod programs;
mod sockets;
