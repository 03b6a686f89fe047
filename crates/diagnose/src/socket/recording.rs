//! A file of observations, for later analysis.
//!
//! Rule: each line is JSON. The first line names the columns and the settings of the host. Each
//! later line is a round and has only the values that changed. A socket without a change takes no
//! space, and its last values remain valid. All values are the kernel's own, so a better analysis
//! needs no new recording. `docs/watch.md` describes the format.

use std::{
    collections::HashMap,
    fmt,
    io::{self, BufRead, Write},
    net::SocketAddr,
};

use serde::{Deserialize, Serialize};

use super::{
    observation::{
        CongestionModel, CongestionName, DiagFamily, SocketId, SocketMemory, SocketObservation,
        SocketState, SocketTimer,
    },
    tcp_info::TcpInfo,
    verdict::HostSettings,
};

/// Version of the format.
const VERSION: u32 = 1;
/// Value of `kind` in the first line of a recording.
const KIND: &str = "fullpipe-sockets";
/// Names of the first columns. The columns of memory and of `tcp_info` follow.
const OWN: [&str; 11] = [
    "sk_state", "timer", "expires", "recv_q", "send_q", "uid", "ino", "if", "shutdown", "cgroup",
    "family",
];
/// Columns for the state of a congestion control: its kind, then five values.
const MODEL: [&str; 6] = [
    "model", "model_1", "model_2", "model_3", "model_4", "model_5",
];
/// Longest line that is read, in bytes.
const LONGEST_LINE: u64 = 64 << 20;

/// First line of a recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Header {
    kind: String,
    version: u32,
    /// Time 0 of the recording, in seconds since 1970-01-01 UTC.
    unix_time_s: f64,
    kernel: String,
    settings: HostSettings,
    columns: Vec<String>,
}

/// A socket that a round shows for the first time.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct NewSocket {
    sk: u64,
    local: SocketAddr,
    peer: SocketAddr,
    congestion: String,
}

/// A later line: time, new sockets, sockets that are gone, and changed values. Each entry of `rows`
/// has the socket's number, followed by pairs of column and changed value.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Line {
    t_us: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    new: Vec<NewSocket>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rows: Vec<Vec<Option<u64>>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    gone: Vec<u64>,
}

fn columns() -> Vec<&'static str> {
    let own = OWN.into_iter().chain(SocketMemory::NAMES);
    own.chain(MODEL)
        .chain(TcpInfo::NAMES.iter().copied())
        .collect()
}

/// Returns true for a column that is a clock: its value changes even if nothing happens.
fn is_clock(name: &str) -> bool {
    name == "expires" || name.starts_with("last_")
}

/// Writes the values of `socket` to `out`, in the order of [`columns`].
fn values(socket: &SocketObservation, out: &mut Vec<Option<u64>>) {
    out.clear();
    let own = [
        socket.state as u64,
        socket.timer as u64,
        socket.expires.into(),
        socket.receive_queue.into(),
        socket.send_queue.into(),
        socket.uid.into(),
        socket.inode.into(),
        socket.interface.into(),
        socket.shutdown.into(),
    ];
    out.extend(own.map(Some));
    out.extend([socket.cgroup, Some(socket.family as u64)]);
    let memory = socket.memory.map(|memory| memory.values());
    out.extend((0..SocketMemory::NAMES.len()).map(|place| memory.map(|all| all[place].into())));
    out.extend(model_values(socket.model));
    match &socket.info {
        Some(info) => out.extend(info.values()),
        None => out.extend(TcpInfo::NAMES.iter().map(|_| None)),
    }
}

