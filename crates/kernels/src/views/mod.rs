//! One transfer between fullpipe's stack and this machine's kernel, and the limits that three
//! observers name.
//!
//! Rule: the observers share nothing. The first is fullpipe's stack at one end, which adds up the
//! time of each limit. The second is the kernel's report about its socket at the other end. The
//! third is a capture of the frames at fullpipe's end. The observer at the sender and the capture
//! name the limit of the transfer. The observer at the receiver gives the share of the time in
//! which the receiver was the limit.

mod pair;
mod transfer;

#[cfg(test)]
mod tests;

use std::{fmt, fs::File, path::Path};

use fullpipe_lab::{KernelAccount, MainLimit};
use fullpipe_perf::Stop;
use fullpipe_scenario::Setup;
use fullpipe_tcp::{Limit, ReceiveLimit};

use crate::{run::KernelError, what_if::WhatIfCase};

/// If the receiver limits the transfer for at least this share of the time, the receiver is the
/// main limit.
const HALF: f64 = 0.5;
/// Tolerance of [`HALF`], because the shares of two observers may differ.
const NEAR: f64 = 0.1;

/// The end of a transfer at which fullpipe's stack runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FullpipeEnd {
    /// The sending end.
    Sender,
    /// The receiving end.
    Receiver,
}

/// A transfer, and the end at which fullpipe's stack runs.
#[derive(Clone, Debug)]
pub struct ViewCase {
    /// The case's number.
    pub number: u64,
    /// One line that describes the transfer.
    pub title: String,
    /// The transfer's hosts, link and flow.
    pub setup: Setup,
    /// The end of fullpipe's stack.
    pub end: FullpipeEnd,
}

impl ViewCase {
    /// Returns the case of this number. Its transfer is the transfer of the [`WhatIfCase`] with
    /// this number. fullpipe's stack is the sender if the number is even.
    pub fn draw(number: u64) -> Self {
        let WhatIfCase { title, setup, .. } = WhatIfCase::draw(number);
        let end = match number.is_multiple_of(2) {
            true => FullpipeEnd::Sender,
            false => FullpipeEnd::Receiver,
        };
        Self {
            number,
            title,
            setup,
            end,
        }
    }
}

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

/// Runs the transfer of `case` and returns its three accounts. Also writes the frames at fullpipe's
/// end to the file `capture`.
///
/// # Errors
/// Fails if the system refuses an operation, or the user interrupts.
pub fn views(case: &ViewCase, capture: Option<&Path>, stop: &Stop) -> Result<Viewed, KernelError> {
    let file = capture.map(File::create).transpose()?;
    transfer::run(case, file, stop)
}
