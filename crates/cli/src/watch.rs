//! `fullpipe watch`: live sockets of this host, their limits, and the settings to change.
//!
//! Rule: the kernel is asked and never changed. It is asked for the sockets in each round. The
//! terminal is restored however the command ends. `fullpipe-host` asks the kernel, and
//! `fullpipe-diagnose` analyses the answers.

pub mod json;
pub mod metrics;
mod screen;
mod source;
mod table;
pub mod verdict;

use std::{
    fs::{self, File},
    io::{BufReader, BufWriter, IsTerminal, stdout},
    path::Path,
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use fullpipe_diagnose::socket::{
    FollowedSocket, HostSettings, SocketEvent, SocketRecording, SocketTable, SocketWriter, ss_line,
};
use fullpipe_lab::units::{counted, seconds_text};
use fullpipe_perf::Stop;

use crate::{
    arguments::WatchArguments,
    failure::{Failure, note},
    output::{Terminal, print},
};
use metrics::MetricsRequest;
use screen::Screen;
use source::{Round, Source};
use table::{TableLayout, chosen};
use verdict::verdict_text;

/// Longest time between two checks whether Ctrl-C was pressed.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Largest number of verdicts that are printed at the end.
const MOST_VERDICTS: usize = 5;
/// Number of closed sockets that are kept for the final verdicts: those with the most payload. The
/// list is shortened to this number only after it has grown to twice this number.
const MOST_GONE: usize = 100;
/// Width in columns of the time at the beginning of a line.
const TIME_COLUMNS: usize = 8;

/// Runs the subcommand.
pub fn run(arguments: &WatchArguments, terminal: &Terminal) -> Result<(), Failure> {
    let mut watch = Watching::open(arguments, terminal)?;
    watch.round()?;
    if arguments.once {
        return watch.print_once();
    }
    if arguments.socket.is_some() && watch.table.sockets().is_empty() {
        return Err(no_socket(arguments));
    }
    watch.follow()
}

fn no_socket(arguments: &WatchArguments) -> Failure {
    let cookie = arguments.socket.unwrap_or_default();
    Failure::failed(format!(
        "there is no socket {cookie:x}; `fullpipe watch --once` lists all sockets"
    ))
}

/// Refuses to replace a file that is not a recording. An empty file, a device and a FIFO are
/// accepted.
fn keep_other_files(path: &Path) -> Result<(), Failure> {
    let has_content = fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0);
    let is_recording =
        || File::open(path).is_ok_and(|file| SocketRecording::open(BufReader::new(file)).is_ok());
    match has_content && !is_recording() {
        true => Err(Failure::usage(format!(
            "--record {}: the file exists and is not a recording; choose another name",
            path.display()
        ))),
        false => Ok(()),
    }
}

/// State of a running `fullpipe watch`.
struct Watching<'a> {
    arguments: &'a WatchArguments,
    terminal: &'a Terminal,
    source: Source,
    table: SocketTable,
    settings: HostSettings,
    counters_before: Vec<(String, u64)>,
    events: Vec<SocketEvent>,
    gone: Vec<FollowedSocket>,
    recording: Option<SocketWriter<BufWriter<File>>>,
    requests: Receiver<MetricsRequest>,
    /// Keeps the channel open if there is no server.
    _sender: mpsc::Sender<MetricsRequest>,
    /// The terminal on which the table is redrawn; `None` in a pipe.
    screen: Option<Screen>,
    headed: Option<TableLayout>,
    rounds: u64,
}

