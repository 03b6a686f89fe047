//! Asks for the sockets of a network namespace in each round, and reads related data: processes,
//! settings and counters of the host.
//!
//! Rule: sockets, settings and counters are read in the watched namespace. It is an error if the
//! sockets cannot be read. Other data that this user may not read is absent.

#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, HashSet},
    fs::{self, File},
    io::{self, BufWriter},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use fullpipe_diagnose::socket::{
    DiagFamily, FollowedSocket, HostSettings, REQUEST_ONE_LEN, SocketEvent, SocketFilter,
    SocketObservation, SocketState, SocketTable, SocketWriter, request_one,
};
use fullpipe_host::{
    DiagAnswer, DumpEnd, Namespace, ProcessName, SockDiag, name_of, socket_owners, sockets_of,
};

use crate::{arguments::WatchArguments, failure::Failure};

/// Folder with the named namespaces of `ip netns`.
const NAMED: &str = "/run/netns";
/// Shortest time between two scans of all processes.
const SCAN_EVERY: Duration = Duration::from_secs(1);
/// Intervals between two dumps of all connections. For a dump, the kernel walks its whole table,
/// which takes about a millisecond even if few sockets match. Between two dumps, the known sockets
/// are therefore requested one by one.
const DISCOVER_INTERVALS: u32 = 5;
/// Shortest time between two dumps.
const DISCOVER_SOONEST: Duration = Duration::from_millis(100);
/// Longest time between two dumps, unless the interval is longer.
const DISCOVER_LATEST: Duration = Duration::from_millis(500);
/// Number of sockets above which a dump is cheaper than a request for each socket.
const MOST_ASKED: usize = 1_500;
/// States of the watched sockets: all states except LISTEN, TIME-WAIT and CLOSED.
const STATES: [SocketState; 8] = [
    SocketState::Established,
    SocketState::SynSent,
    SocketState::SynReceived,
    SocketState::FinWait1,
    SocketState::FinWait2,
    SocketState::CloseWait,
    SocketState::LastAck,
    SocketState::Closing,
];

/// The watched sockets, and the means to ask for them.
pub struct Source {
    diag: SockDiag,
    namespace: Option<Namespace>,
    /// Dump requests that together list all sockets.
    requests: Vec<Vec<u8>>,
    /// Dump requests for one address family each, for kernels that cannot list all families at
    /// once.
    fallback: Vec<Vec<u8>>,
    /// Time of the last dump.
    discovered: Option<Instant>,
    discover_every: Duration,
    /// Requests for single sockets, and the version of the table of sockets for which they were
    /// built.
    questions: (u64, Vec<u8>),
    /// If set, only sockets of this process are watched.
    pid: Option<u32>,
    /// If set, only this socket is watched.
    cookie: Option<u64>,
    /// Known processes by the inode of their socket.
    owners: HashMap<u32, ProcessName>,
    scanned: Option<Instant>,
    /// Time 0 of the observations.
    began: Instant,
    /// Number of rounds whose answer was incomplete. An incomplete dump counts only if it was
    /// incomplete again when it was repeated.
    pub incomplete: u64,
}

/// Outputs of a round besides the sockets' new state.
pub struct Round<'a> {
    /// Writer of the recording, if there is one.
    pub recording: Option<&'a mut SocketWriter<BufWriter<File>>>,
    /// The round adds its events here.
    pub events: &'a mut Vec<SocketEvent>,
    /// The round adds sockets that no longer exist here.
    pub gone: &'a mut Vec<FollowedSocket>,
}

impl Round<'_> {
    fn note(&mut self, table: &mut SocketTable, socket: &SocketObservation, at: Duration) {
        let at_us = at.as_micros() as u64;
        table.observe(at_us, socket, &mut |change| self.events.push(change));
        if let Some(recording) = &mut self.recording {
            recording.observe(socket);
        }
    }
}

