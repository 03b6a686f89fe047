//! A random transfer, written as an experiment file with one row.
//!
//! Rule: the number of a world (a random transfer) determines its file.

use fullpipe_scenario::{Experiment, Mistake, Setup};

use crate::draw;

/// A random transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct World {
    /// Number of the world.
    pub number: u64,
    /// Names of the dimensions (properties) that were drawn for the world.
    pub dimensions: Vec<&'static str>,
    /// The world as a file for `fullpipe lab`.
    pub file: String,
}

impl World {
    /// Draws the world with this number.
    pub fn draw(number: u64) -> Self {
        Self::drawn(number, None)
    }

    /// Draws the world with this number, including `dimension` if its hosts accept it; see
    /// [`dimensions`].
    pub fn with(number: u64, dimension: &str) -> Self {
        Self::drawn(number, Some(dimension))
    }

    fn drawn(number: u64, wanted: Option<&str>) -> Self {
        let (file, dimensions) = draw::world(number, wanted);
        Self {
            number,
            dimensions,
            file,
        }
    }

    /// Parses the file as an experiment with one row.
    ///
    /// # Errors
    /// Fails if the file has a mistake. A mistake would be a fault of the drawing.
    pub fn experiment(&self) -> Result<Experiment, Mistake> {
        let name = format!("world-{}", self.number);
        Experiment::parse(&name, &format!("{name}.toml"), &self.file)
    }

    /// The setup of the experiment's row.
    ///
    /// # Panics
    /// Panics if the file has a mistake, because it was drawn wrongly.
    pub fn setup(&self) -> Setup {
        match self.experiment() {
            Ok(experiment) => experiment.rows[0].setup.clone(),
            Err(mistake) => panic!("world {}: {mistake}\n{}", self.number, self.file),
        }
    }
}

/// Names of the dimensions that a world may have, each drawn independently.
pub fn dimensions() -> impl Iterator<Item = &'static str> {
    draw::dimensions().map(|dimension| dimension.name)
}
