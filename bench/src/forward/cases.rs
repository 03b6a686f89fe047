//! The cases of the comparison of forwarders.
//!
//! Rule: a case is a row of [`ForwardCase::plan`].

use clap::ValueEnum;

use super::network::Loss;

/// Direction of the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the server.
    Up,
    /// From the server to the client.
    Down,
}

/// A case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ForwardCase {
    /// One flow to the server
    #[value(name = "up-1")]
    Up1,
    /// One flow from the server
    #[value(name = "down-1")]
    Down1,
    /// 64 flows to the server
    #[value(name = "up-64")]
    Up64,
    /// 64 flows from the server
    #[value(name = "down-64")]
    Down64,
    /// One flow to the server; the lossy link is between the forwarder and the server
    #[value(name = "up-far-loss")]
    UpFarLoss,
    /// One flow from the server; the lossy link is between the forwarder and the server
    #[value(name = "down-far-loss")]
    DownFarLoss,
    /// One flow to the server; the lossy link is between the client and the TUN device
    #[value(name = "up-near-loss")]
    UpNearLoss,
    /// One flow from the server; the lossy link is between the client and the TUN device
    #[value(name = "down-near-loss")]
    DownNearLoss,
    /// Memory with 1,000 open flows
    #[value(name = "open-1000")]
    Open1000,
}

/// The flows of a case.
pub struct Plan {
    /// Number of flows at the same time.
    pub flows: u64,
    /// Direction of the payload.
    pub direction: Direction,
    /// Payload of all flows together, in bytes.
    pub bytes: u64,
    /// Place of the lossy link.
    pub loss: Loss,
}

impl ForwardCase {
    /// Name in tables and on the command line.
    pub fn name(self) -> String {
        let value = self.to_possible_value().expect("no case is hidden");
        value.get_name().to_owned()
    }

    /// Returns the flows of the case. The flows of [`Self::Open1000`] carry 1 KiB in each direction
    /// and stay open.
    pub const fn plan(self) -> Plan {
        use Direction::{Down, Up};
        let (flows, direction, bytes, loss) = match self {
            Self::Up1 => (1, Up, 512 << 20, Loss::Nowhere),
            Self::Down1 => (1, Down, 512 << 20, Loss::Nowhere),
            Self::Up64 => (64, Up, 512 << 20, Loss::Nowhere),
            Self::Down64 => (64, Down, 512 << 20, Loss::Nowhere),
            Self::UpFarLoss => (1, Up, 16 << 20, Loss::Far),
            Self::DownFarLoss => (1, Down, 16 << 20, Loss::Far),
            Self::UpNearLoss => (1, Up, 16 << 20, Loss::Near),
            Self::DownNearLoss => (1, Down, 16 << 20, Loss::Near),
            Self::Open1000 => (1_000, Up, 1_000 << 10, Loss::Nowhere),
        };
        Plan {
            flows,
            direction,
            bytes,
            loss,
        }
    }
}
