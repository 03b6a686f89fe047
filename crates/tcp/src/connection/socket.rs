//! The settings, readiness and events of a connection, as its application sees
//! them.
//!
//! Rule: this file has only values; `user` acts on them.

use core::fmt;

use fullpipe_pool::{Duration, knobs::KnobTable, record};

use crate::{
    CloseReason, SettingError, TcpConfig,
    congestion::{CongestionChoice, CongestionRegistry},
};

/// Largest value, in bytes, of a setting that has no knob.
const MOST_BYTES: u32 = TcpConfig::HIGHEST.send_buffer;

/// Settings of one connection. A listener passes its settings on to its connections.
///
/// Start from [`from_config`](Self::from_config) and change fields; an open connection is changed
/// by a [`SocketOption`]. A field with a knob's name has that knob's legal range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// `tcp.send_buffer` of this connection, in bytes.
    pub send_buffer: u32,
    /// `tcp.send_buffer_max` of this connection, in bytes.
    pub send_buffer_max: u32,
    /// `tcp.receive_buffer` of this connection, in bytes.
    pub receive_buffer: u32,
    /// `tcp.receive_buffer_max` of this connection, in bytes.
    pub receive_buffer_max: u32,
    /// Free bytes of the send buffer for which a writer waits after it found the buffer full; at
    /// most the buffer's size. 0 means a third of the buffer, or less when little is left to send.
    pub send_low_water: u32,
    /// Largest number of bytes written and not sent: a write that reaches this number is cut short.
    /// With 0 only the send buffer bounds a write.
    pub unsent_low_water: u32,
    /// Bytes received in order that make the connection readable; 0 is like 1.
    pub receive_low_water: u32,
    /// `tcp.mss_max` of this connection, in bytes, at most the knob's value. This setting also
    /// bounds the MSS offered in the SYN. RFC 9293 §3.7.1.
    pub mss_max: u32,
    /// `tcp.unacknowledged` of this connection, in bytes.
    pub unacknowledged: u32,
    /// `tcp.out_of_order` of this connection, in bytes.
    pub out_of_order: u32,
    /// Nagle's algorithm is on.
    pub nagle: bool,
    /// The application has corked the connection: less than a segment waits until the cork
    /// is removed, for `tcp.cork_timeout` at most.
    pub corked: bool,
    /// Every segment with payload is acknowledged at once.
    pub quick_ack: bool,
    /// Idle time before the first keepalive probe; zero is off. Times are kept in whole
    /// milliseconds, rounded up.
    pub keepalive_time: Duration,
    /// `tcp.keepalive_interval` of this connection.
    pub keepalive_interval: Duration,
    /// `tcp.keepalive_probes` of this connection.
    pub keepalive_probes: u32,
    /// `tcp.syn_retries` of this connection. A listener's SYN-ACKs follow `tcp.synack_retries`.
    pub syn_retries: u32,
    /// Longest time data may stay unacknowledged; with zero only `tcp.retries2` bounds this time.
    pub user_timeout: Duration,
    /// Congestion control algorithm; `None` is the host's default. In the
    /// [`Info`](super::Info) of an open connection it is the algorithm in use.
    pub congestion: Option<CongestionChoice>,
}

impl Tuning {
    /// Creates the settings from the host's knobs.
    pub const fn from_config(config: &TcpConfig) -> Self {
        let (send_buffer_max, receive_buffer_max) = match cfg!(feature = "autotune") {
            true => (config.send_buffer_max, config.receive_buffer_max),
            false => (0, 0),
        };
        Self {
            send_buffer: config.send_buffer,
            send_buffer_max,
            receive_buffer: config.receive_buffer,
            receive_buffer_max,
            send_low_water: 0,
            unsent_low_water: 0,
            receive_low_water: 0,
            mss_max: config.mss_max,
            unacknowledged: config.unacknowledged,
            out_of_order: config.out_of_order,
            nagle: config.nagle,
            corked: false,
            quick_ack: false,
            keepalive_time: config.keepalive_time,
            keepalive_interval: config.keepalive_interval,
            keepalive_probes: config.keepalive_probes,
            syn_retries: config.syn_retries,
            user_timeout: config.user_timeout,
            congestion: None,
        }
    }

    /// Sets the send buffer to `bytes` and switches its autotuning off.
    pub const fn fix_send_buffer(&mut self, bytes: u32) {
        (self.send_buffer, self.send_buffer_max) = (bytes, 0);
    }

