//! The terminal on which the table is redrawn in place, and the lines of events.
//!
//! Rule: the page is drawn on the terminal's second (alternate) screen. Dropping [`Screen`]
//! restores the first screen. A page is cut to the height of the terminal, so nothing
//! scrolls.

use std::io::{Write, stdout};

use fullpipe_diagnose::socket::{SocketChange, SocketEvent};
use fullpipe_lab::units::{grouped, seconds_text};

use crate::failure::Failure;

/// Assumed height in lines of a terminal that does not report its height.
const LINES: usize = 24;

/// The second (alternate) screen of the terminal.
pub struct Screen(());

impl Screen {
    /// Switches to the second screen and hides the cursor.
    pub fn enter() -> Result<Self, Failure> {
        let mut out = stdout().lock();
        out.write_all(b"\x1b[?1049h\x1b[?25l")?;
        out.flush()?;
        Ok(Self(()))
    }

    /// Replaces the content of the screen by `text`.
    pub fn draw(&mut self, text: &str) -> Result<(), Failure> {
        let size = terminal_size::terminal_size_of(stdout());
        let height = size.map_or(LINES, |(_, rows)| usize::from(rows.0));
        let mut page = String::from("\x1b[H");
        for (place, line) in text.lines().take(height).enumerate() {
            if place > 0 {
                page += "\r\n";
            }
            page += line;
            page += "\x1b[K";
        }
        page += "\x1b[J";
        let mut out = stdout().lock();
        out.write_all(page.as_bytes())?;
        Ok(out.flush()?)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let mut out = stdout().lock();
        // Ignore errors: if the terminal is gone, there is nothing to restore.
        let _ = out.write_all(b"\x1b[?25h\x1b[?1049l");
        let _ = out.flush();
    }
}

/// Returns an event as a line: time in seconds, socket, peer, event.
pub fn event_line(event: &SocketEvent) -> String {
    let head = format!(
        "{:.3} sk {:x} {} {}",
        event.at_us as f64 / 1e6,
        event.id.cookie,
        event.id.peer,
        event.change.name()
    );
    let after = |micros: u64| seconds_text(micros as f64 / 1e6);
    match event.change {
        SocketChange::WriterBlocked { queued, sndbuf } => format!(
            "{head}: send buffer filled with {} of {} bytes",
            grouped(queued.into()),
            grouped(sndbuf.into())
        ),
        SocketChange::WriterReleased { after_us } => format!("{head} after {}", after(after_us)),
        SocketChange::PeerWindowOpened { after_us, probes } => format!(
            "{head} after {}, {probes} probes without an answer",
            after(after_us)
        ),
        SocketChange::Timeout { retransmits } => format!("{head} {retransmits}"),
        SocketChange::Dropped { segments } => format!("{head}: {segments} segments dropped"),
        SocketChange::Opened | SocketChange::PeerWindowClosed | SocketChange::Closed => head,
    }
}