impl Source {
    /// Opens the namespace that `arguments` name, and a `sock_diag` socket in it.
    pub fn open(arguments: &WatchArguments) -> Result<Self, Failure> {
        let namespace = namespace(arguments)?;
        let opened = match &namespace {
            Some(namespace) => namespace.enter(SockDiag::open).map_err(|error| {
                Failure::failed(format!(
                    "entering the network namespace: {error}; this needs the capability \
                     CAP_SYS_ADMIN: run as root"
                ))
            })?,
            None => SockDiag::open(),
        };
        let filter = SocketFilter {
            ports: arguments.port.clone(),
            peers: arguments.peer.clone(),
            locals: arguments.local.clone(),
        };
        let request = |family| filter.request(family, &STATES);
        Ok(Self {
            diag: opened.map_err(Failure::failed)?,
            namespace,
            requests: vec![filter.request_all(&STATES)],
            fallback: vec![request(DiagFamily::V4), request(DiagFamily::V6)],
            discovered: None,
            discover_every: (Duration::from_nanos(arguments.interval.as_nanos())
                * DISCOVER_INTERVALS)
                .clamp(DISCOVER_SOONEST, DISCOVER_LATEST),
            questions: (0, Vec::new()),
            pid: arguments.pid,
            cookie: arguments.socket,
            owners: HashMap::new(),
            scanned: None,
            began: Instant::now(),
            incomplete: 0,
        })
    }

    /// Microseconds since time 0 of the observations.
    pub fn now_us(&self) -> u64 {
        self.began.elapsed().as_micros() as u64
    }

    /// Requests the sockets and records the answers in `table`. New sockets are found at least
    /// every half second, or in each round if the interval is longer.
    pub fn round(&mut self, table: &mut SocketTable, round: &mut Round<'_>) -> Result<(), Failure> {
        table.begin_round();
        let is_due = self
            .discovered
            .is_none_or(|at| at.elapsed() >= self.discover_every);
        let end = match is_due || table.sockets().len() > MOST_ASKED {
            true => self.discover(table, round)?,
            false => self.ask(table, round)?,
        };
        if end == DumpEnd::Complete {
            let at_us = self.now_us();
            table.end_round(
                at_us,
                &mut |change| round.events.push(change),
                &mut |socket| round.gone.push(*socket),
            );
        } else {
            self.incomplete += 1;
        }
        Ok(())
    }

    /// Dumps all sockets.
    fn discover(
        &mut self,
        table: &mut SocketTable,
        round: &mut Round<'_>,
    ) -> Result<DumpEnd, Failure> {
        self.discovered = Some(Instant::now());
        let wanted = self.wanted_inodes()?;
        let (began, cookie) = (self.began, self.cookie);
        let mut answer = |payload: &[u8], at: Instant| {
            let Some(socket) = SocketObservation::parse(payload) else {
                return;
            };
            let is_wanted = wanted
                .as_ref()
                .is_none_or(|inodes| inodes.contains(&socket.inode))
                && cookie.is_none_or(|cookie| cookie == socket.id.cookie);
            if is_wanted {
                round.note(table, &socket, at.saturating_duration_since(began));
            }
        };
        let mut all = DumpEnd::Complete;
        let mut place = 0;
        while let Some(request) = self.requests.get(place) {
            let mut end = self.diag.dump(request, &mut answer);
            if end.is_err() && !self.fallback.is_empty() {
                self.requests = std::mem::take(&mut self.fallback);
                continue;
            }
            // Repeat an incomplete dump. Sockets that are observed twice in a round are counted
            // once.
            if !matches!(end, Ok(DumpEnd::Complete) | Err(_)) {
                end = self.diag.dump(request, &mut answer);
            }
            match end.map_err(Failure::failed)? {
                DumpEnd::Complete => {}
                other => all = other,
            }
            place += 1;
        }
        Ok(all)
    }

