//! The settings, readiness and events of a connection, as its application sees
//! them.
//!
//! Rule: values only; `user` acts on them.

use fullpipe_pool::Duration;

use crate::{CloseReason, TcpConfig, congestion::CongestionChoice, tuned::TunedSize};

/// Settings of one connection.
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
    /// Room in bytes that a writer waits for after it found the send buffer full, at most
    /// the buffer's size. 0 stands for a third of the buffer, or less when little is left
    /// to send.
    pub send_low_water: u32,
    /// Nagle's algorithm.
    pub nagle: bool,
    /// The application has corked the connection: less than a segment waits until the
    /// cork is removed.
    pub corked: bool,
    /// Idle time before the first keepalive probe; zero is off.
    pub keepalive_time: Duration,
    /// Longest time data may stay unacknowledged; zero leaves it to `retries2`.
    pub user_timeout: Duration,
    /// Congestion control algorithm; `None` is the host's default. In the
    /// [`Info`](super::Info) of an open connection it is the algorithm in use.
    pub congestion: Option<CongestionChoice>,
}

impl Tuning {
    /// Creates the settings that the host's knobs ask for.
    pub const fn from_config(config: &TcpConfig) -> Self {
        Self {
            send_buffer: config.send_buffer,
            send_buffer_max: config.send_buffer_max,
            receive_buffer: config.receive_buffer,
            receive_buffer_max: config.receive_buffer_max,
            send_low_water: 0,
            nagle: config.nagle,
            corked: false,
            keepalive_time: config.keepalive_time,
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

    /// Returns the payload that the send buffer may hold, now and at most.
    pub(crate) const fn send_size(&self, config: &TcpConfig) -> TunedSize {
        let (limit, share) = (config.send_buffer_limit, config.send_text_share);
        TunedSize::for_payload(self.send_buffer, self.send_buffer_max, limit, share)
    }

    /// Returns the payload that the receive buffer may hold, now and at most.
    pub(crate) const fn receive_size(&self, config: &TcpConfig) -> TunedSize {
        let (limit, share) = (config.receive_buffer_limit, config.receive_text_share);
        let max = if config.receive_tuning {
            self.receive_buffer_max
        } else {
            0
        };
        TunedSize::for_payload(self.receive_buffer, max, limit, share)
    }
}

/// A setting of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketOption {
    /// `TCP_NODELAY`: true switches Nagle's algorithm off.
    NoDelay(bool),
    /// `TCP_CORK`, `SO_NOPUSH`: true holds less than a segment.
    Cork(bool),
    /// Send buffer in bytes, at most `tcp.send_buffer_limit`. Switches its autotuning
    /// off. The value is not doubled, under no preset.
    SendBuffer(u32),
    /// `SO_SNDLOWAT`: room in bytes that a blocked writer waits for; 0 leaves it
    /// to the stack.
    SendLowWater(u32),
    /// Receive buffer in bytes, at most `tcp.receive_buffer_limit`. Switches its
    /// autotuning off. A smaller size takes effect as the application reads, because the
    /// right edge of the window does not retreat.
    ReceiveBuffer(u32),
    /// Idle time before the first keepalive probe; zero is off.
    Keepalive(Duration),
    /// `TCP_USER_TIMEOUT`; zero leaves it to `retries2`.
    UserTimeout(Duration),
    /// `TCP_CONGESTION`: congestion control algorithm. It starts with the
    /// congestion window and the slow-start threshold of the one it replaces.
    Congestion(CongestionChoice),
    /// Everything written so far is urgent. RFC 9293 §3.8.5.
    Urgent,
}

/// Result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// This many bytes.
    Data(usize),
    /// Nothing to read now.
    Empty,
    /// The peer closed its direction, and everything was read.
    End,
}

/// Readiness of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ready {
    /// The handshake is complete.
    pub connected: bool,
    /// A read returns data, the end or an error.
    pub readable: bool,
    /// A write would accept at least one byte.
    pub writable: bool,
    /// The peer closed its direction; earlier payload may still be unread.
    pub peer_closed: bool,
    /// The connection has ended.
    pub closed: Option<CloseReason>,
}

/// Changes since the owner last asked.
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

impl Events {
    /// Returns true if anything has changed.
    pub const fn any(self) -> bool {
        self.connected || self.readable || self.writable || self.closed
    }
}
