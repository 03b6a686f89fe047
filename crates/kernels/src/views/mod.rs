//! One transfer between fullpipe's stack and a kernel, judged by three observers.
//!
//! Rule: the observers share nothing. fullpipe's own clock is at one end, the kernel's answers
//! about its socket are at the other, and the capture is that of the frames at fullpipe's end.
//! The sender's observer says what limited it. The receiver's says whether it did.

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

/// Share of the time from which on a receiver's limit is that of the transfer.
const HALF: f64 = 0.5;
/// A receiver that limits the transfer for a share of the time this near to [`HALF`] may be
/// named or not.
const NEAR: f64 = 0.1;

/// The end of a transfer that fullpipe's stack runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FullpipeEnd {
    /// It sends.
    Sender,
    /// It receives.
    Receiver,
}

/// A transfer and the end that fullpipe's stack runs.
#[derive(Clone, Debug)]
pub struct ViewCase {
    /// The case's number.
    pub number: u64,
    /// The transfer in a line.
    pub title: String,
    /// Its hosts, link and flow.
    pub setup: Setup,
    /// The end of fullpipe's stack.
    pub end: FullpipeEnd,
}

impl ViewCase {
    /// Draws the case of this number: a transfer of [`WhatIfCase`], which fullpipe's stack sends
    /// if the number is even.
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

/// The answer of a receiver.
#[derive(Clone, Debug, Default)]
pub struct ReceiverView(Vec<(ReceiveLimit, u64)>);

impl ReceiverView {
    /// Returns the view with these times, in any unit.
    pub const fn of(times: Vec<(ReceiveLimit, u64)>) -> Self {
        Self(times)
    }

    /// Returns the share of the time, from 0 to 1, for which the receiver's window limited the
    /// sender. A hole is the path's fault.
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

    /// Returns true if the view does not contradict `main`, the sender's main limit.
    fn agrees(&self, main: &MainLimit) -> bool {
        let of_receiver = [Limit::ReceiveWindow, Limit::ZeroWindow].map(Into::into);
        match of_receiver.contains(&main.limit) {
            true => self.share() >= HALF - NEAR,
            false => self.share() <= HALF + NEAR,
        }
    }
}

/// A transfer as its observers judge it.
#[derive(Clone, Debug)]
pub struct Viewed {
    /// The case's number.
    pub number: u64,
    /// The transfer in a line.
    pub title: String,
    /// The end of fullpipe's stack.
    pub end: FullpipeEnd,
    /// Goodput in Mbit/s.
    pub mbps: f64,
    /// The account of the sender's own observer: fullpipe's clock, or the kernel's socket.
    pub sender: KernelAccount,
    /// The account of the capture.
    pub capture: KernelAccount,
    /// The account of the receiver's own observer.
    pub receiver: ReceiverView,
}

impl Viewed {
    /// Returns true if the sender's observer and the capture have a main limit in common, which
    /// the receiver's observer does not contradict.
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

/// Runs the transfer of `case`, and asks the three observers. The frames at fullpipe's end are
/// also written to `capture`.
///
/// # Errors
/// The system's, or an interruption.
pub fn views(case: &ViewCase, capture: Option<&Path>, stop: &Stop) -> Result<Viewed, KernelError> {
    let file = capture.map(File::create).transpose()?;
    transfer::run(case, file, stop)
}
