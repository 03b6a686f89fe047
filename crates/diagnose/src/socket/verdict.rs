//! The verdict about a socket: main limit, figures, settings that change the limit, and counters
//! of the kernel that mislead.
//!
//! Rule: a setting is named only if it changes the limit. The setting is printed with its present
//! value and its cap. The advice never lowers the present value. If the path or the program is the
//! limit, the verdict says that no setting helps. A size in the advice is the smallest that the
//! observations justify, and not a prediction.

use fullpipe_tcp::{Limit, ReceiveLimit};
use serde::{Deserialize, Serialize};

use super::{
    follow::FollowedSocket,
    observation::{CongestionModel, SocketMemory},
    tcp_info::TcpInfo,
};

/// A kernel counter that contradicts the verdict is noted if it is wrong for more than this share
/// of the time.
const NOTED_SHARE: f64 = 0.05;
/// The path has a queue if the round-trip time is more than this many times the smallest one.
const QUEUE_FACTOR: f64 = 1.25;
/// Bytes of payload in flight for each byte of the `SO_SNDBUF` option. The kernel doubles the
/// option's value, and a segment with 1,448 bytes of payload takes about 2,300 bytes of memory.
const PAYLOAD_OF_SNDBUF: f64 = 1.26;
/// The peer's program reads slowly if the window was closed for more than this share of the time in
/// which the window was the limit.
const CLOSED_SHARE: f64 = 0.1;
/// Smallest memory of a segment in addition to its payload, in bytes.
const SEGMENT_OVERHEAD: u64 = 256;
/// Number of segments for which the kernel's first send buffer has room: twice the initial window.
const FIRST_SEGMENTS: u64 = 20;

/// Settings of the host that bound its sockets. A setting that cannot be read is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostSettings {
    /// `net.core.wmem_max`: largest value of `SO_SNDBUF`, in bytes.
    pub wmem_max: Option<u64>,
    /// `net.core.rmem_max`: largest value of `SO_RCVBUF`, in bytes.
    pub rmem_max: Option<u64>,
    /// `net.ipv4.tcp_wmem`: least, first and largest send buffer, in bytes.
    pub tcp_wmem: Option<[u64; 3]>,
    /// `net.ipv4.tcp_rmem`: least, first and largest receive buffer, in bytes.
    pub tcp_rmem: Option<[u64; 3]>,
    /// `net.ipv4.tcp_mem`: low, pressure and high, in pages.
    pub tcp_mem: Option<[u64; 3]>,
    /// Memory of all TCP sockets, in pages (`mem` in `/proc/net/sockstat`).
    pub tcp_pages: Option<u64>,
    /// `net.ipv4.tcp_moderate_rcvbuf`: false if receive buffers never grow.
    pub tcp_moderate_rcvbuf: Option<bool>,
    /// `net.ipv4.tcp_window_scaling`.
    pub tcp_window_scaling: Option<bool>,
    /// `net.ipv4.tcp_slow_start_after_idle`.
    pub tcp_slow_start_after_idle: Option<bool>,
    /// `net.ipv4.tcp_retries2`: number of timeouts after which a connection is dropped.
    pub tcp_retries2: Option<u64>,
    /// `net.ipv4.tcp_limit_output_bytes`: largest number of bytes of a socket that may be in queues
    /// below the socket.
    pub tcp_limit_output_bytes: Option<u64>,
}

/// One change that somebody could make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SocketStep {
    /// The change, in a sentence.
    pub what: String,
    /// A command or a line of C, ready to paste; absent if the change is in a program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paste: Option<String>,
    /// The present value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<String>,
}

impl SocketStep {
    fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            paste: None,
            now: None,
        }
    }

    fn paste(mut self, line: impl Into<String>) -> Self {
        self.paste = Some(line.into());
        self
    }

    fn now(mut self, value: impl ToString) -> Self {
        self.now = Some(value.to_string());
        self
    }
}

