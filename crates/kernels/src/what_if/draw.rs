//! Random transfers between two kernels; most transfers are limited by a setting.
//!
//! Rule: the number of a case (a drawn transfer) determines the whole case. Each bulk transfer
//! takes some seconds of real time.

use fullpipe_pool::Rng;
use fullpipe_scenario::{Experiment, Setup};

/// Rates of the link in Mbit/s.
const RATES: [u64; 5] = [5, 10, 20, 50, 100];
/// Round trips in milliseconds.
const ROUND_TRIPS: [u64; 7] = [2, 5, 10, 20, 40, 80, 150];
/// Approximate duration of a transfer in seconds.
const SECONDS: f64 = 3.0;
/// Bytes of payload in flight for each byte of `SO_SNDBUF`, if the kernel makes no super-segments
/// (large segments that the device divides).
const IN_FLIGHT: f64 = 1.26;
/// Smallest bandwidth-delay product of a case that a buffer limits, in bytes.
const LEAST_BDP: u64 = 24_000;
/// Smallest buffer that a case sets, in bytes.
const LEAST_BUFFER: u64 = 8_192;
/// Smallest payload of a transfer, in bytes.
const LEAST: u64 = 100_000;

/// A transfer between two kernels.
#[derive(Clone, Debug)]
pub struct WhatIfCase {
    /// Number of the case.
    pub number: u64,
    /// Description of the case in one line.
    pub title: String,
    /// Hosts, link and flow of the case.
    pub setup: Setup,
}

/// The limit that a case is drawn for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    SendBuffer,
    ReceiveBuffer,
    BothBuffers,
    Nagle,
    Loss,
    Path,
}

impl Kind {
    /// Draws the kind of a case. The ranges below are in percent.
    fn draw(rng: &mut Rng) -> Self {
        match rng.below(100) {
            0..40 => Self::SendBuffer,
            40..65 => Self::ReceiveBuffer,
            65..75 => Self::BothBuffers,
            75..83 => Self::Nagle,
            83..93 => Self::Loss,
            _ => Self::Path,
        }
    }
}

impl Kind {
    /// Returns true if this kind sets a buffer.
    const fn is_buffer(self) -> bool {
        matches!(
            self,
            Self::SendBuffer | Self::ReceiveBuffer | Self::BothBuffers
        )
    }
}

/// A case while it is drawn: parts of its experiment file and of its title.
struct Drawing {
    rng: Rng,
    /// Bandwidth-delay product, in bytes.
    bdp: f64,
    /// Round-trip time in seconds.
    rtt_s: f64,
    /// Approximate goodput in bytes per second.
    rate: f64,
    /// Settings of the sender, as lines of the experiment file.
    sender: Vec<String>,
    receiver: Vec<String>,
    workload: Vec<String>,
    link: Vec<String>,
    title: Vec<String>,
}

impl WhatIfCase {
    /// Draws the case of this number.
    ///
    /// # Panics
    /// Never panics, because every file that is drawn is valid.
    pub fn draw(number: u64) -> Self {
        let mut rng = Rng::seeded(number).fork_named("what if");
        let kind = Kind::draw(&mut rng);
        let (mbps, rtt) = loop {
            let mbps = RATES[rng.below(RATES.len() as u64) as usize];
            let rtt = ROUND_TRIPS[rng.below(ROUND_TRIPS.len() as u64) as usize];
            // Draw again if the bandwidth-delay product is too small for the smallest buffer to
            // be the limit.
            if !kind.is_buffer() || mbps * rtt * 125 >= LEAST_BDP {
                break (mbps, rtt);
            }
        };
        let (rate, rtt_s) = (mbps as f64 * 1e6 / 8.0, rtt as f64 / 1e3);
        let bdp = rate * rtt_s;
        let queue = ((bdp * (1.0 + rng.unit()) / 1_500.0) as u64).max(40);
        let mut drawing = Drawing {
            bdp,
            rtt_s,
            rate,
            sender: Vec::new(),
            receiver: Vec::new(),
            workload: Vec::new(),
            link: vec![format!("queue = \"{queue} packets\"")],
            title: vec![format!("{mbps} Mbit/s, {rtt} ms")],
            rng,
        };
        drawing.draw_kind(kind);
        drawing.finish(number, mbps, rtt)
    }
}

