//! The accounts (time by limit) of a transfer by its three observers.
//!
//! Rule: two accounts agree if their main limits agree, within a tolerance.

use std::fmt;

use fullpipe_lab::{KernelAccount, MainLimit};
use fullpipe_tcp::{Limit, ReceiveLimit};

use super::case::FullpipeEnd;

/// If the receiver limits the transfer for at least this share of the time, the receiver is the
/// main limit.
const HALF: f64 = 0.5;
/// Tolerance of [`HALF`], because the shares of two observers may differ.
const NEAR: f64 = 0.1;

/// The duration of each limit of the receiver, according to the receiver's observer.
#[derive(Clone, Debug, Default)]
pub struct ReceiverView(Vec<(ReceiveLimit, u64)>);

impl ReceiverView {
    /// Returns the view with these times, all in the same unit.
    pub const fn of(times: Vec<(ReceiveLimit, u64)>) -> Self {
        Self(times)
    }

    /// Returns the share of the time, from 0 to 1, for which the receiver's window limited the
    /// sender. The time of [`ReceiveLimit::Hole`] does not count, because the path caused it.
    pub fn share(&self) -> f64 {
        let all: u64 = self.0.iter().map(|(_, time)| time).sum();
        let is_own = |limit: ReceiveLimit| {
            matches!(
                limit,
                ReceiveLimit::Buffer | ReceiveLimit::Reader | ReceiveLimit::Memory
            )
        };
        let own = self.0.iter().filter(|(limit, _)| is_own(*limit));
        own.map(|(_, time)| time).sum::<u64>() as f64 / all.max(1) as f64
    }

    /// Returns true if the receiver's share of the time fits `main`, the sender's main limit.
    fn agrees(&self, main: &MainLimit) -> bool {
        let of_receiver = [Limit::ReceiveWindow, Limit::ZeroWindow].map(Into::into);
        match of_receiver.contains(&main.limit) {
            true => self.share() >= HALF - NEAR,
            false => self.share() <= HALF + NEAR,
        }
    }
}

/// The accounts (time by limit) of a transfer by its three observers.
#[derive(Clone, Debug)]
pub struct Viewed {
    /// The case's number.
    pub number: u64,
    /// One line that describes the transfer.
    pub title: String,
    /// The end of fullpipe's stack.
    pub end: FullpipeEnd,
    /// Goodput in Mbit/s.
    pub mbps: f64,
    /// The account of the sender's observer: fullpipe's clock, or the kernel's answers.
    pub sender: KernelAccount,
    /// The account of the capture.
    pub capture: KernelAccount,
    /// The account of the receiver's observer.
    pub receiver: ReceiverView,
}

impl Viewed {
    /// Returns true if the sender's observer and the capture have a main limit in common, and the
    /// receiver's observer does not contradict the sender's.
    pub fn agrees(&self) -> bool {
        let main = self.sender.main.as_ref();
        self.sender.agrees(&self.capture) && main.is_some_and(|main| self.receiver.agrees(main))
    }
}

/// Headings of the lines of [`Viewed`].
pub const VIEW_HEADINGS: &str = "\
| case | transfer | fullpipe | Mbit/s | sender's own | capture | receiver limits | agree |
| ---: | --- | --- | ---: | --- | --- | ---: | --- |";

impl fmt::Display for Viewed {
    /// Writes a line of the table.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |account: &KernelAccount| match account.main {
            Some(main) => format!(
                "{} {:.0} %",
                main.limit.name().replace('_', " "),
                main.share * 100.0
            ),
            None => "nothing".to_string(),
        };
        let Self {
            number,
            title,
            end,
            mbps,
            sender,
            capture,
            receiver,
        } = self;
        let end = match end {
            FullpipeEnd::Sender => "sends",
            FullpipeEnd::Receiver => "receives",
        };
        let agrees = if self.agrees() { "yes" } else { "no" };
        write!(
            f,
            "| {number} | {title} | {end} | {mbps:.2} | {} | {} | {:.0} % | {agrees} |",
            name(sender),
            name(capture),
            receiver.share() * 100.0
        )
    }
}
