//! A link in real time: carries frames between two devices of this machine, through the
//! simulator's link.
//!
//! Rule: the simulator's engine decides which frames are lost and when the other frames are due.
//! The engine reads no clock. This module reads the clock, waits, and reads and writes frames. Due
//! times follow from the times at which frames are read, and no frame is written early. If the
//! thread wakes up late, it writes the frames of that moment late. Later frames keep their due
//! times, so the rate stays the same. The number of frames inside a link is
//! bounded; further frames wait in the device that they come from.
//!
//! A device that divides frames into segments (TSO) or computes their checksums is refused. As on a
//! wire, each frame carries one packet with a complete checksum.

mod statistics;

#[cfg(test)]
mod tests;

use std::{
    io,
    os::fd::AsFd,
    time::{Duration, Instant as Moment, SystemTime, UNIX_EPOCH},
};

use fullpipe::device::{Medium, TxMeta};
use fullpipe_host::{HostDevice, run_at_once, wait_for_either, wait_precisely};
use fullpipe_pool::{Instant, Rng};
use fullpipe_sim::{
    link::{Delivery, Direction, LinkEngine, LinkModel},
    pcapng::{Capture, CaptureDirection, LinkType, TapId},
};

pub use statistics::{Lateness, LiveDirection, LiveReport};

/// Largest number of frames read from one device before the other device is read.
const BATCH: usize = 64;
/// Largest number of frames inside the link. While the link has this many frames, no frame is read.
const HELD_MAX: u64 = 1 << 17;
/// Waits shorter than this are skipped, and the devices are polled instead.
const SPIN: Duration = Duration::from_micros(20);
/// Scheduling priority of the link's thread. It is higher than 1, the priority of the programs that
/// the link connects.
const PRIORITY: u8 = 2;
/// Longest wait before `stop` is called again.
const LOOK: Duration = Duration::from_millis(100);

/// One of the two devices, with its name in reports and captures.
pub struct LiveEnd {
    /// Name of the end.
    pub name: String,
    /// The device.
    pub device: Box<dyn HostDevice>,
}

/// A link between two devices; [`run`](Self::run) carries the frames.
pub struct LiveLink {
    ends: [LiveEnd; 2],
    engine: LinkEngine,
    epoch: Moment,
    lateness: [Lateness; 2],
    refused: [u64; 2],
    recording: Option<Recording>,
    /// Buffer for one received frame.
    buffer: Box<[u8]>,
}

/// Capture of both ends. A write error ends the capture but not the traffic.
struct Recording {
    capture: Capture,
    failure: Option<io::Error>,
    taps: [TapId; 2],
    /// Time of day, in nanoseconds, when the link was created.
    began: u64,
}

impl LiveLink {
    /// Creates a link that is the same in both directions. All random numbers come from `seed`.
    /// Frames are recorded in `capture` when they are read and when they are written; `capture`
    /// should be buffered.
    ///
    /// # Errors
    /// Fails if the ends have different media, the device of an end completes checksums or cuts
    /// frames into segments, or the capture cannot be started.
    pub fn new(
        ends: [LiveEnd; 2],
        link: LinkModel,
        seed: u64,
        capture: Option<Box<dyn io::Write + Send>>,
    ) -> io::Result<Self> {
        Self::asymmetric(ends, [link, link], seed, capture)
    }

    /// Like [`new`](Self::new), with a separate model for each direction: forward, then back.
    ///
    /// # Errors
    /// Returns the errors of [`new`](Self::new).
    pub fn asymmetric(
        ends: [LiveEnd; 2],
        links: [LinkModel; 2],
        seed: u64,
        capture: Option<Box<dyn io::Write + Send>>,
    ) -> io::Result<Self> {
        let medium = medium(&ends)?;
        let recording = match capture {
            Some(out) => Some(Recording::begin(out, medium, &ends)?),
            None => None,
        };
        let frame_max = ends.iter().map(|end| end.device.frame_max()).max();
        let [forward, back] = links;
        Ok(Self {
            buffer: vec![0; frame_max.unwrap_or_default()].into(),
            ends,
            engine: LinkEngine::asymmetric(forward, back, &Rng::seeded(seed)),
            epoch: Moment::now(),
            lateness: Default::default(),
            refused: [0; 2],
            recording,
        })
    }

    /// Carries frames until `stop` returns true; `stop` is called at least ten times per second.
    /// Calls `report` at intervals of `every`, and returns the last report. Meanwhile the thread
    /// has real-time priority, if the operating system permits that.
    ///
    /// # Errors
    /// If a device fails permanently, returns its error at once. If the capture cannot be written,
    /// carries frames until `stop` returns true, and then returns the error of the write.
    pub fn run(
        &mut self,
        stop: &dyn Fn() -> bool,
        every: Duration,
        report: &mut dyn FnMut(&LiveReport),
    ) -> io::Result<LiveReport> {
        wait_precisely();
        // Ignore an error: without the privilege for real-time priority, the link works but wakes
        // later.
        let _ = run_at_once(PRIORITY);
        let mut reports_at = self.now() + every.into();
        while !stop() {
            for direction in Direction::ALL {
                self.take_in(direction)?;
            }
            self.give_out();
            let now = self.now();
            if now >= reports_at {
                report(&self.report());
                reports_at += every.into();
            }
            self.wait(reports_at)?;
        }
        if let Some(recording) = self.recording.take() {
            recording.end()?;
        }
        Ok(self.report())
    }

