//! Compares the account (time by limit) of a capture with the account of the kernel's socket.
//!
//! Rule: the accounts are compared over the time that both cover, by the host's clock. Limits
//! that differ only in the cause of the congestion window's size count as equal, because the
//! kernel does not report the cause.

use fullpipe_tcp::Limit;
use serde::Serialize;

use super::replay::{ReplayedSocket, SocketBand};
use crate::observe::{Band, ObservedConnection, SeenLimit};

/// Largest number of differences that are kept. If there are more, the longest are kept.
const DIFFERENCES: usize = 20;

/// A period in which the two accounts have different limits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AccountDifference {
    /// Beginning, in nanoseconds from the first segment of the connection.
    pub at_ns: u64,
    /// End, in nanoseconds from the first segment of the connection.
    pub end_ns: u64,
    /// The limit that the capture shows.
    pub capture: SeenLimit,
    /// The limit that the kernel's socket shows.
    pub kernel: SeenLimit,
}

/// Seconds charged to one limit in both accounts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LimitBeside {
    /// The limit.
    pub limit: SeenLimit,
    /// Seconds charged to the limit in the capture's account.
    pub capture_s: f64,
    /// Seconds charged to the limit in the account of the kernel's socket.
    pub kernel_s: f64,
}

/// Two accounts of one sender.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AccountsBeside {
    /// Time that both accounts cover, in seconds.
    pub seconds: f64,
    /// Each limit in the time that both accounts cover. The limit with the longest time comes
    /// first.
    pub limits: Vec<LimitBeside>,
    /// Share of `seconds` in which the limits of both accounts are equal.
    pub agreed_share: f64,
    /// The longest differences, in the order of time.
    pub differences: Vec<AccountDifference>,
}

/// Returns true if the limits are equal, or if they differ only in the cause of the congestion
/// window's size.
fn is_same(one: SeenLimit, other: SeenLimit) -> bool {
    let is_cwnd = |limit: SeenLimit| {
        matches!(
            limit,
            SeenLimit::Known(
                Limit::CwndSlowStart
                    | Limit::CwndSteady
                    | Limit::CwndAfterLoss
                    | Limit::CwndAfterMark
                    | Limit::CwndAfterIdle
            )
        )
    };
    one == other || (is_cwnd(one) && is_cwnd(other))
}

impl AccountsBeside {
    /// Compares `observed` with `socket`, which must be the socket of the sender in `observed`.
    /// `began_ns` is time 0 of the recording, in nanoseconds since the Unix epoch. Returns `None`
    /// if the two accounts have no time in common.
    pub fn of(
        observed: &ObservedConnection,
        socket: &ReplayedSocket,
        began_ns: i64,
    ) -> Option<Self> {
        let shift_ns = began_ns.saturating_sub(observed.begin_ns);
        let kernel = |band: &SocketBand| {
            let at = |us: u64| (us as i64 * 1_000).saturating_add(shift_ns).max(0) as u64;
            let limit = band.limit.map_or(SeenLimit::Unknown, SeenLimit::Known);
            (at(band.at_us), at(band.end_us), limit)
        };
        let kernel: Vec<_> = socket.bands.iter().map(kernel).collect();
        let mut beside = Self {
            seconds: 0.0,
            limits: Vec::new(),
            agreed_share: 0.0,
            differences: Vec::new(),
        };
        let mut place = 0;
        for &(from, until, limit) in &kernel {
            while let Some(band) = observed.bands.get(place) {
                beside.add(band, from, until, limit);
                if band.end_ns > until {
                    break;
                }
                place += 1;
            }
        }
        if beside.seconds == 0.0 {
            return None;
        }
        beside.agreed_share /= beside.seconds;
        beside.limits.sort_by(|one, other| {
            let longest = |of: &LimitBeside| of.capture_s.max(of.kernel_s);
            longest(other).total_cmp(&longest(one))
        });
        let length = |one: &AccountDifference| one.end_ns - one.at_ns;
        beside
            .differences
            .sort_by_key(|one| std::cmp::Reverse(length(one)));
        beside.differences.truncate(DIFFERENCES);
        beside.differences.sort_by_key(|one| one.at_ns);
        Some(beside)
    }

    /// Compares the limit of `band`, a period of the capture, with `kernel`. The kernel's socket
    /// has the limit `kernel` from `from` until `until`; the rest of `band` is ignored.
    fn add(&mut self, band: &Band, from: u64, until: u64, kernel: SeenLimit) {
        let (at_ns, end_ns) = (band.at_ns.max(from), band.end_ns.min(until));
        if at_ns >= end_ns {
            return;
        }
        let seconds = (end_ns - at_ns) as f64 / 1e9;
        self.seconds += seconds;
        self.charge(band.limit).capture_s += seconds;
        self.charge(kernel).kernel_s += seconds;
        if is_same(band.limit, kernel) {
            self.agreed_share += seconds;
            return;
        }
        let capture = band.limit;
        match self.differences.last_mut() {
            Some(last)
                if last.end_ns == at_ns && (last.capture, last.kernel) == (capture, kernel) =>
            {
                last.end_ns = end_ns;
            }
            Some(_) | None => self.differences.push(AccountDifference {
                at_ns,
                end_ns,
                capture,
                kernel,
            }),
        }
    }

    fn charge(&mut self, limit: SeenLimit) -> &mut LimitBeside {
        let known = self.limits.iter().position(|part| part.limit == limit);
        let place = known.unwrap_or_else(|| {
            self.limits.push(LimitBeside {
                limit,
                capture_s: 0.0,
                kernel_s: 0.0,
            });
            self.limits.len() - 1
        });
        &mut self.limits[place]
    }
}
