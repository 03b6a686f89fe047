//! A segment in a script's notation, and its comparison with a segment on the wire.
//!
//! Rule: sequence numbers are relative to the initial sequence number of their sender, so SYN is 0
//! and the first byte of payload is 1. A field that the script omits is not compared.

use std::{fmt, net::Ipv4Addr};

use fullpipe_wire::{Ecn, SackBlock, SackBlocks, TcpFlags};

/// A segment as written in a script.
#[derive(Clone, Debug, Default)]
pub struct Segment {
    pub flags: TcpFlags,
    /// PSH: compared only if the script has `P` or `-P`.
    pub push: Option<bool>,
    pub seq: u32,
    /// Bytes of payload.
    pub len: u32,
    pub ack: Option<u32>,
    pub window: Option<u16>,
    pub mss: Option<u16>,
    pub window_scale: Option<u8>,
    pub sack_permitted: bool,
    pub timestamps: Option<Stamp>,
    pub sack: Vec<(u32, u32)>,
    pub urgent: Option<u16>,
    pub ecn: Option<Ecn>,
    /// The peer's port, if it differs from the default.
    pub port: Option<u16>,
    /// DF flag that the packet of an expected segment must have.
    pub dont_fragment: Option<bool>,
    /// The source address of an injected segment, if it is not the peer's.
    pub src: Option<Ipv4Addr>,
    /// IP options of an injected segment's packet.
    pub ip_options: Vec<u8>,
    /// Options that must be absent: `nomss`, `nowscale`, `nosackok`, `nots`, `nosack`.
    pub absent: Vec<String>,
}

/// The timestamps option, in milliseconds relative to the first timestamp of the side that sent it.
#[derive(Clone, Copy, Debug)]
pub struct Stamp {
    /// TSval. If it is `None`, an expected value is not compared, and an injected segment carries
    /// the peer's clock.
    pub value: Option<u32>,
    /// TSecr. If it is `None`, an expected value is not compared, and an injected segment carries
    /// the last value that the stack sent.
    pub echo: Option<u32>,
}

impl Segment {
    /// Reads `FLAGS SEQ:END [ack N] …`.
    pub fn parse(words: &[&str]) -> Result<Self, String> {
        let [flags, range, rest @ ..] = words else {
            return Err("a segment is FLAGS SEQ:END …".to_string());
        };
        let mut segment = Self::default();
        segment.take_flags(flags)?;
        let (from, to) = range
            .split_once(':')
            .ok_or_else(|| format!("{range}: expected SEQ:END"))?;
        segment.seq = number(from)?;
        segment.len = number(to)?.wrapping_sub(segment.seq);
        let mut words = rest.iter().copied();
        while let Some(word) = words.next() {
            segment.take(word, &mut words)?;
        }
        Ok(segment)
    }

    fn take_flags(&mut self, text: &str) -> Result<(), String> {
        let (bits, without_push) = match text.strip_suffix("-P") {
            Some(bits) => (bits, true),
            None => (text, false),
        };
        self.push = without_push.then_some(false);
        for letter in bits.chars() {
            self.flags |= match letter {
                'S' => TcpFlags::SYN,
                'F' => TcpFlags::FIN,
                'R' => TcpFlags::RST,
                '.' => TcpFlags::ACK,
                'U' => TcpFlags::URG,
                'E' => TcpFlags::ECE,
                'W' => TcpFlags::CWR,
                'P' => {
                    self.push = Some(true);
                    TcpFlags::PSH
                }
                '0' => TcpFlags::NONE,
                other => return Err(format!("{other}: flags are S F R P U E W . or 0")),
            };
        }
        Ok(())
    }