    /// Requests each socket of `table`.
    fn ask(&mut self, table: &mut SocketTable, round: &mut Round<'_>) -> Result<DumpEnd, Failure> {
        let (made_for, questions) = &mut self.questions;
        if *made_for != table.changes() {
            *made_for = table.changes();
            questions.clear();
            for (place, socket) in table.sockets().iter().enumerate() {
                request_one(questions, &socket.latest, place as u32);
            }
        }
        let began = self.began;
        let mut gone = Vec::new();
        let mut answer = |answer: DiagAnswer<'_>, at: Instant| match answer {
            DiagAnswer::Found(payload) => {
                // Ignore sockets that are not in the table: for a closed socket, the kernel may
                // return another socket in TIME-WAIT. Ignore sockets in a state that is not in
                // `STATES`, so that they count as gone.
                let known = SocketObservation::parse(payload)
                    .filter(|socket| STATES.contains(&socket.state));
                if let Some(socket) = known.filter(|socket| table.find(socket.id.cookie).is_some())
                {
                    round.note(table, &socket, at.saturating_duration_since(began));
                }
            }
            DiagAnswer::Gone(sequence) => gone.push(sequence as usize),
        };
        let end = self
            .diag
            .ask(questions, REQUEST_ONE_LEN, &mut answer)
            .map_err(Failure::failed)?;
        let cookies: Vec<_> = gone
            .iter()
            .filter_map(|&place| Some(table.sockets().get(place)?.latest.id.cookie))
            .collect();
        for cookie in cookies {
            table.lose(cookie);
        }
        Ok(end)
    }

    /// Inodes of the watched process's sockets; `None` if all processes are watched.
    fn wanted_inodes(&self) -> Result<Option<HashSet<u32>>, Failure> {
        let Some(pid) = self.pid else {
            return Ok(None);
        };
        let inodes =
            sockets_of(pid).map_err(|error| Failure::failed(process_error(pid, &error)))?;
        Ok(Some(inodes.into_iter().collect()))
    }

    /// Finds the processes of sockets whose process is still unknown, at most once per second.
    pub fn find_owners(&mut self, table: &SocketTable) {
        if let Some(pid) = self.pid {
            let name = name_of(pid);
            for socket in table.sockets() {
                let name = name.clone();
                self.owners
                    .entry(socket.latest.inode)
                    .or_insert(ProcessName { pid, name });
            }
            return;
        }
        let is_unknown = |inode: u32| inode != 0 && !self.owners.contains_key(&inode);
        let is_due = self.scanned.is_none_or(|at| at.elapsed() >= SCAN_EVERY);
        let mut sockets = table.sockets().iter();
        if is_due && sockets.any(|socket| is_unknown(socket.latest.inode)) {
            self.scanned = Some(Instant::now());
            if let Ok(found) = socket_owners() {
                self.owners = found.by_inode;
                // Record the other inodes as unknown, so that they are not looked up again:
                // sockets of other users' processes and sockets without a process are never
                // found.
                for socket in table.sockets() {
                    let inode = socket.latest.inode;
                    self.owners.entry(inode).or_insert_with(|| ProcessName {
                        pid: 0,
                        name: String::new(),
                    });
                }
            }
        }
    }

    /// The process that owns the socket with `inode`, if known.
    pub fn owner(&self, inode: u32) -> Option<&ProcessName> {
        self.owners.get(&inode).filter(|owner| owner.pid != 0)
    }

    /// Runs `read` in the watched namespace.
    fn inside<R: Send>(&self, read: impl FnOnce() -> R + Send) -> Option<R> {
        match &self.namespace {
            Some(namespace) => namespace.enter(read).ok(),
            None => Some(read()),
        }
    }

    /// Reads the settings of the host.
    pub fn settings(&self) -> HostSettings {
        self.inside(settings).unwrap_or_default()
    }

    /// Reads TCP counters, with the names of `nstat`.
    pub fn counters(&self) -> Vec<(String, u64)> {
        self.inside(|| {
            let read = |name: &str| fs::read_to_string(format!("/proc/thread-self/net/{name}"));
            let mut counters = Vec::new();
            for text in [read("snmp"), read("netstat")].into_iter().flatten() {
                add_counters(&mut counters, &text);
            }
            counters
        })
        .unwrap_or_default()
    }
}

fn process_error(pid: u32, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("there is no process {pid}"),
        _ => format!(
            "reading the sockets of process {pid}: {error}; run as root or as the process's own user"
        ),
    }
}

