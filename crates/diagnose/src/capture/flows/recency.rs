//! A list of places (indices of connections in the table) in the order of their last use.
//!
//! Rule: every operation takes constant time. A place is in a list at most once.

/// Marks the absence of a neighbour.
const NOBODY: u32 = u32::MAX;

/// Neighbours of a place in the list.
#[derive(Clone, Copy)]
struct Link {
    older: u32,
    newer: u32,
}

/// A list of places, the least recently used first.
pub(super) struct Recency {
    /// Neighbours of each place. The neighbours of a place that is not in the list have
    /// no meaning.
    links: Vec<Link>,
    oldest: u32,
    newest: u32,
}

impl Recency {
    pub(super) const fn new() -> Self {
        Self {
            links: Vec::new(),
            oldest: NOBODY,
            newest: NOBODY,
        }
    }

    /// The least recently used place.
    pub(super) fn oldest(&self) -> Option<u32> {
        (self.oldest != NOBODY).then_some(self.oldest)
    }

    /// Adds a place that is not in the list as the most recently used.
    pub(super) fn push(&mut self, place: u32) {
        let link = Link {
            older: self.newest,
            newer: NOBODY,
        };
        let needed = place as usize + 1;
        if self.links.len() < needed {
            self.links.resize(needed, link);
        }
        self.links[place as usize] = link;
        match self.newest {
            NOBODY => self.oldest = place,
            newest => self.links[newest as usize].newer = place,
        }
        self.newest = place;
    }

    /// Removes a place that is in the list.
    pub(super) fn remove(&mut self, place: u32) {
        let Link { older, newer } = self.links[place as usize];
        match older {
            NOBODY => self.oldest = newer,
            older => self.links[older as usize].newer = newer,
        }
        match newer {
            NOBODY => self.newest = older,
            newer => self.links[newer as usize].older = older,
        }
    }

    /// Makes a place of the list the most recently used.
    pub(super) fn touch(&mut self, place: u32) {
        if self.newest != place {
            self.remove(place);
            self.push(place);
        }
    }
}
