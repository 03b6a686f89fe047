//! Tests of fullpipe's DHCP client and resolver against dnsmasq, over a TAP device.
//!
//! Rule: every test runs in its own network namespace, which ends with its process, and has a time
//! limit. No test measures a time.

#[path = "../../../host/tests/apart/mod.rs"]
mod apart;
mod dhcp;
mod example;
mod names;
mod server;