    /// Sets the receive buffer to `bytes` and switches its autotuning off.
    pub const fn fix_receive_buffer(&mut self, bytes: u32) {
        (self.receive_buffer, self.receive_buffer_max) = (bytes, 0);
    }

    /// Checks every setting against its legal range: the range of its knob, if it has one. A build
    /// without the feature `autotune` has no buffers that grow, so the maximum of a buffer is at most
    /// its size.
    ///
    /// # Errors
    /// Returns the error of the first setting that is refused.
    // Hidden, because the crate `fullpipe` re-exports this type but not the registry.
    #[doc(hidden)]
    pub fn check(&self, congestion: &CongestionRegistry) -> Result<(), SettingError> {
        let max = |setting, value, low, high| in_range(setting, value, (low, high), "bytes");
        let (low, high) = (&TcpConfig::LOWEST, &TcpConfig::HIGHEST);
        let (send_high, receive_high) = match cfg!(feature = "autotune") {
            true => (high.send_buffer_max, high.receive_buffer_max),
            false => (self.send_buffer, self.receive_buffer),
        };
        max(
            "tcp.send_buffer_max",
            self.send_buffer_max,
            low.send_buffer_max,
            send_high,
        )?;
        max(
            "tcp.receive_buffer_max",
            self.receive_buffer_max,
            low.receive_buffer_max,
            receive_high,
        )?;
        for option in [
            SocketOption::SendBuffer(self.send_buffer),
            SocketOption::SendLowWater(self.send_low_water),
            SocketOption::UnsentLowWater(self.unsent_low_water),
            SocketOption::ReceiveBuffer(self.receive_buffer),
            SocketOption::ReceiveLowWater(self.receive_low_water),
            SocketOption::MaxSegment(self.mss_max),
            SocketOption::Unacknowledged(self.unacknowledged),
            SocketOption::OutOfOrder(self.out_of_order),
            SocketOption::Keepalive(self.keepalive_time),
            SocketOption::KeepaliveInterval(self.keepalive_interval),
            SocketOption::KeepaliveProbes(self.keepalive_probes),
            SocketOption::SynRetries(self.syn_retries),
            SocketOption::UserTimeout(self.user_timeout),
        ] {
            option.check(congestion)?;
        }
        match self.congestion {
            Some(choice) => SocketOption::Congestion(choice).check(congestion),
            None => Ok(()),
        }
    }
}

/// A setting of one open connection, by its name in the sockets interface. The legal range of a
/// value is the range of the knob in its description or, without a knob, 0 to 1 GiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketOption {
    /// `TCP_NODELAY`: true switches Nagle's algorithm off. RFC 9293 §3.7.4.
    NoDelay(bool),
    /// `TCP_CORK`, `SO_NOPUSH`: true delays a partial segment, for `tcp.cork_timeout` at most.
    Cork(bool),
    /// `SO_SNDBUF`: send buffer in bytes (`tcp.send_buffer`), at most `tcp.send_buffer_limit`.
    /// Switches the buffer's autotuning off. Unlike in Linux, the value is not doubled, under
    /// any preset.
    SendBuffer(u32),
    /// `SO_SNDLOWAT`: free bytes at which a writer that found the send buffer full continues; 0
    /// means a third of the buffer, or less when little is unsent.
    SendLowWater(u32),
    /// `TCP_NOTSENT_LOWAT`: largest number of bytes written and not sent. A write that reaches this
    /// number is cut short, and the writer continues at half of the number. With 0 only the send
    /// buffer bounds a write.
    UnsentLowWater(u32),
    /// `SO_RCVBUF`: receive buffer in bytes (`tcp.receive_buffer`), at most
    /// `tcp.receive_buffer_limit`. Switches the buffer's autotuning off. A smaller size takes
    /// effect as the application reads, because the right edge of the window does not retreat.
    ReceiveBuffer(u32),
    /// `SO_RCVLOWAT`: bytes received in order that make the connection readable. A read that asks
    /// for less succeeds with less. Payload before the end of the stream, and payload that fills
    /// the window, is readable even if it is shorter. 0 means the same as 1.
    ReceiveLowWater(u32),
    /// `TCP_MAXSEG`: payload of the largest segment sent from now on, in bytes (`tcp.mss_max`),
    /// TCP options included. The MSS offered is set before the open, by [`Tuning::mss_max`].
    /// RFC 9293 §3.7.1.
    MaxSegment(u32),
    /// Largest number of bytes sent and not acknowledged (`tcp.unacknowledged`).
    Unacknowledged(u32),
    /// Largest number of bytes kept out of order (`tcp.out_of_order`).
    OutOfOrder(u32),
    /// `TCP_KEEPIDLE`: idle time before the first keepalive probe (`tcp.keepalive_time`); zero is
    /// off. RFC 9293 §3.8.4. Times are kept in whole milliseconds, rounded up.
    Keepalive(Duration),
    /// `TCP_KEEPINTVL`: time between keepalive probes (`tcp.keepalive_interval`), from the next
    /// probe on.
    KeepaliveInterval(Duration),
    /// `TCP_KEEPCNT`: number of consecutive unanswered keepalive probes after which the connection
    /// ends (`tcp.keepalive_probes`).
    KeepaliveProbes(u32),
    /// `TCP_SYNCNT`: consecutive timeouts of the SYN after which the open fails
    /// (`tcp.syn_retries`). RFC 9293 §3.8.3.
    SynRetries(u32),
    /// `TCP_USER_TIMEOUT`: longest time data may stay unacknowledged (`tcp.user_timeout`); with
    /// zero only `tcp.retries2` bounds this time. RFC 9293 §3.8.3.
    UserTimeout(Duration),
    /// `TCP_QUICKACK`: true acknowledges at once every segment with payload, and also the payload
    /// whose ACK is delayed now; false follows `tcp.ack_every` again. RFC 9293 §3.8.6.3.
    QuickAck(bool),
    /// `TCP_CONGESTION`: congestion control algorithm. The new algorithm starts with the congestion
    /// window and the slow-start threshold of the algorithm that it replaces.
    Congestion(CongestionChoice),
    /// Everything written so far is urgent. RFC 9293 §3.8.5.
    Urgent,
}