    fn take<'a>(
        &mut self,
        word: &str,
        words: &mut impl Iterator<Item = &'a str>,
    ) -> Result<(), String> {
        let mut next = || {
            words
                .next()
                .ok_or_else(|| format!("{word}: a value is missing"))
        };
        match word {
            "ack" => self.ack = Some(number(next()?)?),
            "win" => self.window = Some(number(next()?)? as u16),
            "mss" => self.mss = Some(number(next()?)? as u16),
            "wscale" => self.window_scale = Some(number(next()?)? as u8),
            "sackok" => self.sack_permitted = true,
            "ts" => self.timestamps = Some(stamp(next()?)?),
            "sack" => self.sack = blocks(next()?)?,
            "urg" => self.urgent = Some(number(next()?)? as u16),
            "port" => self.port = Some(number(next()?)? as u16),
            "df" => self.dont_fragment = Some(true),
            "nodf" => self.dont_fragment = Some(false),
            "src" => {
                let text = next()?;
                let parsed = text.parse().map_err(|_| format!("{text}: no address"))?;
                self.src = Some(parsed);
            }
            "ipopt" => self.ip_options = bytes(next()?)?,
            "ect0" => self.ecn = Some(Ecn::Ect0),
            "ect1" => self.ecn = Some(Ecn::Ect1),
            "ce" => self.ecn = Some(Ecn::Ce),
            "noect" => self.ecn = Some(Ecn::NotEct),
            "nomss" | "nowscale" | "nosackok" | "nots" | "nosack" => {
                self.absent.push(word.to_string());
            }
            other => return Err(format!("{other}: no such field of a segment")),
        }
        Ok(())
    }

    /// The SACK blocks with `base` added.
    pub fn sack_blocks(&self, base: u32) -> SackBlocks {
        let mut blocks = SackBlocks::NONE;
        for (left, right) in &self.sack {
            blocks.push(SackBlock {
                left: left.wrapping_add(base),
                right: right.wrapping_add(base),
            });
        }
        blocks
    }

    /// The first field in which this segment and `actual` differ, if there is one.
    pub fn differs_from(&self, actual: &Self) -> Option<&'static str> {
        let without_push = |flags: TcpFlags| flags.bits() & !TcpFlags::PSH.bits();
        let pushed = actual.flags.contains(TcpFlags::PSH);
        let stamps_differ = self.timestamps.is_some_and(|wanted| {
            actual.timestamps.is_none_or(|stamp| {
                wanted.value.is_some_and(|value| stamp.value != Some(value))
                    || wanted.echo.is_some_and(|echo| stamp.echo != Some(echo))
            })
        });
        let present = |name: &str| match name {
            "nomss" => actual.mss.is_some(),
            "nowscale" => actual.window_scale.is_some(),
            "nosackok" => actual.sack_permitted,
            "nots" => actual.timestamps.is_some(),
            _ => !actual.sack.is_empty(),
        };
        let differences = [
            (
                "flags",
                without_push(self.flags) != without_push(actual.flags),
            ),
            ("PSH", self.push.is_some_and(|push| push != pushed)),
            ("sequence number", self.seq != actual.seq),
            ("length", self.len != actual.len),
            ("ack", self.ack.is_some() && self.ack != actual.ack),
            (
                "window",
                self.window.is_some() && self.window != actual.window,
            ),
            ("MSS", self.mss.is_some() && self.mss != actual.mss),
            (
                "window scale",
                self.window_scale.is_some() && self.window_scale != actual.window_scale,
            ),
            (
                "SACK permitted",
                self.sack_permitted && !actual.sack_permitted,
            ),
            ("timestamps", stamps_differ),
            (
                "SACK blocks",
                !self.sack.is_empty() && self.sack != actual.sack,
            ),
            (
                "urgent pointer",
                self.urgent.is_some() && self.urgent != actual.urgent,
            ),
            (
                "DF",
                self.dont_fragment.is_some() && self.dont_fragment != actual.dont_fragment,
            ),
            ("ECN field", self.ecn.is_some() && self.ecn != actual.ecn),
            ("port", self.port.is_some() && self.port != actual.port),
            (
                "an option that must be absent",
                self.absent.iter().any(|name| present(name)),
            ),
        ];
        differences
            .into_iter()
            .find_map(|(name, differs)| differs.then_some(name))
    }
}

