//! The account of the path: frames, losses, busy shares and queue delays of each link and
//! direction, and the losses at each host.
//!
//! Rule: every number is a counter of a link or of a host's stack. Counts begin at the start of the
//! run. Busy times exclude the beginning of the run that the setting `omit` excludes from the
//! results. Over several seeds, counts and times are added, and the longest wait of any seed is
//! kept.

use std::cmp::Reverse;

use fullpipe::counters::{Discard, DiscardReason};
use fullpipe_pool::Duration;
use fullpipe_sim::{
    HostId, World,
    link::{Direction, FrameLoss, LinkCounters},
};
use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::{experiment::Setup, units::grouped};

#[cfg(test)]
mod tests;

/// The account of every link and host, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PathAccount {
    /// The links.
    pub links: Vec<LinkAccount>,
    /// The hosts.
    pub hosts: Vec<HostAccount>,
}

/// Account of both directions of a link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkAccount {
    /// Name in the file.
    pub link: String,
    /// True if both directions share one medium, as on a radio.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
    /// Direction from the first end of `between` (the link's two ends in the file) to the second.
    pub forward: DirectionAccount,
    /// Direction from the second end to the first.
    pub back: DirectionAccount,
}

/// Account of one direction of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DirectionAccount {
    /// Counts of frames, and the frames' waiting times in the queue.
    pub counters: LinkCounters,
    /// Time for which the direction's frames used the wire or the air, without the excluded
    /// beginning.
    pub busy: Duration,
    /// Time for which the wire was idle while frames waited for tokens of the token bucket,
    /// without the excluded beginning.
    pub shaped: Duration,
    /// Time in which any connection was active, without the excluded beginning.
    pub active: Duration,
}

impl PathAccount {
    /// Returns the directions of `route`, from first to last.
    /// [`Setup::route`](crate::Setup::route) returns the route of a flow.
    pub fn along<'a>(
        &'a self,
        route: &'a [(usize, Direction)],
    ) -> impl Iterator<Item = (&'a LinkAccount, &'a DirectionAccount)> {
        route.iter().map(|&(number, direction)| {
            let link = &self.links[number];
            (link, link.direction(direction))
        })
    }

    /// Returns the directions that acknowledgments take, from the receiver to the sender: the
    /// opposite directions of `route`.
    pub fn against<'a>(
        &'a self,
        route: &'a [(usize, Direction)],
    ) -> impl Iterator<Item = (&'a LinkAccount, &'a DirectionAccount)> {
        route.iter().rev().map(|&(number, direction)| {
            let link = &self.links[number];
            (link, link.direction(direction.reverse()))
        })
    }

    /// Returns each place and reason with lost frames, the largest number of frames first.
    pub fn losses(&self) -> Vec<PathLoss<'_>> {
        let mut losses = Vec::new();
        for link in &self.links {
            for direction in Direction::ALL {
                let counts = link.direction(direction).counters.lost;
                losses.extend(
                    FrameLoss::ALL
                        .iter()
                        .map(move |&reason| (counts.frames(reason), reason))
                        .map(|(frames, reason)| PathLoss {
                            frames,
                            place: LossPlace::Link {
                                link: &link.link,
                                direction,
                                reason,
                            },
                        }),
                );
            }
        }
        for host in &self.hosts {
            losses.extend(host.losses().map(|(reason, frames)| PathLoss {
                frames,
                place: LossPlace::Host {
                    host: &host.host,
                    reason,
                },
            }));
        }
        losses.retain(|loss| loss.frames > 0);
        losses.sort_by_key(|loss| Reverse(loss.frames));
        losses
    }

    /// Adds the account of another seed.
    pub(crate) fn add(&mut self, other: &Self) {
        for (own, more) in self.links.iter_mut().zip(&other.links) {
            own.forward.add(&more.forward);
            own.back.add(&more.back);
        }
        for (own, more) in self.hosts.iter_mut().zip(&other.hosts) {
            let counts = own.lost.iter_mut().zip(more.lost);
            counts.for_each(|(own, more)| *own += more);
        }
    }
}