/// A counter or a setting of the kernel that misleads about the limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum KernelNote {
    /// `tcpi_sndbuf_limited` counts less than the time in which the send buffer was full.
    SendBufferUncounted {
        /// Seconds that the kernel counted.
        kernel_s: f64,
        /// Seconds in which the buffer was full or nearly full.
        seen_s: f64,
    },
    /// `tcpi_busy_time` includes time in which the program wrote nothing.
    BusyWithoutBacklog {
        /// Seconds in which the program wrote nothing.
        seen_s: f64,
    },
    /// The send buffer contains more than twice its size, because the kernel refills the last
    /// super-segment. `ip link set DEV gso_max_segs 1` prevents this.
    RefilledTail {
        /// Largest use of the send buffer, in bytes.
        queued_bytes: u32,
        /// Size of the send buffer in bytes.
        sndbuf_bytes: u32,
    },
    /// The program limited every sample of the delivery rate, so the path may be faster.
    DeliveryRateOfProgram,
    /// The kernel is too old to report the peer's window (before Linux 5.4).
    NoPeerWindow,
    /// Sockets use so much memory that `tcp_mem` puts them under pressure, and buffers shrink.
    MemoryPressure {
        /// Number of pages in use.
        pages: u64,
        /// Number of pages from which on memory is under pressure.
        pressure_pages: u64,
    },
}

/// Origin of the size of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BufferOrigin {
    /// A program set the size, which turned autotuning off.
    Program,
    /// The size has reached the maximum of autotuning.
    AutotunedFull,
    /// The origin is not certain.
    Unclear,
}

/// The verdict about a socket.
#[derive(Clone, Debug, PartialEq)]
pub struct SocketVerdict {
    /// True if the socket received more than it sent. The limits of the peer's sender then matter
    /// more than the limits of the socket's own sender.
    pub receives: bool,
    /// Main limit of the socket's sender; `None` if unknown.
    pub limit: Option<Limit>,
    /// Share of the time with this limit.
    pub share: f64,
    /// Limit of the receiver with which the socket limits its peer, and the share of the time with
    /// this limit.
    pub receive_limit: Option<(ReceiveLimit, f64)>,
    /// True if a full congestion window keeps a queue on the path. The path's rate is then the
    /// limit.
    pub is_path: bool,
    /// If the limit is a number of bytes, the bytes per second that it allows at this round-trip
    /// time.
    pub allows: Option<f64>,
    /// Origin of the send buffer's size, if the send buffer is the limit.
    pub sndbuf: Option<BufferOrigin>,
    /// Changes, the best first.
    pub steps: Vec<SocketStep>,
    /// Misleading counters and settings.
    pub notes: Vec<KernelNote>,
}

/// Returns the verdict about `socket` on a host with `settings`. `other` is the other end of the
/// connection, if it is on the same host.
pub fn socket_verdict(
    socket: &FollowedSocket,
    other: Option<&FollowedSocket>,
    settings: &HostSettings,
) -> SocketVerdict {
    let account = &socket.account;
    let observed = account.times.total_micros() > 0;
    let (limit, share) = match observed {
        true => account.times.main(),
        // Use the limit of the moment: a single observation covers no time.
        false => (account.now.limit, 1.0),
    };
    // A single observation has moved nothing: the socket's whole life then decides.
    let [sent, received] = match observed {
        true => account.moved,
        false => moved_so_far(socket),
    };
    let receives = received > sent;
    let mut verdict = SocketVerdict {
        receives,
        limit,
        share,
        receive_limit: match observed {
            true => account.main_receive_limit(),
            false => (socket.latest.receive_queue > 0).then_some((ReceiveLimit::Reader, 1.0)),
        },
        is_path: false,
        allows: None,
        sndbuf: None,
        steps: Vec::new(),
        notes: notes(socket, settings),
    };
    let Some(info) = &socket.latest.info else {
        return verdict;
    };
    let case = Case {
        socket,
        other,
        settings,
        info,
        memory: socket.latest.memory.unwrap_or_default(),
    };
    if let (true, Some((receive_limit, _))) = (receives, verdict.receive_limit) {
        case.judge_receiver(&mut verdict, receive_limit);
    } else if let (Some(limit), false) = (limit, receives) {
        case.judge_sender(&mut verdict, limit);
    }
    verdict
}

/// Payload that the socket has sent (and the peer acknowledged) and received since it was opened,
/// in bytes.
fn moved_so_far(socket: &FollowedSocket) -> [u64; 2] {
    let info = socket.latest.info.as_ref();
    let bytes = info.map(|info| [info.bytes_acked, info.bytes_received]);
    bytes.map_or([0; 2], |bytes| bytes.map(Option::unwrap_or_default))
}