impl SocketOption {
    /// Checks the value against its legal range.
    pub(super) fn check(&self, congestion: &CongestionRegistry) -> Result<(), SettingError> {
        let (low, high) = (&TcpConfig::LOWEST, &TcpConfig::HIGHEST);
        let low_water = |setting, bytes| in_range(setting, bytes, (0, MOST_BYTES), "bytes");
        match *self {
            Self::NoDelay(_) | Self::Cork(_) | Self::QuickAck(_) | Self::Urgent => Ok(()),
            Self::SendBuffer(bytes) => {
                let legal = (low.send_buffer, high.send_buffer);
                in_range("tcp.send_buffer", bytes, legal, "bytes")
            }
            Self::ReceiveBuffer(bytes) => {
                let legal = (low.receive_buffer, high.receive_buffer);
                in_range("tcp.receive_buffer", bytes, legal, "bytes")
            }
            Self::SendLowWater(bytes) => low_water("send_low_water", bytes),
            Self::UnsentLowWater(bytes) => low_water("unsent_low_water", bytes),
            Self::ReceiveLowWater(bytes) => low_water("receive_low_water", bytes),
            Self::MaxSegment(bytes) => {
                let legal = (low.mss_max, high.mss_max);
                in_range("tcp.mss_max", bytes, legal, "bytes")
            }
            Self::Unacknowledged(bytes) => {
                let legal = (low.unacknowledged, high.unacknowledged);
                in_range("tcp.unacknowledged", bytes, legal, "bytes")
            }
            Self::OutOfOrder(bytes) => {
                let legal = (low.out_of_order, high.out_of_order);
                in_range("tcp.out_of_order", bytes, legal, "bytes")
            }
            Self::Keepalive(time) => {
                let legal = (low.keepalive_time, high.keepalive_time);
                time_in_range("tcp.keepalive_time", time, legal)
            }
            Self::KeepaliveInterval(time) => {
                let legal = (low.keepalive_interval, high.keepalive_interval);
                time_in_range("tcp.keepalive_interval", time, legal)
            }
            Self::KeepaliveProbes(probes) => {
                let legal = (low.keepalive_probes, high.keepalive_probes);
                in_range("tcp.keepalive_probes", probes, legal, "probes")
            }
            Self::SynRetries(timeouts) => {
                let legal = (low.syn_retries, high.syn_retries);
                in_range("tcp.syn_retries", timeouts, legal, "timeouts")
            }
            Self::UserTimeout(time) => {
                let legal = (low.user_timeout, high.user_timeout);
                time_in_range("tcp.user_timeout", time, legal)
            }
            Self::Congestion(choice) => match congestion.name(choice) {
                Some(_) => Ok(()),
                None => Err(SettingError::NoSuchCongestion),
            },
        }
    }
}