    /// Returns the counts of frames so far.
    pub fn report(&self) -> LiveReport {
        LiveReport {
            seconds: self.epoch.elapsed().as_secs_f64(),
            directions: Direction::ALL.map(|direction| {
                let from = direction.index();
                LiveDirection::new(
                    [&self.ends[from].name, &self.ends[1 - from].name],
                    self.engine.counters(direction),
                    self.refused[from],
                    self.lateness[from].quantiles(),
                )
            }),
        }
    }

    fn now(&self) -> Instant {
        Instant::from_nanos(self.epoch.elapsed().as_nanos() as u64)
    }

    /// Returns true if the next frame in `direction` may be read.
    fn has_room(&self, direction: Direction) -> bool {
        self.engine.has_room(direction) && self.engine.held() < HELD_MAX
    }

    fn take_in(&mut self, direction: Direction) -> io::Result<()> {
        let from = direction.index();
        for _ in 0..BATCH {
            if !self.has_room(direction) {
                break;
            }
            let frame = match self.ends[from].device.receive(&mut self.buffer) {
                Ok((len, _)) => self.buffer[..len].to_vec(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => {
                    let name = &self.ends[from].name;
                    return Err(io::Error::new(error.kind(), format!("{name}: {error}")));
                }
            };
            let now = self.now();
            if let Some(recording) = &mut self.recording {
                recording.frame(from, now, CaptureDirection::Inbound, &frame);
            }
            self.engine.offer(direction, frame, now);
        }
        Ok(())
    }

    /// Writes every frame that is due.
    fn give_out(&mut self) {
        loop {
            let now = self.now();
            let Some(delivery) = self.engine.take(now) else {
                break;
            };
            let Delivery {
                at,
                direction,
                frame,
            } = delivery;
            let to = direction.reverse().index();
            self.lateness[direction.index()].note(now.since(at));
            if let Some(recording) = &mut self.recording {
                recording.frame(to, now, CaptureDirection::Outbound, &frame);
            }
            if !give(&*self.ends[to].device, &frame) {
                self.refused[direction.index()] += 1;
            }
        }
    }

    /// Waits for a frame to arrive or to become due, but not beyond `reports_at`.
    fn wait(&self, reports_at: Instant) -> io::Result<()> {
        let until = self
            .engine
            .next_event()
            .map_or(reports_at, |event| event.min(reports_at));
        let timeout = Duration::from(until.since(self.now())).min(LOOK);
        if timeout < SPIN {
            return Ok(());
        }
        let devices = Direction::ALL.map(|direction| {
            self.has_room(direction)
                .then(|| self.ends[direction.index()].device.as_fd())
        });
        wait_for_either(devices, timeout)
    }
}

/// Writes one frame. If the device is full, tries once more. If it is still full, the frame is
/// lost, as on a wire.
fn give(device: &dyn HostDevice, frame: &[u8]) -> bool {
    (0..2).any(|_| {
        let sent = device.send(frame, TxMeta::default());
        device.flush();
        sent.is_ok()
    })
}

/// Returns the medium of both ends.
fn medium(ends: &[LiveEnd; 2]) -> io::Result<Medium> {
    let refused = |why: String| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    for end in ends {
        let capabilities = end.device.capabilities();
        if capabilities.checksum_tx || capabilities.super_segment > 0 {
            let name = &end.name;
            return refused(format!(
                "{name} computes checksums or divides frames into segments: open it without offloads, \
                 because each frame of a link must be one packet with a complete checksum"
            ));
        }
    }
    let [first, second] = ends.each_ref().map(|end| end.device.capabilities().medium);
    if first != second {
        let [first, second] = ends.each_ref().map(|end| &end.name);
        return refused(format!(
            "{first} and {second} are of different kinds: two TAP or two TUN devices make a link"
        ));
    }
    Ok(first)
}

impl Recording {
    fn begin(
        out: Box<dyn io::Write + Send>,
        medium: Medium,
        ends: &[LiveEnd; 2],
    ) -> io::Result<Self> {
        let link_type = match medium {
            Medium::Ethernet => LinkType::Ethernet,
            Medium::Ip => LinkType::Ip,
        };
        let mut capture = Capture::new(out)?;
        let taps = [
            capture.tap(&ends[0].name, link_type)?,
            capture.tap(&ends[1].name, link_type)?,
        ];
        let began = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Ok(Self {
            capture,
            failure: None,
            taps,
            began: began.as_nanos() as u64,
        })
    }

    fn frame(&mut self, end: usize, at: Instant, passage: CaptureDirection, frame: &[u8]) {
        if self.failure.is_some() {
            return;
        }
        let at = Instant::from_nanos(self.began + at.as_nanos());
        let tap = self.taps[end];
        self.failure = self.capture.frame(tap, at, Some(passage), frame).err();
    }

    fn end(mut self) -> io::Result<()> {
        self.failure
            .map_or_else(|| self.capture.flush(), Err)
            .map_err(|error| io::Error::new(error.kind(), format!("the capture: {error}")))
    }
}