impl Drawing {
    fn draw_kind(&mut self, kind: Kind) {
        match kind {
            Kind::SendBuffer => self.send_buffer(),
            Kind::ReceiveBuffer => self.receive_buffer(),
            Kind::BothBuffers => {
                self.send_buffer();
                self.receive_buffer();
            }
            Kind::Nagle => self.nagle(),
            Kind::Loss => self.loss(),
            Kind::Path => self.title.push("nothing set".to_string()),
        }
        if self.rng.chance(0.5) {
            self.sender.push("gso_max_segs = 1".to_string());
            self.title.push("gso_max_segs 1".to_string());
        }
    }

    /// Draws the size of a buffer: 10 to 70 % of the size that the bandwidth-delay product needs,
    /// and at least 8 KB.
    fn too_small(&mut self) -> u64 {
        let share = 0.1 + 0.6 * self.rng.unit();
        ((self.bdp * share / IN_FLIGHT) as u64).max(LEAST_BUFFER)
    }

    fn send_buffer(&mut self) {
        let bytes = self.too_small();
        self.sender.push(format!("set.SO_SNDBUF = {bytes}"));
        self.title.push(format!("SO_SNDBUF {bytes}"));
        self.is_bounded_by(bytes as f64 * IN_FLIGHT);
    }

    fn receive_buffer(&mut self) {
        let bytes = self.too_small();
        self.receiver.push(format!("set.SO_RCVBUF = {bytes}"));
        self.title.push(format!("SO_RCVBUF {bytes}"));
        self.is_bounded_by(bytes as f64);
    }

    fn is_bounded_by(&mut self, flight: f64) {
        self.rate = self.rate.min(flight / self.rtt_s);
    }

    /// Draws writes that end in a partial segment, with a pause after each write.
    fn nagle(&mut self) {
        let write = self.rng.between(1_600, 2_800);
        let pause = self.rng.between(1, 4);
        self.workload
            .extend([format!("write = {write}"), format!("pause = \"{pause}ms\"")]);
        self.title
            .push(format!("writes of {write} bytes every {pause} ms"));
        self.is_bounded_by(2.0 * write as f64);
    }

    fn loss(&mut self) {
        let percent = [0.1, 0.3, 1.0][self.rng.below(3) as usize];
        self.link.push(format!("forward.loss = \"{percent}%\""));
        self.sender
            .push("set.tcp.congestion = \"newreno\"".to_string());
        self.title.push(format!("{percent} % lost, reno"));
        // Bytes in flight by Mathis' formula: MSS × 1.22 / √loss.
        self.is_bounded_by(1_448.0 * 1.22 / (percent / 100.0_f64).sqrt());
    }

    fn finish(self, number: u64, mbps: u64, rtt: u64) -> WhatIfCase {
        let bytes = ((self.rate * SECONDS) as u64).max(LEAST);
        let host = "preset = \"linux\"\nstack = \"kernel\"\nacquainted = true";
        let text = format!(
            "title = \"what if\"\n\
             [hosts.sender]\n{host}\nset.wmem_max = \"4M\"\n{}\n\
             [hosts.receiver]\n{host}\nset.rmem_max = \"4M\"\n{}\n\
             [links.path]\nbetween = [\"sender\", \"receiver\"]\n\
             rate = \"{mbps}mbit\"\nrtt = \"{rtt}ms\"\n{}\n\
             [workload]\nfrom = \"sender\"\nto = \"receiver\"\nbytes = {bytes}\n{}\n\
             [[rows]]\nlabel = \"case\"\n",
            self.sender.join("\n"),
            self.receiver.join("\n"),
            self.link.join("\n"),
            self.workload.join("\n"),
        );
        let experiment = Experiment::parse("what-if", "what-if.toml", &text);
        let experiment = experiment.expect("the file is right");
        WhatIfCase {
            number,
            title: self.title.join(", "),
            setup: experiment.rows[0].setup.clone(),
        }
    }
}
