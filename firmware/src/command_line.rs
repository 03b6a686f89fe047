//! The command line: the role of the program, and the configuration of the stack.
//!
//! Rule: an option is a word `name=value`. A name with a dot is a knob (a setting of the stack).
//! Unknown words are refused, so that a typing error does not run the wrong test.

use core::{net::Ipv4Addr, str::FromStr};

use fullpipe::{Config, presets};
use fullpipe_iperf::{Amount, Rate};

/// Options of every program.
#[derive(Debug)]
pub struct Options<'a> {
    /// The part that the program plays: `tcp-server`, `udp-client` ….
    pub role: &'a str,
    /// Settings of the stack.
    pub config: Config,
    /// Address of this host; its network has 24 bits of prefix.
    pub address: Ipv4Addr,
    /// Address of the peer of a client.
    pub peer: Ipv4Addr,
    /// Port of a server, or of a client's peer; `None` for the program's default.
    pub port: Option<u16>,
    /// Length of a client's test.
    pub amount: Amount,
    /// Bytes of a write or a datagram; `None` for the program's default.
    pub length: Option<usize>,
    /// Rate of a client's datagrams.
    pub rate: Rate,
    /// True if the test is reversed: the server sends.
    pub reverse: bool,
    /// True if a TCP client sends no header, so that the server does not answer with an
    /// acknowledgement of the header.
    pub headerless: bool,
    /// Number of tests after which a server ends; 0 for a server that never ends.
    pub tests: u32,
    /// True to measure the stack depth of each turn. The measurement slows the turns.
    pub measures_stack: bool,
}

impl<'a> Options<'a> {
    /// Parses a command line: the name of the program, then options.
    ///
    /// # Errors
    /// Returns the word that is not understood.
    pub fn parse(line: &'a str) -> Result<Self, &'a str> {
        let mut options = Self {
            role: "tcp-server",
            config: Config::default(),
            address: Ipv4Addr::new(10, 77, 0, 2),
            peer: Ipv4Addr::new(10, 77, 0, 1),
            port: None,
            amount: Amount::Time(core::time::Duration::from_secs(10)),
            length: None,
            rate: Rate::Bits(fullpipe_iperf::UDP_RATE),
            reverse: false,
            headerless: false,
            tests: 0,
            measures_stack: false,
        };
        for word in line.split_ascii_whitespace().skip(1) {
            match word.split_once('=') {
                Some((name, value)) => options.set(name, value).ok_or(word)?,
                None => options.switch(word),
            }
        }
        Ok(options)
    }

    /// Applies a word without a value. Any unknown word is taken as the role; the program later
    /// refuses an unknown role.
    fn switch(&mut self, word: &'a str) {
        match word {
            "reverse" => self.reverse = true,
            "headerless" => self.headerless = true,
            "stack" => self.measures_stack = true,
            role => self.role = role,
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Option<()> {
        match name {
            "preset" => self.config = presets::find(value).ok()?.config(),
            "address" => self.address = parse(value)?,
            "peer" => self.peer = parse(value)?,
            "port" => self.port = Some(parse(value)?),
            "seconds" => self.amount = Amount::Time(core::time::Duration::from_secs(parse(value)?)),
            "bytes" => self.amount = Amount::Bytes(parse(value)?),
            "length" => self.length = Some(parse(value)?),
            "rate" => self.rate = Rate::Bits(parse(value)?),
            "tests" => self.tests = parse(value)?,
            knob if knob.contains('.') => self.config.set(knob, value).ok()?,
            _ => return None,
        }
        Some(())
    }
}

fn parse<T: FromStr>(value: &str) -> Option<T> {
    value.parse().ok()
}