impl LinkAccount {
    /// Returns the account of `direction`.
    pub const fn direction(&self, direction: Direction) -> &DirectionAccount {
        match direction {
            Direction::Forward => &self.forward,
            Direction::Back => &self.back,
        }
    }

    /// Share of the active time for which the link was in use: by the busier direction, or by both
    /// directions together if they share a medium.
    pub fn busy_share(&self) -> f64 {
        let [forward, back] = [&self.forward, &self.back].map(DirectionAccount::busy_share);
        match self.shared {
            true => (forward + back).min(1.0),
            false => forward.max(back),
        }
    }
}

impl DirectionAccount {
    /// Share of the active time for which the direction's frames used the wire or the air, from 0
    /// to 1.
    pub fn busy_share(&self) -> f64 {
        self.share(self.busy)
    }

    /// Share of the active time for which the direction had no capacity for a further frame,
    /// because the wire was in use or frames waited for tokens. From 0 to 1.
    pub fn full_share(&self) -> f64 {
        self.share(self.busy + self.shaped)
    }

    fn share(&self, time: Duration) -> f64 {
        let active = self.active.as_secs_f64();
        if active > 0.0 {
            (time.as_secs_f64() / active).min(1.0)
        } else {
            0.0
        }
    }

    /// Share of the offered frames that the link lost, from 0 to 1.
    pub fn lost_share(&self) -> f64 {
        self.counters.lost.all() as f64 / self.counters.offered.max(1) as f64
    }

    fn add(&mut self, other: &Self) {
        self.counters.add(&other.counters);
        self.busy += other.busy;
        self.shaped += other.shaped;
        self.active += other.active;
    }
}

/// Number of frames that were lost at one place for one reason.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathLoss<'a> {
    /// Number of frames, segments or packets.
    pub frames: u64,
    /// The place and the reason.
    pub place: LossPlace<'a>,
}

/// A place at which frames were lost, and the reason.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LossPlace<'a> {
    /// One direction of a link.
    Link {
        /// The link's name.
        link: &'a str,
        /// The direction.
        direction: Direction,
        /// The reason.
        reason: FrameLoss,
    },
    /// A host.
    Host {
        /// The host's name.
        host: &'a str,
        /// The reason.
        reason: HostLoss,
    },
}

impl PathLoss<'_> {
    /// Returns "42 frames were lost in the full queue of link `path` from `near` to `far`". `setup`
    /// has the names of the link's ends.
    pub fn words(&self, setup: &Setup) -> String {
        let were = if self.frames == 1 { " was" } else { "s were" };
        let lost = format!("{} frame{were} lost", grouped(self.frames));
        match self.place {
            LossPlace::Link {
                link,
                direction,
                reason,
            } => {
                let known = setup.links.iter().find(|known| known.name == link);
                let ends = known.map_or_else(String::new, |known| {
                    let ends = [direction.index(), direction.reverse().index()];
                    let [from, to] = ends.map(|end| setup.place_name(known.between[end]));
                    format!(" from `{from}` to `{to}`")
                });
                format!("{lost} {} link `{link}`{ends}", reason.words())
            }
            LossPlace::Host { host, reason } => format!("{lost} {} `{host}`", reason.words()),
        }
    }
}

