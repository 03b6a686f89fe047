//! Reads a script into steps.
//!
//! Rule: a line has a time, a verb and the verb's words; `play` applies the steps to a stack.

use crate::segment::{Segment, number};

/// A mistake in a script, or a difference between the script and the stack.
#[derive(Debug)]
pub struct Mistake {
    pub line: usize,
    pub what: String,
}

/// A script: knobs first, then steps in order of time.
#[derive(Debug, Default)]
pub struct Script {
    pub knobs: Vec<(usize, String, String)>,
    pub mtu: usize,
    /// The peer's initial sequence number.
    pub peer_isn: u32,
    /// Tolerance of expected times, in microseconds.
    pub tolerance_us: u64,
    pub steps: Vec<Step>,
}

/// One line of a script.
#[derive(Debug)]
pub struct Step {
    pub line: usize,
    pub at_us: u64,
    pub action: Action,
}

/// The action or the expectation of a line.
#[derive(Debug)]
pub enum Action {
    Listen,
    Connect,
    Accept,
    /// Number of bytes to write, and number of bytes that the stack must accept.
    Write(usize, usize),
    Read(Reading),
    Shutdown,
    ShutdownRead,
    Peek(Reading),
    Close,
    Abort,
    Option(String, String),
    /// A segment from the peer.
    Inject(Segment),
    /// An ICMP error that quotes the stack's segment at this relative sequence number.
    Icmp(IcmpKind, u32),
    /// A packet of this protocol from the peer, with this many bytes of payload.
    Datagram(u8, usize),
    /// The next ICMP error that the stack sends.
    ExpectIcmp(IcmpKind),
    /// The next segment that the stack sends.
    Expect(Segment),
    /// Nothing has been sent since the last expectation, up to this time.
    Quiet,
    /// Drops, unchecked, everything sent up to this time.
    Skip,
    /// A field of the connection's `Info`, or `counter NAME`.
    Check(String, Comparison),
    /// The connection has ended with this reason.
    Closed(String),
}

/// The required outcome of a read.
#[derive(Debug)]
pub enum Reading {
    Bytes(usize),
    Empty,
    End,
    Error,
}

/// An ICMP error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IcmpKind {
    TooBig(u16),
    Port,
    Protocol,
    Host,
    TimeExceeded,
}

/// A condition on a value.
#[derive(Debug)]
pub enum Comparison {
    Is(String),
    AtLeast(f64),
    AtMost(f64),
    Within(f64, f64),
}

/// Parses a script.
pub fn parse(text: &str) -> Result<Script, Mistake> {
    let mut script = Script {
        mtu: 1_500,
        tolerance_us: 1_000,
        ..Script::default()
    };
    let mut clock_us = 0;
    for (index, line) in text.lines().enumerate() {
        let line_number = index + 1;
        let code = line.split('#').next().unwrap_or_default().trim();
        if code.is_empty() {
            continue;
        }
        let mistake = |what: String| Mistake {
            line: line_number,
            what,
        };
        let mut words: Vec<&str> = code.split_whitespace().collect();
        if let Some(at_us) = time(words[0], clock_us) {
            clock_us = at_us;
            words.remove(0);
        }
        if words.is_empty() {
            return Err(mistake("a time without a verb".to_string()));
        }
        if set_up(&mut script, line_number, &words).map_err(mistake)? {
            continue;
        }
        for action in actions(&words).map_err(mistake)? {
            let (after_us, action) = action;
            clock_us += after_us;
            script.steps.push(Step {
                line: line_number,
                at_us: clock_us,
                action,
            });
        }
    }
    Ok(script)
}

/// Handles a line before the first step; returns false for any other line.
fn set_up(script: &mut Script, line: usize, words: &[&str]) -> Result<bool, String> {
    match words {
        ["set", knob, value @ ..] => {
            script
                .knobs
                .push((line, (*knob).to_string(), value.join(" ")));
        }
        ["mtu", mtu] => script.mtu = number(mtu)? as usize,
        ["isn", isn] => script.peer_isn = number(isn)?,
        ["tolerance", ms] => {
            script.tolerance_us = (ms
                .parse::<f64>()
                .map_err(|_| "tolerance takes milliseconds")?
                * 1e3) as u64;
        }
        _ => return Ok(false),
    }
    if script.steps.is_empty() {
        Ok(true)
    } else {
        Err(format!("`{}` comes before the first step", words[0]))
    }
}

/// Parses a time in seconds; with `+` it is relative to the time of the previous line.
fn time(word: &str, clock_us: u64) -> Option<u64> {
    let (base, digits) = match word.strip_prefix('+') {
        Some(digits) => (clock_us, digits),
        None => (0, word),
    };
    if !digits.starts_with(|first: char| first.is_ascii_digit()) || !digits.contains('.') {
        return None;
    }
    let seconds: f64 = digits.parse().ok()?;
    Some(base + (seconds * 1e6).round() as u64)
}

