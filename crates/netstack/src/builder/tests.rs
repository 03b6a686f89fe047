//! Tests of the settings of a netstack.

use fullpipe_pool::Duration;
use fullpipe_sim::{LinkModel, MIB, Seed, World};

use super::*;

/// A flow to a client behind a lossy link of 100 Mbit/s and 40 ms takes most of the link: the
/// send buffer grows, and the congestion control tells random losses from a full link.
#[test]
fn a_flow_is_fast_over_a_lossy_link_to_the_client() {
    let config = NetstackBuilder::default().config().expect("the defaults");
    let mut client = Config::default();
    client.tcp.receive_buffer_max = 4 * MIB as u32;
    let mut world = World::new(Seed(1));
    let link = world.link(LinkModel {
        rate_bps: 100_000_000,
        delay_us: 20_000,
        loss: 0.01,
        ..LinkModel::ideal()
    });
    let netstack = world.host(&link, config);
    let client = world.host(&link, client);
    let flow = world.send(netstack, client, 16 * MIB);
    world.run_for(Duration::from_secs(3));
    let read = world.facts(flow).server.read;
    assert_eq!(read, 16 * MIB);
}