/// Origins of the sizes of the send buffer and of the receive buffer of `socket`. Both are unclear
/// if the kernel did not report the sizes.
pub fn buffer_origins(socket: &FollowedSocket, settings: &HostSettings) -> [BufferOrigin; 2] {
    let latest = &socket.latest;
    let (Some(info), Some(memory)) = (&latest.info, latest.memory) else {
        return [BufferOrigin::Unclear; 2];
    };
    let case = Case {
        socket,
        other: None,
        settings,
        info,
        memory,
    };
    [case.origin_of_sndbuf(), case.origin_of_rcvbuf()]
}

fn notes(socket: &FollowedSocket, settings: &HostSettings) -> Vec<KernelNote> {
    let account = &socket.account;
    let total = account.times.total_micros().max(1) as f64;
    let mut notes = Vec::new();
    if account.uncounted_us as f64 > NOTED_SHARE * total {
        let seen = account.times.micros(Some(Limit::SendBuffer));
        notes.push(KernelNote::SendBufferUncounted {
            kernel_s: seen.saturating_sub(account.uncounted_us) as f64 / 1e6,
            seen_s: seen as f64 / 1e6,
        });
    }
    if account.idle_busy_us as f64 > NOTED_SHARE * total {
        notes.push(KernelNote::BusyWithoutBacklog {
            seen_s: account.idle_busy_us as f64 / 1e6,
        });
    }
    if let Some(memory) = &socket.latest.memory
        && u64::from(socket.peaks.queued) > 2 * u64::from(memory.sndbuf)
    {
        notes.push(KernelNote::RefilledTail {
            queued_bytes: socket.peaks.queued,
            sndbuf_bytes: memory.sndbuf,
        });
    }
    if let Some(info) = &socket.latest.info {
        if info.snd_wnd.is_none() {
            notes.push(KernelNote::NoPeerWindow);
        }
        if socket.peaks.delivery_rate == 0 && socket.peaks.any_delivery_rate > 0 {
            notes.push(KernelNote::DeliveryRateOfProgram);
        }
    }
    if let (Some(pages), Some([_, pressure_pages, _])) = (settings.tcp_pages, settings.tcp_mem)
        && pages >= pressure_pages
    {
        notes.push(KernelNote::MemoryPressure {
            pages,
            pressure_pages,
        });
    }
    notes
}

/// A socket and the facts about its host and peer, for one verdict.
struct Case<'a> {
    socket: &'a FollowedSocket,
    other: Option<&'a FollowedSocket>,
    settings: &'a HostSettings,
    info: &'a TcpInfo,
    memory: SocketMemory,
}

