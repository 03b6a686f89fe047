//! The episodes of one direction.
//!
//! Rule: an episode is open until its end is known. At most [`ObservedConnection::EPISODES`]
//! episodes are kept; later ones are only counted.

use super::observed::{EpisodeKind, ObservedConnection, SeenEpisode};

/// Episodes in the order of their beginning.
#[derive(Clone, Debug, Default)]
pub struct SeenEpisodes {
    episodes: Vec<SeenEpisode>,
    omitted: u64,
}

/// Index of an episode in [`SeenEpisodes`]; `None` for an episode that is not kept.
pub type Place = Option<usize>;

impl SeenEpisodes {
    /// Adds an episode that begins at `at_ns`.
    pub fn begin(&mut self, at_ns: u64, kind: EpisodeKind, count: u64) -> Place {
        if self.episodes.len() >= ObservedConnection::EPISODES {
            self.omitted += 1;
            return None;
        }
        self.episodes.push(SeenEpisode {
            at_ns,
            end_ns: at_ns,
            kind,
            count,
            unanswered: 0,
        });
        Some(self.episodes.len() - 1)
    }

    /// Moves the end of the episode at `place` to `end_ns` and adds `count` to its count.
    pub fn extend(&mut self, place: Place, end_ns: u64, count: u64) {
        if let Some(episode) = place.and_then(|place| self.episodes.get_mut(place)) {
            episode.end_ns = episode.end_ns.max(end_ns);
            episode.count += count;
        }
    }

    /// Raises the number of unanswered timeouts or probes of the episode at `place` to `unanswered`.
    pub fn raise(&mut self, place: Place, unanswered: u64) {
        if let Some(episode) = place.and_then(|place| self.episodes.get_mut(place)) {
            episode.unanswered = episode.unanswered.max(unanswered);
        }
    }

    /// Returns the episodes, and the number of episodes that were not kept.
    pub fn finish(mut self) -> (Vec<SeenEpisode>, u64) {
        self.episodes.sort_by_key(|episode| episode.at_ns);
        (self.episodes, self.omitted)
    }
}