impl<'a> Watching<'a> {
    fn open(arguments: &'a WatchArguments, terminal: &'a Terminal) -> Result<Self, Failure> {
        let source = Source::open(arguments)?;
        let settings = source.settings();
        let recording = arguments.record.as_ref().map(|path| {
            let failed = |error: std::io::Error| {
                Failure::failed(format!("--record {}: {error}", path.display()))
            };
            keep_other_files(path)?;
            let file = File::create(path).map_err(failed)?;
            let kernel = fs::read_to_string("/proc/sys/kernel/osrelease");
            let kernel = kernel.unwrap_or_default();
            let began = unix_time_s() - source.now_us() as f64 / 1e6;
            SocketWriter::create(BufWriter::new(file), began, kernel.trim(), &settings)
                .map_err(failed)
        });
        let recording = recording.transpose()?;
        let (sender, requests) = mpsc::channel();
        if let Some(address) = arguments.prometheus {
            let bound = metrics::serve(address, sender.clone())?;
            if !terminal.quiet {
                note(format_args!("metrics at http://{bound}/metrics"));
            }
        }
        let counters_before = match arguments.nstat && !arguments.once {
            true => source.counters(),
            false => Vec::new(),
        };
        Ok(Self {
            arguments,
            terminal,
            source,
            table: SocketTable::new(),
            settings,
            counters_before,
            events: Vec::new(),
            gone: Vec::new(),
            recording,
            requests,
            _sender: sender,
            screen: None,
            headed: None,
            rounds: 0,
        })
    }

    /// Runs one round: asks the kernel for the sockets.
    fn round(&mut self) -> Result<(), Failure> {
        let Self {
            source,
            table,
            events,
            gone,
            recording,
            ..
        } = self;
        let mut left = Vec::new();
        let mut round = Round {
            recording: recording.as_mut(),
            events,
            gone: &mut left,
        };
        source.round(table, &mut round)?;
        let at_us = source.now_us();
        if let Some(recording) = recording {
            for socket in &left {
                recording.close(socket.latest.id.cookie);
            }
            recording.end_round(at_us)?;
        }
        gone.extend(left);
        if gone.len() > 2 * MOST_GONE {
            gone.sort_by_key(|socket| std::cmp::Reverse(moved(socket)));
            gone.truncate(MOST_GONE);
        }
        self.rounds += 1;
        Ok(())
    }

    fn print_once(&mut self) -> Result<(), Failure> {
        if self.arguments.socket.is_some() && self.table.sockets().is_empty() {
            return Err(no_socket(self.arguments));
        }
        self.source.find_owners(&self.table);
        let sockets = chosen(&self.table, true);
        if self.arguments.json {
            return print(&self.document(&sockets, true));
        }
        let layout = self.terminal.layout;
        if let ([socket], Some(_)) = (sockets.as_slice(), self.arguments.socket) {
            print(&self.verdict(socket))?;
        } else {
            let columns = TableLayout::of(&sockets, &self.source, layout, None);
            let mut text = columns.heading() + "\n";
            for socket in &sockets {
                text += &columns.row("", socket, &self.source);
                text.push('\n');
                if self.arguments.verbose {
                    text += &self.fields(socket);
                }
            }
            if sockets.is_empty() {
                text = self.nothing() + "\n";
            }
            print(&text)?;
        }
        if let ([socket], true, Some(_)) = (
            sockets.as_slice(),
            self.arguments.verbose,
            self.arguments.socket,
        ) {
            print(&self.fields(socket))?;
        }
        if self.arguments.nstat {
            print(&counters_text(&self.source.counters(), &[], 0.0))?;
        }
        Ok(())
    }

    /// Runs a round at each interval until the time is over or the user presses Ctrl-C.
    fn follow(&mut self) -> Result<(), Failure> {
        let stop = Stop::on_interrupt()?;
        let began = Instant::now();
        let interval = Duration::from_nanos(self.arguments.interval.as_nanos());
        let is_drawn = stdout().is_terminal() && !self.arguments.json && !self.arguments.events;
        if is_drawn {
            self.screen = Some(Screen::enter()?);
        }
        let shown = self.show();
        let followed = shown.and_then(|()| self.follow_until(&stop, began, interval));
        // The table disappears with the second screen, so only the verdicts remain.
        self.screen = None;
        if let Some(recording) = self.recording.take() {
            recording.finish()?;
        }
        followed?;
        self.print_end()
    }

    fn follow_until(
        &mut self,
        stop: &Stop,
        began: Instant,
        interval: Duration,
    ) -> Result<(), Failure> {
        let mut due = began + interval;
        let end = self.arguments.time.map(|time| began + time);
        loop {
            if !self.wait(stop, end.map_or(due, |end| due.min(end))) {
                return Ok(());
            }
            self.round()?;
            self.show()?;
            self.events.clear();
            let now = Instant::now();
            if end.is_some_and(|end| now >= end) {
                return Ok(());
            }
            due += interval;
            if due < now {
                // The round took longer than the interval, so the next intervals are skipped.
                due = now + interval;
            }
        }
    }