impl Case<'_> {
    fn judge_sender(&self, verdict: &mut SocketVerdict, limit: Limit) {
        match limit {
            Limit::SendBuffer if self.is_reader_slow(limit) => {
                verdict.steps = self.reader_steps();
            }
            Limit::SendBuffer => {
                let origin = self.origin_of_sndbuf();
                verdict.sndbuf = Some(origin);
                verdict.allows = self.rate_of(self.socket.peaks.in_flight);
                verdict.steps = self.send_buffer_steps(origin);
            }
            Limit::ReceiveWindow | Limit::ZeroWindow => {
                verdict.allows = self.rate_of(self.socket.peaks.snd_wnd);
                verdict.steps = self.peer_steps(limit);
            }
            Limit::CwndSlowStart
            | Limit::CwndSteady
            | Limit::CwndAfterLoss
            | Limit::CwndAfterMark
            | Limit::CwndAfterIdle => {
                verdict.is_path = self.has_queue();
                verdict.allows = self.rate_of(self.info.snd_cwnd.saturating_mul(self.info.snd_mss));
                verdict.steps = self.congestion_steps(limit, verdict.is_path);
            }
            Limit::Pacing => {
                verdict.is_path = self.is_at_model_rate();
                verdict.steps = self.pacing_steps();
            }
            Limit::Recovery => verdict.steps = self.recovery_steps(),
            Limit::Nagle => verdict.steps = nagle_steps(),
            Limit::Device => verdict.steps = self.device_steps(),
            Limit::Memory => verdict.steps = self.memory_steps(),
            Limit::Application => {
                verdict.steps = vec![SocketStep::new(
                    "The program writes less than the connection could send; no TCP setting helps.",
                )]
            }
            Limit::Handshake | Limit::Closing | Limit::Processor => {}
        }
    }

    /// Goodput in bytes per second if `bytes` are sent in each round trip.
    fn rate_of(&self, bytes: u32) -> Option<f64> {
        let has_both = self.info.rtt > 0 && bytes > 0;
        has_both.then(|| f64::from(bytes) * 1e6 / f64::from(self.info.rtt))
    }

    /// Returns true if a round trip takes longer than on an empty path.
    fn has_queue(&self) -> bool {
        let min_rtt = self.info.min_rtt.unwrap_or(0);
        min_rtt > 0 && f64::from(self.info.rtt) > QUEUE_FACTOR * f64::from(min_rtt)
    }

    /// Smallest memory that a full segment takes.
    fn segment_memory(&self) -> u64 {
        u64::from(self.info.snd_mss) + SEGMENT_OVERHEAD
    }

    fn origin_of_sndbuf(&self) -> BufferOrigin {
        let sndbuf = u64::from(self.memory.sndbuf);
        let most = self.settings.tcp_wmem.map_or(u64::MAX, |[_, _, most]| most);
        if sndbuf >= most {
            return BufferOrigin::AutotunedFull;
        }
        if self.is_sndbuf_at_cap() {
            return BufferOrigin::Program;
        }
        // Autotuning starts at 20 segments and follows twice the congestion window. A program has
        // therefore set a buffer that is below 20 segments, or that stays constant below twice the
        // window.
        let first = FIRST_SEGMENTS * self.segment_memory();
        let followed = 2 * u64::from(self.info.snd_cwnd) * self.segment_memory();
        let is_constant = self
            .socket
            .first
            .memory
            .is_some_and(|first| u64::from(first.sndbuf) == sndbuf);
        if sndbuf < first || (is_constant && sndbuf < followed) {
            BufferOrigin::Program
        } else {
            BufferOrigin::Unclear
        }
    }

    fn is_sndbuf_at_cap(&self) -> bool {
        let HostSettings {
            wmem_max, tcp_wmem, ..
        } = self.settings;
        is_at_cap(self.memory.sndbuf, *wmem_max, tcp_wmem)
    }

    fn is_rcvbuf_at_cap(&self) -> bool {
        let HostSettings {
            rmem_max, tcp_rmem, ..
        } = self.settings;
        is_at_cap(self.memory.rcvbuf, *rmem_max, tcp_rmem)
    }

    fn origin_of_rcvbuf(&self) -> BufferOrigin {
        let Some([_, first, most]) = self.settings.tcp_rmem else {
            return BufferOrigin::Unclear;
        };
        let rcvbuf = u64::from(self.memory.rcvbuf);
        if rcvbuf >= most {
            return BufferOrigin::AutotunedFull;
        }
        // Autotuning starts at the second value of `tcp_rmem` and never shrinks the buffer.
        match rcvbuf < first || self.is_rcvbuf_at_cap() {
            true => BufferOrigin::Program,
            false => BufferOrigin::Unclear,
        }
    }

    fn send_buffer_steps(&self, origin: BufferOrigin) -> Vec<SocketStep> {
        let sndbuf = u64::from(self.memory.sndbuf);
        let cwnd = u64::from(self.info.snd_cwnd) * u64::from(self.info.snd_mss);
        let wanted = cwnd.max(2 * u64::from(self.socket.peaks.in_flight));
        let asked = ((wanted as f64 / PAYLOAD_OF_SNDBUF) as u64)
            .max(sndbuf)
            .next_multiple_of(4096);
        let mut steps = Vec::new();
        if origin != BufferOrigin::AutotunedFull {
            let what = match origin {
                BufferOrigin::Program => {
                    "Remove setsockopt(SO_SNDBUF) from the program: it turned autotuning off."
                }
                BufferOrigin::Unclear | BufferOrigin::AutotunedFull => {
                    "If the program calls setsockopt(SO_SNDBUF), remove the call: it turns autotuning off."
                }
            };
            steps.push(SocketStep::new(what).now(format!("{sndbuf} bytes")));
            if self.is_sndbuf_at_cap() {
                steps.push(cap_step("SO_SNDBUF", "net.core.wmem_max", sndbuf / 2));
            }
            let what = "Or set at least this size (the kernel doubles it).";
            steps.push(SocketStep::new(what).paste(format!(
                "setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){{{asked}}}, sizeof(int));"
            )));
            if let Some(most) = self.settings.wmem_max.filter(|&most| most < asked) {
                let what =
                    "The kernel caps SO_SNDBUF at net.core.wmem_max; raise this sysctl first.";
                steps.push(
                    SocketStep::new(what)
                        .paste(format!("sysctl -w net.core.wmem_max={asked}"))
                        .now(most),
                );
            }
        }
        if let Some([least, first, most]) = self.settings.tcp_wmem
            && most < 2 * asked
        {
            let what = "Raise the size up to which autotuning enlarges the send buffer.";
            steps.push(
                SocketStep::new(what)
                    .paste(format!(
                        "sysctl -w net.ipv4.tcp_wmem=\"{least} {first} {}\"",
                        2 * asked
                    ))
                    .now(most),
            );
        }
        steps
    }

    /// Changes at the peer, if the peer's window is the limit.
    fn peer_steps(&self, limit: Limit) -> Vec<SocketStep> {
        let window = u64::from(self.socket.peaks.snd_wnd);
        if limit == Limit::ZeroWindow || self.is_peer_reading_slowly(limit, window) {
            let mut steps = self.reader_steps();
            if let (probes @ 1.., Some(most)) = (self.info.probes, self.settings.tcp_retries2) {
                steps.push(
                    SocketStep::new(format!(
                        "Unanswered window probes: {probes}. After {most} unanswered probes, the kernel drops the connection."
                    ))
                    .now(format!("net.ipv4.tcp_retries2 {most}")),
                );
            }
            return steps;
        }
        let asked = (2 * window).next_multiple_of(4096);
        let mut steps = Vec::new();
        if !self.info.has_window_scaling() && window <= 65_535 && window > 32_768 {
            steps.push(
                SocketStep::new("Window scaling is off at one of the two ends. Turn it on there.")
                    .paste("sysctl -w net.ipv4.tcp_window_scaling=1"),
            );
        }
        let other = self.other.and_then(|other| other.latest.memory);
        let first = SocketStep::new(
            "At the peer: if the program calls setsockopt(SO_RCVBUF), remove the call.",
        );
        steps.push(match other {
            Some(memory) => first.now(format!("{} bytes", memory.rcvbuf)),
            None => first,
        });
        steps.push(
            SocketStep::new("Or set at least this size at the peer (the kernel doubles it).")
                .paste(format!(
                    "setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &(int){{{asked}}}, sizeof(int));"
                )),
        );
        steps.extend(match self.other {
            Some(_) => rmem_steps(self.settings, asked, "At the peer: "),
            None => unknown_rmem_steps(asked),
        });
        steps
    }

    /// The program at the peer as the cause.
    fn reader_steps(&self) -> Vec<SocketStep> {
        let step = SocketStep::new(
            "The program at the peer reads slowly or not at all; larger buffers do not help.",
        );
        let unread = self.other.map(|other| other.latest.receive_queue);
        vec![match unread {
            Some(unread) => step.now(format!("{unread} bytes unread")),
            None => step,
        }]
    }

    /// Returns true if the account (time by limit) of the peer's receiver says that its program left
    /// received payload unread for at least half of the time that `limit` lasted.
    fn is_reader_slow(&self, limit: Limit) -> bool {
        let receiver = self
            .other
            .and_then(|other| other.account.main_receive_limit());
        let Some((ReceiveLimit::Reader, share)) = receiver else {
            return false;
        };
        let times = &self.socket.account.times;
        let total = times.total_micros().max(1) as f64;
        2.0 * share * total >= times.micros(Some(limit)) as f64
    }

    /// Returns true if the peer's program leaves received payload unread for at least half of the
    /// time that `limit` lasted. `window` is the largest window in bytes. The last observation
    /// decides only if there is no account (time by limit) of the peer's receiver, because at a
    /// single moment even a slow reader may have read everything. Without the peer's socket, the
    /// time with a closed window decides: if the buffer is small but the program reads at once, the
    /// buffer is emptied before it is full, and the window hardly ever closes.
    fn is_peer_reading_slowly(&self, limit: Limit, window: u64) -> bool {
        let Some(other) = self.other else {
            let times = &self.socket.account.times;
            let closed = times.micros(Some(Limit::ZeroWindow)) as f64;
            let open = times.micros(Some(Limit::ReceiveWindow)) as f64;
            return closed > CLOSED_SHARE * (closed + open);
        };
        match other.account.main_receive_limit() {
            Some((ReceiveLimit::Reader, _)) => self.is_reader_slow(limit),
            Some(_) => false,
            None => u64::from(other.latest.receive_queue) * 2 > window,
        }
    }

    fn congestion_steps(&self, limit: Limit, is_path: bool) -> Vec<SocketStep> {
        if is_path {
            return vec![SocketStep::new(
                "The path has a standing queue: the path's rate is the limit, and no setting \
                 of this host makes the path faster.",
            )];
        }
        match limit {
            Limit::CwndAfterIdle => {
                let step = SocketStep::new("Keep the congestion window during idle times.")
                    .paste("sysctl -w net.ipv4.tcp_slow_start_after_idle=0");
                let now = self.settings.tcp_slow_start_after_idle;
                vec![match now {
                    Some(is_on) => step.now(u8::from(is_on)),
                    None => step,
                }]
            }
            Limit::CwndSlowStart => vec![SocketStep::new(
                "The congestion window still grows. No setting helps, but a longer transfer, or \
                 one connection for several transfers, can reach the path's rate.",
            )],
            Limit::CwndAfterLoss => vec![SocketStep::new(format!(
                "Losses keep the congestion window small: {} segments were retransmitted. Find \
                 the place where segments are lost.",
                self.info.total_retrans
            ))],
            _ => Vec::new(),
        }
    }

    /// Returns true if BBR paces at its estimate of the path's rate, and the delivery rate reached
    /// at least 80 % of this estimate.
    fn is_at_model_rate(&self) -> bool {
        let Some(CongestionModel::Bbr { rate, .. }) = self.socket.latest.model else {
            return false;
        };
        self.info.pacing_limit_in_force().is_none()
            && self.socket.peaks.delivery_rate * 5 >= rate * 4
    }

    fn pacing_steps(&self) -> Vec<SocketStep> {
        match self.info.pacing_limit_in_force() {
            Some(rate) => vec![
                SocketStep::new(
                    "The program limits the rate with setsockopt(SO_MAX_PACING_RATE): remove \
                     the call, or remove the limit on the open socket with this line.",
                )
                .paste(
                    "setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &(unsigned int){~0U}, \
                     sizeof(unsigned int));",
                )
                .now(format!("{rate} bytes/s")),
            ],
            None => vec![SocketStep::new(
                "BBR sends at its estimate of the path's rate; a larger buffer does not help.",
            )],
        }
    }

    fn recovery_steps(&self) -> Vec<SocketStep> {
        let step = SocketStep::new(format!(
            "Segments are lost: {} were retransmitted. Find the place where they are lost.",
            self.info.total_retrans
        ));
        let retries = self.settings.tcp_retries2;
        match (self.info.retransmits, retries) {
            (1.., Some(most)) => vec![step.now(format!(
                "{} timeouts without an ACK; the kernel drops the connection after {most} timeouts",
                self.info.retransmits
            ))],
            _ => vec![step],
        }
    }

    fn device_steps(&self) -> Vec<SocketStep> {
        let step = SocketStep::new(
            "The device's queue has as many bytes of this socket as TCP small queues allow.",
        );
        vec![match self.settings.tcp_limit_output_bytes {
            Some(bytes) => step.now(format!("tcp_limit_output_bytes {bytes}")),
            None => step,
        }]
    }

    fn memory_steps(&self) -> Vec<SocketStep> {
        let step = SocketStep::new(
            "The memory for all TCP sockets together is scarce (net.ipv4.tcp_mem).",
        );
        vec![match self.settings.tcp_mem {
            Some([low, pressure, high]) => step.now(format!("{low} {pressure} {high} pages")),
            None => step,
        }]
    }

    fn judge_receiver(&self, verdict: &mut SocketVerdict, limit: ReceiveLimit) {
        let window = self.info.rcv_wnd.unwrap_or(self.info.rcv_ssthresh);
        match limit {
            ReceiveLimit::Reader => {
                verdict.steps = vec![
                    SocketStep::new(
                        "The program reads slowly or not at all; a larger buffer does not help.",
                    )
                    .now(format!("{} bytes unread", self.socket.latest.receive_queue)),
                ];
            }
            ReceiveLimit::Buffer => {
                if self.info.rcv_rtt > 0 {
                    verdict.allows = Some(f64::from(window) * 1e6 / f64::from(self.info.rcv_rtt));
                }
                verdict.steps = self.receive_buffer_steps();
            }
            ReceiveLimit::Hole => {
                verdict.steps = vec![SocketStep::new(
                    "Segments arrive out of order or not at all. Find the place where they are lost.",
                )];
            }
            ReceiveLimit::None
            | ReceiveLimit::Memory
            | ReceiveLimit::Processor
            | ReceiveLimit::Descriptors => {}
        }
    }

    fn receive_buffer_steps(&self) -> Vec<SocketStep> {
        let rcvbuf = u64::from(self.memory.rcvbuf);
        let asked = rcvbuf.next_multiple_of(4096);
        let what = match self.origin_of_rcvbuf() {
            BufferOrigin::Program => {
                "Remove setsockopt(SO_RCVBUF) from the program: it turned autotuning off."
            }
            BufferOrigin::AutotunedFull | BufferOrigin::Unclear => {
                "If the program calls setsockopt(SO_RCVBUF), remove the call: it turns autotuning off."
            }
        };
        let mut steps = vec![SocketStep::new(what).now(format!("{rcvbuf} bytes"))];
        if self.is_rcvbuf_at_cap() {
            steps.push(cap_step("SO_RCVBUF", "net.core.rmem_max", rcvbuf / 2));
        }
        steps.push(
            SocketStep::new("Or set at least this size (the kernel doubles it).").paste(format!(
                "setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &(int){{{asked}}}, sizeof(int));"
            )),
        );
        steps.extend(rmem_steps(self.settings, asked, ""));
        steps
    }
}

