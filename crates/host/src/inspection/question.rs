//! The questions about a running stack.
//!
//! Rule: a question is one word on the socket.

/// A question about a running stack. The answer is a JSON array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// The interfaces, with `interface` (number), `mac` (`null` without Ethernet), `mtu`,
    /// `loopback`, and `addresses`: `address`, `prefix_len`, `temporary` (RFC 8981), and `state`
    /// (`preferred`, `deprecated`, or `tentative` before duplicate address detection has ended).
    Addresses,
    /// The routes, with `to`, `gateway`, `interface`, `metric`, `source`, and `origin`: `address` for the network
    /// of an address, `added` for a route that the program added, `router` for a route that a
    /// router announced.
    Routes,
    /// The neighbours, with `address`, `mac`, `interface`, and `state` (the names of Linux).
    Neighbours,
}

impl Question {
    /// Every question.
    pub(super) const ALL: [Self; 3] = [Self::Addresses, Self::Routes, Self::Neighbours];

    /// Returns the word that asks the question.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Addresses => "addresses",
            Self::Routes => "routes",
            Self::Neighbours => "neighbours",
        }
    }
}
