//! Tests of segments and connections.

use std::net::SocketAddr;

use fullpipe_wire::TcpFlags;

use super::{End, FlowKey, Segment};

#[test]
fn both_directions_of_a_connection_have_one_key() {
    let client: SocketAddr = "10.0.0.2:5001".parse().unwrap();
    let server: SocketAddr = "10.0.0.1:80".parse().unwrap();
    let (there, from_client) = FlowKey::of(client, server);
    let (back, from_server) = FlowKey::of(server, client);
    assert_eq!(there, back);
    assert_eq!((from_client, from_server), (End::B, End::A));
    assert_eq!(there.address(from_client), client);
    assert_eq!(there.to_string(), "10.0.0.1:80 - 10.0.0.2:5001");
}

#[test]
fn syn_and_fin_take_a_sequence_number_each() {
    let segment = Segment {
        seq: u32::MAX,
        flags: TcpFlags::SYN | TcpFlags::FIN,
        payload: 10,
        ..Segment::EMPTY
    };
    assert_eq!((segment.sequence_len(), segment.end_seq()), (12, 11));
    assert_eq!(segment.acknowledges(), None);
}