/// Parses a number or a sum, whose terms may be powers of two: `2^31+5`, `1-2`. The result wraps at
/// 2^32.
pub fn number(text: &str) -> Result<u32, String> {
    let mut total: i128 = 0;
    let mut sign = 1;
    let mut rest = text;
    loop {
        let end = rest[1.min(rest.len())..]
            .find(['+', '-'])
            .map_or(rest.len(), |at| at + 1);
        let term = &rest[..end];
        let (term, sign_here) = match term.strip_prefix('-') {
            Some(term) => (term, -sign),
            None => (term.strip_prefix('+').unwrap_or(term), sign),
        };
        let value: i128 = match term.split_once('^') {
            Some(("2", power)) => {
                1 << power
                    .parse::<u32>()
                    .map_err(|_| format!("{text}: not a number"))?
            }
            _ => term.parse().map_err(|_| format!("{text}: not a number"))?,
        };
        total += sign_here * value;
        rest = &rest[end..];
        sign = 1;
        if rest.is_empty() {
            return Ok(total as u32);
        }
    }
}

fn stamp(text: &str) -> Result<Stamp, String> {
    let (value, echo) = text
        .split_once(':')
        .ok_or_else(|| format!("{text}: timestamps are VALUE:ECHO"))?;
    let part = |word: &str| match word {
        "any" | "now" | "last" => Ok(None),
        digits => number(digits).map(Some),
    };
    Ok(Stamp {
        value: part(value)?,
        echo: part(echo)?,
    })
}

/// Bytes in hexadecimal: `83070400`.
fn bytes(text: &str) -> Result<Vec<u8>, String> {
    let mistake = || format!("{text}: bytes are pairs of hexadecimal digits");
    (0..text.len())
        .step_by(2)
        .map(|at| {
            let pair = text.get(at..at + 2).ok_or_else(mistake)?;
            u8::from_str_radix(pair, 16).map_err(|_| mistake())
        })
        .collect()
}

fn blocks(text: &str) -> Result<Vec<(u32, u32)>, String> {
    text.split(',')
        .map(|block| {
            let (left, right) = block
                .split_once(':')
                .ok_or_else(|| format!("{block}: a SACK block is LEFT:RIGHT"))?;
            Ok((number(left)?, number(right)?))
        })
        .collect()
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (flag, letter) in [
            (TcpFlags::SYN, 'S'),
            (TcpFlags::FIN, 'F'),
            (TcpFlags::RST, 'R'),
            (TcpFlags::PSH, 'P'),
            (TcpFlags::URG, 'U'),
            (TcpFlags::ECE, 'E'),
            (TcpFlags::CWR, 'W'),
            (TcpFlags::ACK, '.'),
        ] {
            if self.flags.contains(flag) {
                write!(f, "{letter}")?;
            }
        }
        write!(f, " {}:{}", self.seq, self.seq.wrapping_add(self.len))?;
        if let Some(ack) = self.ack {
            write!(f, " ack {ack}")?;
        }
        if let Some(window) = self.window {
            write!(f, " win {window}")?;
        }
        if let Some(mss) = self.mss {
            write!(f, " mss {mss}")?;
        }
        if let Some(shift) = self.window_scale {
            write!(f, " wscale {shift}")?;
        }
        if self.sack_permitted {
            write!(f, " sackok")?;
        }
        if let Some(Stamp { value, echo }) = self.timestamps {
            write!(f, " ts {}:{}", value.unwrap_or(0), echo.unwrap_or(0))?;
        }
        for (index, (left, right)) in self.sack.iter().enumerate() {
            let before = if index == 0 { " sack " } else { "," };
            write!(f, "{before}{left}:{right}")?;
        }
        if let Some(urgent) = self.urgent.filter(|urgent| *urgent != 0) {
            write!(f, " urg {urgent}")?;
        }
        if self.dont_fragment == Some(false) {
            write!(f, " nodf")?;
        }
        match self.ecn {
            Some(Ecn::Ect0) => write!(f, " ect0")?,
            Some(Ecn::Ect1) => write!(f, " ect1")?,
            Some(Ecn::Ce) => write!(f, " ce")?,
            Some(Ecn::NotEct) | None => {}
        }
        Ok(())
    }
}
