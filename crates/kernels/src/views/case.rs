//! A transfer between fullpipe's stack and the kernel.
//!
//! Rule: the same number always gives the same case.

use fullpipe_scenario::Setup;

use crate::what_if::WhatIfCase;

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