/// Declares [`HostLoss`] from its table.
macro_rules! host_losses {
    ($( $(#[doc = $doc:literal])+ $reason:ident = $name:literal, $words:literal, $count:expr; )+) => {
        /// Reason that a host lost a frame, a packet or a segment.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum HostLoss {
            $( $(#[doc = $doc])+ $reason, )+
        }

        impl HostLoss {
            /// Every reason, in declaration order.
            pub const ALL: &'static [Self] = &[$( Self::$reason, )+];

            /// Name in JSON.
            pub const fn name(self) -> &'static str {
                match self {
                    $( Self::$reason => $name, )+
                }
            }

            /// Words between "42 frames were lost" and the host's name.
            pub const fn words(self) -> &'static str {
                match self {
                    $( Self::$reason => $words, )+
                }
            }

            /// Returns the host's count so far.
            fn count(self, world: &World, host: HostId) -> u64 {
                let count: fn(&World, HostId) -> u64 = match self {
                    $( Self::$reason => $count, )+
                };
                count(world, host)
            }
        }
    };
}

host_losses! {
    /// The receive ring was full.
    ReceiveRing = "receive_ring", "in the receive ring of", |world, host| world.ring_drops(host);
    /// A checksum was wrong, a header was malformed, or a packet was shorter than its header says.
    Corruption = "corruption", "to corruption and discarded by", |world, host| {
        discarded(world, host, &DAMAGED)
    };
    /// Fragments that were discarded, and datagrams with missing fragments.
    Fragments = "fragments", "in the reassembly of fragments by", |world, host| {
        world.stack(host).counters().mib.ip_reasm_fails
    };
    /// The connection already had `tcp.holes` out-of-order pieces.
    Holes = "holes", "in the full table of holes of", |world, host| {
        segments(world, host, DiscardReason::TooManyHoles)
    };
    /// The pool had no free range (`pool.ranges`) for out-of-order payload.
    Ranges = "ranges", "in the full table of ranges of", |world, host| {
        segments(world, host, DiscardReason::NoRange)
    };
    /// The connection already had `tcp.out_of_order` bytes of out-of-order payload.
    OutOfOrder = "out_of_order", "in the full reassembly queue of", |world, host| {
        segments(world, host, DiscardReason::OutOfOrderFull)
    };
    /// Packet memory had no free block for a segment, a datagram or a new connection.
    NoMemory = "memory", "in the full packet memory of", |world, host| {
        segments(world, host, DiscardReason::NoMemory)
            + discarded(world, host, &[Discard::UdpNoMemory, Discard::TcpNoMemory])
    };
    /// The receive queue of a UDP socket was full.
    ReceiveQueue = "receive_queue", "in the full receive queue of", |world, host| {
        discarded(world, host, &[Discard::UdpQueueFull])
    };
    /// A SYN or the last ACK of a handshake arrived, and a table or the backlog was full.
    Backlog = "backlog", "in the full backlog of", |world, host| {
        discarded(world, host, &[
            Discard::TcpBacklogFull,
            Discard::TcpHalfOpenFull,
            Discard::TcpConnectionsFull,
        ])
    };
    /// A packet was discarded while it waited for a neighbour's address.
    Neighbour = "neighbour", "before an answer to ARP, at", |world, host| {
        discarded(world, host, &[
            Discard::ArpWaitQueueFull,
            Discard::ArpWaitNoMemory,
            Discard::ArpUnresolved,
            Discard::NeighbourNoRoom,
            Discard::NeighbourUnreachable,
        ])
    };
}

/// Reasons to discard a packet that occur only if the packet was damaged after it had been sent.
const DAMAGED: [Discard; 11] = [
    Discard::IpTruncated,
    Discard::IpBadVersion,
    Discard::IpBadHeaderLength,
    Discard::IpBadLength,
    Discard::IpBadChecksum,
    Discard::IcmpTruncated,
    Discard::IcmpBadChecksum,
    Discard::UdpMalformed,
    Discard::UdpBadChecksum,
    Discard::TcpMalformed,
    Discard::TcpBadChecksum,
];

fn discarded(world: &World, host: HostId, reasons: &[Discard]) -> u64 {
    let counters = world.stack(host).counters();
    reasons
        .iter()
        .map(|&reason| counters.discarded(reason))
        .sum()
}

fn segments(world: &World, host: HostId, reason: DiscardReason) -> u64 {
    world.stack(host).tcp_discards().get(reason)
}

/// Losses at one host.
#[derive(Clone, Debug, PartialEq)]
pub struct HostAccount {
    /// Name in the file.
    pub host: String,
    lost: [u64; HostLoss::ALL.len()],
}

impl HostAccount {
    /// Returns the counts of `host` so far.
    pub(crate) fn of(name: &str, world: &World, host: HostId) -> Self {
        let mut lost = [0; HostLoss::ALL.len()];
        for &reason in HostLoss::ALL {
            lost[reason as usize] = reason.count(world, host);
        }
        Self {
            host: name.to_string(),
            lost,
        }
    }

    /// Returns the number of frames, packets or segments lost for `reason`.
    pub const fn lost(&self, reason: HostLoss) -> u64 {
        self.lost[reason as usize]
    }

    /// Returns each reason with its count, in declaration order.
    pub fn losses(&self) -> impl Iterator<Item = (HostLoss, u64)> + '_ {
        HostLoss::ALL
            .iter()
            .map(|&reason| (reason, self.lost(reason)))
    }
}