    /// Answers requests for metrics until `due`. Returns false after Ctrl-C.
    fn wait(&mut self, stop: &Stop, due: Instant) -> bool {
        loop {
            if stop.is_raised() {
                return false;
            }
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            match self.requests.recv_timeout(left.min(LOOK_EVERY)) {
                Ok(reply) => {
                    self.source.find_owners(&self.table);
                    let by = self.arguments.prometheus_by;
                    // Ignore the error: the client may have closed the connection.
                    let _ = reply.send(metrics::metrics(&self.table, &self.source, by));
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }

    /// Prints the result of the latest round.
    fn show(&mut self) -> Result<(), Failure> {
        let is_silent = self.arguments.prometheus.is_some() || self.arguments.record.is_some();
        let is_lines = self.screen.is_none();
        // With `--quiet`, print no lines if a file or a server has the results: printing would cost
        // more time than asking the kernel.
        if is_lines && is_silent && self.terminal.quiet && !self.arguments.json {
            return Ok(());
        }
        self.source.find_owners(&self.table);
        if self.arguments.json {
            let sockets = chosen(&self.table, self.arguments.idle);
            return print(&self.document(&sockets, self.rounds == 1));
        }
        if self.arguments.events {
            return print(&self.events_text());
        }
        let text = match (self.arguments.socket, self.screen.is_some()) {
            (Some(cookie), true) => self.verdict_of(cookie),
            (_, true) => self.page(),
            (_, false) => self.lines(),
        };
        match &mut self.screen {
            Some(screen) => screen.draw(&text),
            None => print(&text),
        }
    }

    fn verdict_of(&self, cookie: u64) -> String {
        let followed = self.table.find(cookie);
        let gone = || self.gone.iter().find(|one| one.latest.id.cookie == cookie);
        match followed.or_else(gone) {
            Some(socket) => self.verdict(socket),
            None => String::new(),
        }
    }

    /// Returns the page for a terminal.
    fn page(&self) -> String {
        let sockets = chosen(&self.table, self.arguments.idle);
        let layout = self.terminal.layout;
        let columns = TableLayout::of(&sockets, &self.source, layout, None);
        let mut text = format!(
            "{}, {} shown; watched for {}; Ctrl-C ends the command",
            counted(self.table.sockets().len() as u64, "socket"),
            sockets.len(),
            seconds_text(self.source.now_us() as f64 / 1e6)
        );
        text = format!("{text:.*}\n{}\n", layout.width, columns.heading());
        if sockets.is_empty() {
            layout.paragraph(&mut text, "", 0, &self.nothing());
        }
        for socket in &sockets {
            text += &columns.row("", socket, &self.source);
            text.push('\n');
        }
        text
    }

    /// Returns the lines of this round for a pipe. In the first round, the headings come first.
    fn lines(&mut self) -> String {
        let sockets = chosen(&self.table, self.arguments.idle);
        let mut text = String::new();
        if self.headed.is_none() && !sockets.is_empty() {
            let first = Some(("time s", TIME_COLUMNS));
            let columns = TableLayout::of(&sockets, &self.source, self.terminal.layout, first);
            text = columns.heading() + "\n";
            self.headed = Some(columns);
        }
        let Some(columns) = &self.headed else {
            // Standard output has only sockets, so the sentence goes to standard error, once.
            if self.rounds == 1 && !self.terminal.quiet {
                note(self.nothing());
            }
            return text;
        };
        for socket in &sockets {
            let time = format!("{:.2}", socket.at_us as f64 / 1e6);
            text += &columns.row(&time, socket, &self.source);
            text.push('\n');
            if self.arguments.verbose {
                text += &self.fields(socket);
            }
        }
        text
    }

    /// Returns the sentence for a round without a socket to print.
    fn nothing(&self) -> String {
        match self.table.sockets().len() {
            0 => format!("There is no {}.", self.arguments.wanted()),
            1 => format!(
                "1 {} moved no payload; --idle prints idle sockets too.",
                self.arguments.wanted()
            ),
            many => format!(
                "{many} sockets ({}) moved no payload; --idle prints idle sockets too.",
                self.arguments.wanted()
            ),
        }
    }

    fn events_text(&self) -> String {
        let mut text = String::new();
        for event in &self.events {
            text += &screen::event_line(event);
            text.push('\n');
        }
        text
    }

    /// Returns the line of `ss` that is printed below a socket.
    fn fields(&self, socket: &FollowedSocket) -> String {
        let latest = &socket.latest;
        format!(
            "    {} Recv-Q {} Send-Q {} ino:{} sk:{:x} {}\n",
            latest.state.name(),
            latest.receive_queue,
            latest.send_queue,
            latest.inode,
            latest.id.cookie,
            ss_line(latest)
        )
    }

    fn verdict(&self, socket: &FollowedSocket) -> String {
        let layout = self.terminal.layout;
        let other = self.table.other_end(&socket.latest.id);
        let owner = self.source.owner(socket.latest.inode);
        verdict_text(socket, other, owner, &self.settings, layout)
    }

    fn document(&self, sockets: &[&FollowedSocket], is_first: bool) -> String {
        let counters = match self.arguments.nstat && is_first {
            true => self.source.counters(),
            false => Vec::new(),
        };
        let around = json::Surroundings {
            settings: is_first.then_some(&self.settings),
            judged_by: &self.settings,
            events: &self.events,
            counters: &counters,
            unix_time_s: unix_time_s(),
        };
        json::document(sockets, &self.table, &self.source, &around)
    }

    /// Prints the verdicts about the sockets with the most payload, and the counters.
    fn print_end(&mut self) -> Result<(), Failure> {
        let incomplete = self.source.incomplete;
        if incomplete > 0 && !self.terminal.quiet {
            note(format_args!(
                "{incomplete} of {} observations may lack sockets: the kernel's answer was incomplete",
                self.rounds
            ));
        }
        if self.arguments.json {
            return Ok(());
        }
        let all = self.table.sockets().iter().chain(&self.gone);
        let mut sockets: Vec<_> = all.filter(|socket| has_waited(socket)).collect();
        sockets.sort_by_key(|socket| std::cmp::Reverse(moved(socket)));
        let is_silent = self.terminal.quiet && self.arguments.socket.is_none();
        for socket in sockets.iter().take(MOST_VERDICTS).filter(|_| !is_silent) {
            print(&format!("\n{}", self.verdict(socket)))?;
        }
        if sockets.len() > MOST_VERDICTS && !is_silent {
            let rest = (sockets.len() - MOST_VERDICTS) as u64;
            let rest = counted(rest, "more socket");
            print(&format!(
                "\n{rest} carried fewer bytes; `--socket SK` prints the verdict about socket SK"
            ))?;
        }
        if self.arguments.nstat {
            let elapsed = self.source.now_us() as f64 / 1e6;
            let counters = self.source.counters();
            print(&counters_text(&counters, &self.counters_before, elapsed))?;
        }
        Ok(())
    }
}

/// Payload that the socket sent and received.
fn moved(socket: &FollowedSocket) -> u64 {
    socket.account.moved.iter().sum()
}

/// Returns true if the socket moved payload or has payload in a queue.
fn has_waited(socket: &FollowedSocket) -> bool {
    moved(socket) > 0 || socket.latest.send_queue > 0 || socket.latest.receive_queue > 0
}

/// Returns the counters that grew since `before`, in the format of `nstat`.
fn counters_text(counters: &[(String, u64)], before: &[(String, u64)], elapsed_s: f64) -> String {
    let mut text = "\n#kernel\n".to_string();
    for (name, value) in counters {
        let then = before.iter().find(|(known, _)| known == name);
        let grown = value.saturating_sub(then.map_or(0, |(_, value)| *value));
        if grown > 0 {
            let rate = match elapsed_s > 0.0 {
                true => grown as f64 / elapsed_s,
                false => 0.0,
            };
            text += &format!("{name:<32}{grown:<16}{rate:>10.1}\n");
        }
    }
    text
}

fn unix_time_s() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}