/// Returns true if `buffer` is twice `cap`, the largest buffer that the kernel gives to a program's
/// option. A buffer of the size with which autotuning starts does not count.
fn is_at_cap(buffer: u32, cap: Option<u64>, tuned: &Option<[u64; 3]>) -> bool {
    let buffer = u64::from(buffer);
    let is_first = tuned.is_some_and(|[_, first, _]| first == buffer);
    cap.is_some_and(|cap| buffer == 2 * cap) && !is_first
}

/// Says that the program's `option` has reached `cap_bytes`, the value of `sysctl`.
fn cap_step(option: &str, sysctl: &str, cap_bytes: u64) -> SocketStep {
    SocketStep::new(format!(
        "The buffer is exactly twice {sysctl}, the largest size that {option} can set: a larger \
         {option} helps only if that sysctl is raised, too."
    ))
    .now(cap_bytes)
}

/// Changes of the caps of receive buffers, at another host whose settings are unknown. These
/// changes have no command, because a command could lower the present value.
fn unknown_rmem_steps(asked: u64) -> Vec<SocketStep> {
    let cap = format!(
        "At the peer: net.core.rmem_max caps SO_RCVBUF. Raise this sysctl if it is below {asked}."
    );
    let most = format!(
        "At the peer: the third value of net.ipv4.tcp_rmem is the size up to which autotuning \
         enlarges the receive buffer. Raise this value if it is below {}.",
        2 * asked
    );
    [cap, most].map(SocketStep::new).into()
}