impl Serialize for HostAccount {
    /// Writes the host's name, and the reasons whose counts are not 0.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Lost<'a>(&'a HostAccount);
        impl Serialize for Lost<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let some = self.0.losses().filter(|(_, count)| *count > 0);
                serializer.collect_map(some.map(|(reason, count)| (reason.name(), count)))
            }
        }
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("host", &self.host)?;
        map.serialize_entry("lost", &Lost(self))?;
        map.end()
    }
}

/// Frames lost for one reason, in JSON.
#[derive(Serialize)]
struct LostInJson {
    frames: u64,
    bytes: u64,
}

impl Serialize for DirectionAccount {
    /// Writes counts, shares, and times in milliseconds. Counts of rare events are omitted if they
    /// are 0.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Lost<'a>(&'a LinkCounters);
        impl Serialize for Lost<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let some = self.0.lost.iter().filter(|(_, frames, _)| *frames > 0);
                serializer.collect_map(
                    some.map(|(reason, frames, bytes)| {
                        (reason.name(), LostInJson { frames, bytes })
                    }),
                )
            }
        }
        let counters = &self.counters;
        let mut map = serializer.serialize_map(None)?;
        for (key, count) in [
            ("offered_frames", counters.offered),
            ("offered_bytes", counters.offered_bytes),
            ("carried_frames", counters.carried),
            ("carried_bytes", counters.carried_bytes),
            ("delivered_frames", counters.delivered),
            ("delivered_bytes", counters.delivered_bytes),
        ] {
            map.serialize_entry(key, &count)?;
        }
        map.serialize_entry("lost", &Lost(counters))?;
        for (key, count) in [
            ("marked_frames", counters.marked),
            ("overtaken_frames", counters.overtaken),
            ("duplicated_frames", counters.duplicated),
            ("corrupted_frames", counters.corrupted),
            ("hop_messages", counters.hop_messages),
        ] {
            if count > 0 {
                map.serialize_entry(key, &count)?;
            }
        }
        map.serialize_entry("busy_share", &millionths(self.busy_share()))?;
        if !self.shaped.is_zero() {
            map.serialize_entry("full_share", &millionths(self.full_share()))?;
        }
        map.serialize_entry("mean_queue_ms", &millis(counters.mean_wait()))?;
        map.serialize_entry("longest_queue_ms", &millis(counters.longest_wait))?;
        map.serialize_entry("longest_queue_frames", &counters.longest_queue)?;
        map.serialize_entry("longest_queue_bytes", &counters.longest_queue_bytes)?;
        map.end()
    }
}

fn millis(time: Duration) -> f64 {
    millionths(time.as_secs_f64() * 1e3)
}

/// Rounds `value` to six decimals.
fn millionths(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}