/// Returns the actions of a line, each with the time that passes before it.
fn actions(words: &[&str]) -> Result<Vec<(u64, Action)>, String> {
    let one = |action| Ok(vec![(0, action)]);
    match words {
        ["listen"] => one(Action::Listen),
        ["connect"] => one(Action::Connect),
        ["accept"] => one(Action::Accept),
        ["write", bytes] => {
            let bytes = number(bytes)? as usize;
            one(Action::Write(bytes, bytes))
        }
        ["write", bytes, "takes", taken] => one(Action::Write(
            number(bytes)? as usize,
            number(taken)? as usize,
        )),
        ["read", outcome] => one(Action::Read(reading(outcome)?)),
        ["peek", outcome] => one(Action::Peek(reading(outcome)?)),
        ["shutdown", "read"] => one(Action::ShutdownRead),
        ["shutdown"] => one(Action::Shutdown),
        ["close"] => one(Action::Close),
        ["abort"] => one(Action::Abort),
        ["option", name, value @ ..] => one(Action::Option((*name).to_string(), value.join(" "))),
        ["quiet"] => one(Action::Quiet),
        ["skip"] => one(Action::Skip),
        ["closed", reason] => one(Action::Closed((*reason).to_string())),
        ["expect", name, value] => one(Action::Check((*name).to_string(), comparison(value)?)),
        ["expect", "counter", name, value] => {
            one(Action::Check(format!("counter {name}"), comparison(value)?))
        }
        ["establish", side, rest @ ..] => establish(side, rest),
        ["<", "icmp", kind @ ..] => icmp(kind),
        ["<", "ip", protocol, bytes] => {
            let protocol = number(protocol)? as u8;
            one(Action::Datagram(protocol, number(bytes)? as usize))
        }
        [">", "icmp", "port"] => one(Action::ExpectIcmp(IcmpKind::Port)),
        [">", "icmp", "protocol"] => one(Action::ExpectIcmp(IcmpKind::Protocol)),
        ["<", segment @ ..] => one(Action::Inject(Segment::parse(segment)?)),
        [">", segment @ ..] => one(Action::Expect(Segment::parse(segment)?)),
        _ => Err(format!("no such line: {}", words.join(" "))),
    }
}

fn icmp(words: &[&str]) -> Result<Vec<(u64, Action)>, String> {
    let (kind, seq) = match words {
        ["too-big", mtu, seq] => (IcmpKind::TooBig(number(mtu)? as u16), seq),
        ["port", seq] => (IcmpKind::Port, seq),
        ["host", seq] => (IcmpKind::Host, seq),
        ["time-exceeded", seq] => (IcmpKind::TimeExceeded, seq),
        _ => {
            return Err(
                "icmp takes too-big MTU SEQ, port SEQ, host SEQ or time-exceeded SEQ".into(),
            );
        }
    };
    Ok(vec![(0, Action::Icmp(kind, number(seq)?))])
}

/// A whole handshake: `establish server|client rtt MS [options of the peer's SYN]`.
fn establish(side: &str, words: &[&str]) -> Result<Vec<(u64, Action)>, String> {
    let ["rtt", ms, options @ ..] = words else {
        return Err("establish SIDE rtt MS [OPTIONS]".to_string());
    };
    let rtt_us = u64::from(number(ms)?) * 1_000;
    let segment = |flags: &str, range: &str, more: &[&str]| {
        let mut words = vec![flags, range];
        words.extend_from_slice(more);
        Segment::parse(&words)
    };
    let with_ack = |ack: &'static str, options: &[&'static str]| {
        let mut words = vec!["ack", ack];
        words.extend_from_slice(options);
        words
    };
    let win: Vec<&str> = options
        .windows(2)
        .find(|pair| pair[0] == "win")
        .map_or_else(Vec::new, <[&str]>::to_vec);
    let ts = options.windows(2).any(|pair| pair[0] == "ts");
    match side {
        "server" => {
            let mut last = with_ack("1", &[]);
            last.extend_from_slice(&win);
            if ts {
                last.extend_from_slice(&["ts", "now:last"]);
            }
            Ok(vec![
                (0, Action::Listen),
                (0, Action::Inject(segment("S", "0:0", options)?)),
                (0, Action::Expect(segment("S.", "0:0", &["ack", "1"])?)),
                (rtt_us, Action::Inject(segment(".", "1:1", &last)?)),
                (0, Action::Accept),
            ])
        }
        "client" => {
            let mut answer = vec!["ack", "1"];
            answer.extend_from_slice(options);
            Ok(vec![
                (0, Action::Connect),
                (0, Action::Expect(segment("S", "0:0", &[])?)),
                (rtt_us, Action::Inject(segment("S.", "0:0", &answer)?)),
                (0, Action::Expect(segment(".", "1:1", &["ack", "1"])?)),
            ])
        }
        other => Err(format!("establish {other}: server or client")),
    }
}

fn comparison(word: &str) -> Result<Comparison, String> {
    let value = |digits: &str| {
        digits
            .parse()
            .map_err(|_| format!("{digits}: not a number"))
    };
    if let Some(digits) = word.strip_prefix(">=") {
        Ok(Comparison::AtLeast(value(digits)?))
    } else if let Some(digits) = word.strip_prefix("<=") {
        Ok(Comparison::AtMost(value(digits)?))
    } else if let Some((low, high)) = word.split_once("..") {
        Ok(Comparison::Within(value(low)?, value(high)?))
    } else {
        Ok(Comparison::Is(word.to_string()))
    }
}

impl Comparison {
    /// Returns true if `actual` satisfies the condition.
    pub fn holds(&self, actual: &str) -> bool {
        let number = actual.parse::<f64>();
        match self {
            Self::Is(word) => match (word.parse::<f64>(), &number) {
                (Ok(wanted), Ok(actual)) => (wanted - actual).abs() < 1e-9,
                _ => word.eq_ignore_ascii_case(actual),
            },
            Self::AtLeast(least) => number.is_ok_and(|actual| actual >= *least),
            Self::AtMost(most) => number.is_ok_and(|actual| actual <= *most),
            Self::Within(low, high) => number.is_ok_and(|actual| (*low..=*high).contains(&actual)),
        }
    }
}

fn reading(outcome: &str) -> Result<Reading, String> {
    Ok(match outcome {
        "empty" => Reading::Empty,
        "end" => Reading::End,
        "error" => Reading::Error,
        bytes => Reading::Bytes(number(bytes)? as usize),
    })
}