fn model_values(model: Option<CongestionModel>) -> [Option<u64>; 6] {
    let of = |kind: u64, values: [u64; 5]| {
        let [a, b, c, d, e] = values;
        [kind, a, b, c, d, e].map(Some)
    };
    match model {
        None => [None; 6],
        Some(CongestionModel::Bbr {
            rate,
            min_rtt,
            pacing_gain,
            cwnd_gain,
        }) => of(
            1,
            [
                rate,
                min_rtt.into(),
                pacing_gain.into(),
                cwnd_gain.into(),
                0,
            ],
        ),
        Some(CongestionModel::Vegas {
            enabled,
            rtt_count,
            rtt,
            min_rtt,
        }) => of(
            2,
            [
                enabled.into(),
                rtt_count.into(),
                rtt.into(),
                min_rtt.into(),
                0,
            ],
        ),
        Some(CongestionModel::Dctcp {
            enabled,
            ce_state,
            alpha,
            ab_ecn,
            ab_total,
        }) => of(
            3,
            [
                enabled.into(),
                ce_state.into(),
                alpha.into(),
                ab_ecn.into(),
                ab_total.into(),
            ],
        ),
    }
}

fn model_of(values: &[Option<u64>]) -> Option<CongestionModel> {
    let value = |place: usize| values.get(place).copied().flatten();
    let word = |place: usize| value(place).map(|value| value as u32);
    Some(match value(0)? {
        1 => CongestionModel::Bbr {
            rate: value(1)?,
            min_rtt: word(2)?,
            pacing_gain: word(3)?,
            cwnd_gain: word(4)?,
        },
        2 => CongestionModel::Vegas {
            enabled: value(1)? != 0,
            rtt_count: word(2)?,
            rtt: word(3)?,
            min_rtt: word(4)?,
        },
        3 => CongestionModel::Dctcp {
            enabled: value(1)? != 0,
            ce_state: value(2)? != 0,
            alpha: word(3)?,
            ab_ecn: word(4)?,
            ab_total: word(5)?,
        },
        _ => return None,
    })
}

/// Writes a recording.
#[derive(Debug)]
pub struct SocketWriter<W: Write> {
    out: W,
    /// Last values of each socket, by its cookie.
    last: HashMap<u64, Vec<Option<u64>>>,
    scratch: Vec<Option<u64>>,
    /// For each column, true if it is a clock.
    clocks: Vec<bool>,
    line: Line,
}

impl<W: Write> SocketWriter<W> {
    /// Writes the first line. `unix_time_s` is time 0 of the recording, and `kernel` is the
    /// kernel's release.
    ///
    /// # Errors
    /// Returns errors of `out`.
    pub fn create(
        mut out: W,
        unix_time_s: f64,
        kernel: &str,
        settings: &HostSettings,
    ) -> io::Result<Self> {
        let columns = columns();
        let header = Header {
            kind: KIND.to_string(),
            version: VERSION,
            unix_time_s,
            kernel: kernel.to_string(),
            settings: settings.clone(),
            columns: columns.iter().map(ToString::to_string).collect(),
        };
        serde_json::to_writer(&mut out, &header)?;
        out.write_all(b"\n")?;
        out.flush()?;
        Ok(Self {
            out,
            last: HashMap::new(),
            scratch: Vec::new(),
            clocks: columns.iter().map(|name| is_clock(name)).collect(),
            line: Line::default(),
        })
    }

    /// Adds an observation to the current round.
    pub fn observe(&mut self, socket: &SocketObservation) {
        values(socket, &mut self.scratch);
        let cookie = socket.id.cookie;
        let last = self.last.entry(cookie).or_insert_with(|| {
            self.line.new.push(NewSocket {
                sk: cookie,
                local: socket.id.local,
                peer: socket.id.peer,
                congestion: socket.congestion.as_str().to_string(),
            });
            vec![None; self.scratch.len()]
        });
        let pairs = last.iter().zip(&self.scratch);
        let has_changed = pairs
            .zip(&self.clocks)
            .any(|((old, new), is_clock)| !is_clock && old != new);
        if !has_changed {
            return;
        }
        let mut row = vec![Some(cookie)];
        for (column, (old, new)) in last.iter_mut().zip(&self.scratch).enumerate() {
            if old != new {
                row.extend([Some(column as u64), *new]);
                *old = *new;
            }
        }
        self.line.rows.push(row);
    }

    /// Records that the socket is gone.
    pub fn close(&mut self, cookie: u64) {
        if self.last.remove(&cookie).is_some() {
            self.line.gone.push(cookie);
        }
    }

