//! The files and functions that exceed the limits of length.
//!
//! The one rule: this list only shrinks. An entry states the present length. `cargo xtask tidy`
//! fails if the length has changed: a longer item must be shortened, and for a shorter one the
//! number must be lowered. If the item is within the limit or gone, the entry must be deleted.
//!
//! New code must not be added here.

/// An item that may exceed the limit, with the reason.
pub struct Exception {
    /// `path/file.rs` for a file, `path/file.rs::function` for a function.
    pub what: &'static str,
    /// Present length in lines.
    pub lines: usize,
    /// Reason that the item is still this long.
    pub why: &'static str,
}

/// All exceptions to the limits.
pub const LONG: [Exception; 5] = [
    Exception {
        what: "crates/stack/src/ip/tests.rs::invalid_packets_and_packets_for_others_are_discarded_by_reason",
        lines: 71,
        why: "one table of cases",
    },
    Exception {
        what: "crates/stack/src/link/neighbours/tests.rs::invalid_arp_packets_are_discarded_by_reason",
        lines: 88,
        why: "one table of cases",
    },
    Exception {
        what: "crates/tcp/src/send/tests.rs::a_segment_is_full_or_the_tail_or_all_that_the_window_will_take",
        lines: 102,
        why: "one table of cases",
    },
    Exception {
        what: "crates/wire/src/icmpv4/tests.rs::every_message_is_written_as_in_the_rfc_and_read_back",
        lines: 75,
        why: "one table of cases",
    },
    Exception {
        what: "crates/wire/src/tcp/tests.rs::reading_is_tolerant",
        lines: 97,
        why: "one table of cases",
    },
];

/// Folders whose types deliberately have the same names as other types, with the reason.
pub const MIRRORS: [(&str, &str); 1] = [(
    "crates/host/src/tokio/",
    "the names of tokio's own sockets, in a module that is called after it",
)];