#[cfg_attr(target_pointer_width = "32", inline(never))]
fn in_range(
    setting: &'static str,
    value: u32,
    (least, most): (u32, u32),
    unit: &'static str,
) -> Result<(), SettingError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(SettingError::OutOfRange {
        setting,
        least: least.into(),
        most: most.into(),
        unit,
    })
}

fn time_in_range(
    setting: &'static str,
    time: Duration,
    (least, most): (Duration, Duration),
) -> Result<(), SettingError> {
    if (least..=most).contains(&time) {
        return Ok(());
    }
    Err(SettingError::OutOfRange {
        setting,
        least: least.as_micros() / 1_000,
        most: most.as_micros() / 1_000,
        unit: "ms",
    })
}

impl fmt::Display for SocketOption {
    /// Writes the name of the socket option and its value, such as `SO_SNDBUF=65536`. An option of
    /// this stack alone has the name of its knob.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, value): (_, &dyn fmt::Display) = match self {
            Self::NoDelay(on) => ("TCP_NODELAY", on),
            Self::Cork(on) => ("TCP_CORK", on),
            Self::SendBuffer(bytes) => ("SO_SNDBUF", bytes),
            Self::SendLowWater(bytes) => ("SO_SNDLOWAT", bytes),
            Self::UnsentLowWater(bytes) => ("TCP_NOTSENT_LOWAT", bytes),
            Self::ReceiveBuffer(bytes) => ("SO_RCVBUF", bytes),
            Self::ReceiveLowWater(bytes) => ("SO_RCVLOWAT", bytes),
            Self::MaxSegment(bytes) => ("TCP_MAXSEG", bytes),
            Self::Unacknowledged(bytes) => ("tcp.unacknowledged", bytes),
            Self::OutOfOrder(bytes) => ("tcp.out_of_order", bytes),
            Self::Keepalive(time) => ("TCP_KEEPIDLE", time),
            Self::KeepaliveInterval(time) => ("TCP_KEEPINTVL", time),
            Self::KeepaliveProbes(count) => ("TCP_KEEPCNT", count),
            Self::SynRetries(count) => ("TCP_SYNCNT", count),
            Self::UserTimeout(time) => ("TCP_USER_TIMEOUT", time),
            Self::QuickAck(on) => ("TCP_QUICKACK", on),
            Self::Congestion(choice) => ("TCP_CONGESTION", choice),
            Self::Urgent => return f.write_str("urgent"),
        };
        write!(f, "{name}={value}")
    }
}

/// Result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// Number of bytes read.
    Data(usize),
    /// Nothing to read now, or less than the low-water mark.
    Empty,
    /// The peer closed its direction and everything was read, or the application closed the
    /// receiving direction.
    End,
}

impl fmt::Display for Read {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Data(1) => f.write_str("1 byte"),
            Self::Data(bytes) => write!(f, "{bytes} bytes"),
            Self::Empty => f.write_str("nothing to read"),
            Self::End => f.write_str("end of the stream"),
        }
    }
}

/// Readiness of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ready {
    /// The handshake is complete.
    pub connected: bool,
    /// A read returns data, the end or an error. Less data than the low-water mark
    /// ([`SocketOption::ReceiveLowWater`]) does not count.
    pub readable: bool,
    /// A write would accept at least one byte, or the connection has ended. After a blocked writer
    /// was notified, `writable` stays true until the writer's next write, even if the room is gone
    /// by then. After a whole write was refused (knob `tcp.write_atomic`), `writable` is false
    /// until the whole write fits.
    pub writable: bool,
    /// The peer closed its direction; earlier payload may still be unread.
    pub peer_closed: bool,
    /// The connection has ended.
    pub closed: Option<CloseReason>,
}

/// Changes since the owner last called `take_events`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// The handshake is complete.
    pub connected: bool,
    /// More can be read, or the end was reached.
    pub readable: bool,
    /// A blocked writer may write again.
    pub writable: bool,
    /// The connection has ended.
    pub closed: bool,
}

record!(Events {
    connected,
    readable,
    writable,
    closed
});

impl Events {
    /// Returns true if anything has changed.
    pub const fn any(self) -> bool {
        self.connected || self.readable || self.writable || self.closed
    }
}