    /// Ends the round, `at_us` microseconds after time 0, writes its line and flushes the output.
    /// If the process is killed later, the recording has this round.
    ///
    /// # Errors
    /// Returns errors of the output.
    pub fn end_round(&mut self, at_us: u64) -> io::Result<()> {
        self.line.t_us = at_us;
        serde_json::to_writer(&mut self.out, &self.line)?;
        self.out.write_all(b"\n")?;
        self.out.flush()?;
        self.line.new.clear();
        self.line.rows.clear();
        self.line.gone.clear();
        Ok(())
    }

    /// Flushes, and returns the output.
    ///
    /// # Errors
    /// Returns errors of the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Error of reading a recording.
#[derive(Debug)]
pub enum RecordError {
    /// Reading the input failed.
    Input(io::Error),
    /// A line is invalid. Contains its number, from 1, and the reason.
    Line(u64, String),
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(error) => write!(f, "{error}"),
            Self::Line(number, why) => write!(f, "line {number}: {why}"),
        }
    }
}

impl std::error::Error for RecordError {}

impl From<io::Error> for RecordError {
    fn from(error: io::Error) -> Self {
        Self::Input(error)
    }
}

/// A round of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedRound {
    /// Microseconds since time 0 of the recording.
    pub at_us: u64,
    /// Every socket of the round, including those without a change.
    pub sockets: Vec<SocketObservation>,
    /// Cookies of the sockets that are gone.
    pub gone: Vec<u64>,
}

/// Reads a recording, round by round.
#[derive(Debug)]
pub struct SocketRecording<R: BufRead> {
    input: R,
    header: Header,
    number: u64,
    /// For each column of the file, its index in [`columns`]; `None` for an unknown column.
    places: Vec<Option<usize>>,
    /// The sockets so far, by their number.
    sockets: HashMap<u64, RecordedSocket>,
}

/// State of a socket while a recording is read.
#[derive(Debug)]
struct RecordedSocket {
    new: NewSocket,
    values: Vec<Option<u64>>,
    /// Time of the last line with values of this socket, in microseconds since time 0.
    at_us: u64,
}

impl<R: BufRead> SocketRecording<R> {
    /// Reads the first line. Columns that this program does not know are skipped; missing columns
    /// are read as absent values.
    ///
    /// # Errors
    /// Fails if the input fails, or is not a recording of sockets.
    pub fn open(input: R) -> Result<Self, RecordError> {
        let mut recording = Self {
            input,
            header: Header::default(),
            number: 0,
            places: Vec::new(),
            sockets: HashMap::new(),
        };
        let wrong = |why: &str| RecordError::Line(1, why.to_string());
        let line = recording
            .line()?
            .ok_or_else(|| wrong("the file is empty"))?;
        let header: Header = serde_json::from_str(&line).map_err(|error| {
            wrong(&format!(
                "not a recording of sockets (fullpipe watch --record): {error}"
            ))
        })?;
        if header.kind != KIND || header.version > VERSION {
            return Err(wrong(
                "not a recording of sockets (fullpipe watch --record), or one of a newer version of fullpipe",
            ));
        }
        let known = columns();
        let place = |name: &String| known.iter().position(|known| known == name);
        recording.places = header.columns.iter().map(place).collect();
        recording.header = header;
        Ok(recording)
    }

    /// Time 0 of the recording, in seconds since 1970-01-01 UTC.
    pub fn unix_time_s(&self) -> f64 {
        self.header.unix_time_s
    }

    /// Settings of the host when the recording began.
    pub fn settings(&self) -> &HostSettings {
        &self.header.settings
    }

    /// The kernel's release.
    pub fn kernel(&self) -> &str {
        &self.header.kernel
    }

