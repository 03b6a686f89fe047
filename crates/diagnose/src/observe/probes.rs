//! The zero windows of a receiver, and the window probes of its sender.
//!
//! Rule: a probe is answered by the next ACK, and lost if another probe follows it or the connection
//! ends.

use super::{
    episodes::{Place, SeenEpisodes},
    observed::{EpisodeKind, ZeroWindows},
};

/// Follows the zero windows of one direction.
#[derive(Debug, Default)]
pub struct Probes {
    pub zero_windows: ZeroWindows,
    /// The episode of the present zero window.
    zero: Option<Place>,
    zero_since: u64,
    /// Number of probes in a row without an answer.
    unanswered: u64,
    /// True if the latest probe has no answer yet.
    is_open: bool,
    probed_at: u64,
    /// The episode of the latest unanswered probes.
    lost: Option<Place>,
}

impl Probes {
    /// Takes the window of an ACK at `at`: zero or not.
    pub fn on_window(&mut self, is_zero: bool, at: u64, episodes: &mut SeenEpisodes) {
        match (self.zero, is_zero) {
            (None, true) => {
                self.zero = Some(episodes.begin(at, EpisodeKind::ZeroWindow, 0));
                self.zero_since = at;
                self.zero_windows.count += 1;
            }
            (Some(place), false) => {
                episodes.extend(place, at, 0);
                self.zero_windows.closed_ns += at - self.zero_since;
                self.zero = None;
                self.is_open = false;
                self.unanswered = 0;
            }
            (None, false) | (Some(_), true) => {}
        }
    }

    /// Takes a probe at `at`.
    pub fn on_probe(&mut self, at: u64, episodes: &mut SeenEpisodes) {
        self.lose(at, episodes);
        (self.is_open, self.probed_at) = (true, at);
        if let Some(place) = self.zero {
            episodes.extend(place, at, 1);
        }
    }

    /// Takes an ACK, which answers the latest probe.
    pub fn on_ack(&mut self) {
        if std::mem::take(&mut self.is_open) {
            self.zero_windows.probes_answered += 1;
            self.unanswered = 0;
        }
    }

    /// Counts the latest probe as lost if it was not answered before `at`.
    pub fn lose(&mut self, at: u64, episodes: &mut SeenEpisodes) {
        if !self.is_open {
            return;
        }
        self.zero_windows.probes_lost += 1;
        self.unanswered += 1;
        let most = &mut self.zero_windows.probes_lost_in_a_row;
        *most = (*most).max(self.unanswered);
        let known = self.lost.filter(|_| self.unanswered > 1);
        let begin = || episodes.begin(self.probed_at, EpisodeKind::ProbesLost, 0);
        let place = known.unwrap_or_else(begin);
        episodes.extend(place, at, 1);
        self.lost = Some(place);
        for place in [place, self.zero.unwrap_or(None)] {
            episodes.raise(place, self.unanswered);
        }
    }
}
