//! The rate that each possible limit of datagrams allows.
//!
//! Rule: each bound follows from the setup alone, as for streams (`bounds`): the sender's
//! rate, its processor, the links and the receiver's processor. Queues are not bounds:
//! they lose bursts and do not lower the rate.

use fullpipe_scenario::{
    experiment::{Setup, Stop},
    path,
};
use fullpipe_sim::{Pace, link::ETHERNET_HEADER_LEN};
use fullpipe_wire::{Ipv4Header, UdpHeader};

use super::{bounds::Bound, cause::Cause, predict::Predicted};

/// Payload of a fragment begins at a multiple of this many bytes.
const PIECE: usize = 8;

/// Time that one datagram takes, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// The sender's processor.
    pub sender_s: f64,
    /// The slowest link.
    pub link_s: f64,
    /// The receiver's processor.
    pub receiver_s: f64,
}

impl Costs {
    /// Time that a datagram of the first flow takes.
    pub fn of(setup: &Setup) -> Self {
        let flow = setup.flow();
        let (sender, receiver) = (&setup.hosts[flow.from].cpu, &setup.hosts[flow.to].cpu);
        let frames = frames(setup);
        let sum = |cost: &dyn Fn(usize) -> f64| frames.iter().map(|len| cost(*len)).sum::<f64>();
        Self {
            sender_s: sum(&|len| sender.send.of(len).as_secs_f64()) + sender.call.as_secs_f64(),
            link_s: path::frames_s(setup, flow.from, flow.to, &frames),
            receiver_s: sum(&|len| receiver.receive.of(len).as_secs_f64())
                + receiver.call.as_secs_f64(),
        }
    }
}

/// The lengths of the frames that a datagram of the first flow is cut into.
pub fn frames(setup: &Setup) -> Vec<usize> {
    let headers = ETHERNET_HEADER_LEN + Ipv4Header::LEN;
    let room = (path::smallest_mtu(setup) as usize).saturating_sub(Ipv4Header::LEN);
    let mut left = setup.flow().write as usize + UdpHeader::LEN;
    let mut frames = Vec::new();
    if room >= PIECE {
        while left > room {
            let piece = room / PIECE * PIECE;
            frames.push(headers + piece);
            left -= piece;
        }
    }
    frames.push(headers + left);
    frames
}

/// All bounds on the datagrams of the first flow except queues.
pub fn all(setup: &Setup) -> Vec<Bound> {
    let bits = f64::from(setup.flow().write) * 8.0;
    let costs = Costs::of(setup);
    let every = |cause, seconds: f64| Bound {
        cause,
        bps: if seconds > 0.0 {
            bits / seconds
        } else {
            f64::INFINITY
        },
    };
    let rate = match setup.flow().datagram_plan().pace {
        Pace::Rate { bps, .. } => bps as f64,
        Pace::Unpaced => f64::INFINITY,
    };
    vec![
        Bound {
            cause: Cause::Application,
            bps: rate,
        },
        every(Cause::Path, costs.link_s),
        every(Cause::Cpu, costs.sender_s.max(costs.receiver_s)),
    ]
}

/// The predicted result of the first flow if `bound` is the tightest and no queue
/// overflows.
pub fn under(setup: &Setup, bound: Bound) -> Predicted {
    let flow = setup.flow();
    let loss = path::Path::of(setup, flow.write.into()).loss;
    let mbps = bound.bps * (1.0 - loss) / 1e6;
    let elapsed_s = match flow.stop {
        Stop::After(length) => length.as_secs_f64(),
        Stop::Bytes(bytes) => {
            let whole = bytes.next_multiple_of(flow.write.into()) as f64;
            whole * 8.0 / bound.bps
        }
    };
    Predicted::of(mbps, elapsed_s)
}