    /// Returns the next round, or `None` at the end of the recording.
    ///
    /// # Errors
    /// Fails if the input fails, or a line is invalid or incomplete.
    pub fn next_round(&mut self) -> Result<Option<RecordedRound>, RecordError> {
        let Some(text) = self.line()? else {
            return Ok(None);
        };
        let wrong = |why: String| RecordError::Line(self.number, why);
        let line: Line = match serde_json::from_str(&text) {
            Ok(line) => line,
            Err(error) if error.is_eof() && !text.ends_with('\n') => {
                return Err(wrong(
                    "the file ends within this line, so the recording is incomplete".into(),
                ));
            }
            Err(error) => return Err(wrong(error.to_string())),
        };
        let width = columns().len();
        for new in line.new {
            let values = vec![None; width];
            let at_us = line.t_us;
            self.sockets
                .insert(new.sk, RecordedSocket { new, values, at_us });
        }
        for row in &line.rows {
            let cookie = row.first().copied().flatten();
            let known = cookie.and_then(|cookie| self.sockets.get_mut(&cookie));
            let socket = known.ok_or_else(|| {
                wrong("values of a socket that no earlier line contains under `new`".into())
            })?;
            socket.at_us = line.t_us;
            for pair in row[1..].chunks_exact(2) {
                let column = pair[0].and_then(|column| usize::try_from(column).ok());
                let place = column.and_then(|column| self.places.get(column).copied());
                match place {
                    Some(Some(place)) => socket.values[place] = pair[1],
                    Some(None) => {}
                    None => {
                        return Err(wrong(
                            "a value of a column that the first line does not list".into(),
                        ));
                    }
                }
            }
        }
        for cookie in &line.gone {
            self.sockets.remove(cookie);
        }
        let all = self.sockets.values();
        let mut sockets: Vec<_> = all
            .filter_map(|socket| socket.observation(line.t_us))
            .collect();
        sockets.sort_by_key(|socket| socket.id.cookie);
        Ok(Some(RecordedRound {
            at_us: line.t_us,
            sockets,
            gone: line.gone,
        }))
    }

    fn line(&mut self) -> Result<Option<String>, RecordError> {
        let mut line = String::new();
        self.number += 1;
        let read = io::Read::take(&mut self.input, LONGEST_LINE).read_line(&mut line)?;
        if read as u64 == LONGEST_LINE {
            return Err(RecordError::Line(
                self.number,
                "the line is too long for a recording of sockets".to_string(),
            ));
        }
        Ok((read > 0).then_some(line))
    }
}

impl RecordedSocket {
    /// The socket at `at_us`. The times since the last payload and the last ACK are advanced,
    /// because a socket without other changes has no row in the file.
    fn observation(&self, at_us: u64) -> Option<SocketObservation> {
        let value = |place: usize| self.values[place].unwrap_or(0);
        let word = |place: usize| value(place) as u32;
        let memory_at = OWN.len();
        let model_at = memory_at + SocketMemory::NAMES.len();
        let info_at = model_at + MODEL.len();
        let memory: Vec<u32> = (memory_at..model_at).map(word).collect();
        Some(SocketObservation {
            id: SocketId {
                local: self.new.local,
                peer: self.new.peer,
                cookie: self.new.sk,
            },
            state: SocketState::from_number(value(0) as u8)?,
            timer: SocketTimer::from_number(value(1) as u8),
            expires: word(2),
            receive_queue: word(3),
            send_queue: word(4),
            uid: word(5),
            inode: word(6),
            interface: word(7),
            shutdown: value(8) as u8,
            cgroup: self.values[9],
            family: DiagFamily::from_number(value(10) as u8)?,
            info: self.info(&self.values[info_at..], at_us),
            memory: self.values[memory_at]
                .and_then(|_| memory.try_into().ok())
                .map(SocketMemory::from_values),
            congestion: CongestionName::new(&self.new.congestion),
            model: model_of(&self.values[model_at..info_at]),
        })
    }

    fn info(&self, values: &[Option<u64>], at_us: u64) -> Option<TcpInfo> {
        values.iter().find(|value| value.is_some())?;
        let mut info = TcpInfo::from_values(values.iter().copied());
        let passed_ms = (at_us.saturating_sub(self.at_us) / 1_000) as u32;
        for clock in [
            &mut info.last_data_sent,
            &mut info.last_data_recv,
            &mut info.last_ack_recv,
        ] {
            *clock = clock.saturating_add(passed_ms);
        }
        Some(info)
    }
}
