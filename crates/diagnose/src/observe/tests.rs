//! Connections written segment by segment.

use fullpipe_tcp::Limit;
use fullpipe_wire::TcpFlags;

use super::{ConnectionObserver, SeenLimit};
use crate::capture::{End, Segment};

#[test]
fn a_lost_syn_makes_a_handshake_of_the_whole_lifetime() {
    let mut connection = ConnectionObserver::new();
    for at_ns in [0, 1_000_000_000, 3_000_000_000] {
        connection.on_segment(&Segment {
            at_ns,
            flags: TcpFlags::SYN,
            ..Segment::EMPTY
        });
    }
    let observed = connection.finish(7_000_000_000);
    assert_eq!(observed.lifetime_ns, 7_000_000_000);
    assert_eq!(observed.client, Some(End::A));
    let (limit, share, _) = observed.main_limit().expect("time has passed");
    assert_eq!(limit, SeenLimit::Known(Limit::Handshake));
    assert_eq!(share, 1.0);
    assert_eq!(observed.episodes[0].count, 2);
}
