//! Tests of the program `fullpipe forward`: a client's whole traffic goes through its TUN device.
//!
//! Rule: tests that need root are ignored. They run in their own network namespace, in which the
//! targets and the proxies are, and make a second one for the clients. Every wait has a limit.

#[path = "../../../host/tests/apart/mod.rs"]
mod apart;
mod carried;
mod echo;
mod ground;
mod privileges;
mod proxy;
mod reports;