/// Opens the namespace that `arguments` name; `None` stands for the namespace of this process.
fn namespace(arguments: &WatchArguments) -> Result<Option<Namespace>, Failure> {
    if let Some(name) = &arguments.netns {
        return named(name).map(Some);
    }
    let Some(pid) = arguments.pid else {
        return Ok(None);
    };
    let path = PathBuf::from(format!("/proc/{pid}/ns/net"));
    // Without permission to read its own namespace link, the process treats the other namespace as
    // different.
    let own = fs::read_link("/proc/self/ns/net").ok();
    match fs::read_link(&path) {
        Ok(other) if own.as_ref() != Some(&other) => {
            Namespace::open(&path).map(Some).map_err(Failure::failed)
        }
        Ok(_) => Ok(None),
        Err(error) => Err(Failure::failed(process_error(pid, &error))),
    }
}

/// Opens the namespace with this `ip netns` name or path.
fn named(name: &Path) -> Result<Namespace, Failure> {
    let is_name = name.components().count() == 1;
    let path = if is_name {
        Path::new(NAMED).join(name)
    } else {
        name.to_path_buf()
    };
    // Also try to open a file that this process may not read, because the error names the remedy.
    let found = fs::symlink_metadata(&path).map_err(|error| error.kind());
    if !matches!(found, Err(io::ErrorKind::NotFound)) {
        return Namespace::open(&path).map_err(Failure::failed);
    }
    let known: Vec<_> = fs::read_dir(NAMED)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .collect();
    let known = match known.is_empty() {
        true => "`ip netns` lists none".to_string(),
        false => format!("`ip netns` lists {}", known.join(", ")),
    };
    Err(Failure::usage(format!(
        "--netns {}: there is no such namespace; {known}",
        name.display()
    )))
}

/// Reads the settings of this thread's namespace.
fn settings() -> HostSettings {
    let text = |name: &str| fs::read_to_string(format!("/proc/sys/net/{name}")).ok();
    let number = |name: &str| text(name)?.trim().parse().ok();
    let three = |name: &str| {
        let text = text(name)?;
        let numbers: Option<Vec<u64>> = text
            .split_whitespace()
            .map(|part| part.parse().ok())
            .collect();
        numbers?.try_into().ok()
    };
    let flag = |name: &str| number(name).map(|value: u64| value != 0);
    let pages = || {
        let text = fs::read_to_string("/proc/thread-self/net/sockstat").ok()?;
        let line = text.lines().find(|line| line.starts_with("TCP:"))?;
        let mut words = line.split_whitespace().skip_while(|word| *word != "mem");
        words.nth(1)?.parse().ok()
    };
    HostSettings {
        wmem_max: number("core/wmem_max"),
        rmem_max: number("core/rmem_max"),
        tcp_wmem: three("ipv4/tcp_wmem"),
        tcp_rmem: three("ipv4/tcp_rmem"),
        tcp_mem: three("ipv4/tcp_mem"),
        tcp_pages: pages(),
        tcp_moderate_rcvbuf: flag("ipv4/tcp_moderate_rcvbuf"),
        tcp_window_scaling: flag("ipv4/tcp_window_scaling"),
        tcp_slow_start_after_idle: flag("ipv4/tcp_slow_start_after_idle"),
        tcp_retries2: number("ipv4/tcp_retries2"),
        tcp_limit_output_bytes: number("ipv4/tcp_limit_output_bytes"),
    }
}

/// Appends the counters of a file that consists of pairs of lines, one with names and one with
/// values: `Tcp: RetransSegs` becomes `TcpRetransSegs`.
fn add_counters(counters: &mut Vec<(String, u64)>, text: &str) {
    let lines: Vec<_> = text.lines().collect();
    for pair in lines.chunks_exact(2) {
        let (Some((group, names)), Some((_, values))) =
            (pair[0].split_once(": "), pair[1].split_once(": "))
        else {
            continue;
        };
        if group.starts_with("Tcp") {
            let pairs = names.split_whitespace().zip(values.split_whitespace());
            counters.extend(
                pairs.filter_map(|(name, value)| {
                    Some((format!("{group}{name}"), value.parse().ok()?))
                }),
            );
        }
    }
}