/// Changes of the caps of receive buffers, on the host with `settings`.
fn rmem_steps(settings: &HostSettings, asked: u64, place: &str) -> Vec<SocketStep> {
    let mut steps = Vec::new();
    if let Some(most) = settings.rmem_max.filter(|most| *most < asked) {
        let what = format!(
            "{place}the kernel caps SO_RCVBUF at net.core.rmem_max; raise this sysctl first."
        );
        let paste = format!("sysctl -w net.core.rmem_max={asked}");
        steps.push(SocketStep::new(what).paste(paste).now(most));
    }
    if let Some([least, first, most]) = settings.tcp_rmem
        && most < 2 * asked
    {
        let what =
            format!("{place}raise the size up to which autotuning enlarges the receive buffer.");
        let paste = format!(
            "sysctl -w net.ipv4.tcp_rmem=\"{least} {first} {}\"",
            2 * asked
        );
        steps.push(SocketStep::new(what).paste(paste).now(most));
    }
    if settings.tcp_moderate_rcvbuf == Some(false) {
        steps.push(
            SocketStep::new("Autotuning of receive buffers is off: turn it on.")
                .paste("sysctl -w net.ipv4.tcp_moderate_rcvbuf=1")
                .now(0),
        );
    }
    steps
}

fn nagle_steps() -> Vec<SocketStep> {
    vec![
        SocketStep::new(
            "A segment that is not full waits for an ACK (Nagle's algorithm) or for more payload (a cork).",
        )
        .paste("setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));"),
    ]
}
