//! The application's calls.
//!
//! Rule: a full send buffer and an empty receive buffer are outcomes; only calls that can
//! never succeed are errors. After a call the owner calls `poll_segment`.

use super::{
    Connection, Env, Events, Read, Ready, SocketOption, TcpState, Trigger, settings::Millis,
};
use crate::{
    CloseReason, ConnectionError, Limit, SettingError, congestion::start_of, send::WakePolicy,
    trace::TraceEvent,
};

impl Connection {
    /// Returns the changes since the last call.
    pub fn take_events(&mut self) -> Events {
        core::mem::take(&mut self.events)
    }

    /// Returns the readiness of the connection.
    pub fn ready(&self, env: &Env<'_>) -> Ready {
        let peer_closed = self.receive.fin_received();
        let ended = self.state == TcpState::Closed;
        let (capacity, atomic) = (self.send_capacity(), env.config.write_atomic);
        let (room, _) = self.send.write_room(capacity, atomic, env.pool);
        // A writer that was notified of room is still writable if other connections have
        // taken the memory since: only a refused write asks for the next event.
        let has_room = match &self.send.blocked {
            Some(write) if write.woken => true,
            // A whole write was refused: report room only when all of it fits. Otherwise the writer
            // would try again and again in vain.
            Some(write) if atomic => room >= write.wanted,
            Some(_) | None => room > 0,
        };
        Ready {
            connected: self.state.is_synchronized(),
            readable: self.is_readable() || ended,
            writable: ended || (self.state.is_synchronized() && self.may_write() && has_room),
            peer_closed,
            closed: self.close_reason,
        }
    }

    /// Returns true if a read returns data or the end: enough payload has arrived, or no more
    /// can arrive.
    pub(super) fn is_readable(&self) -> bool {
        if self.holds_early_payload() {
            return self.settings.reads_closed;
        }
        let (unread, low_water) = (self.receive.readable(), self.settings.receive_low_water);
        let is_full = || self.receive.window_left() < self.full_segment();
        self.receive.fin_received()
            || self.settings.reads_closed
            || unread >= low_water.max(1)
            || (unread > 0 && is_full())
    }

    /// Returns true if payload received so far waits for ESTABLISHED: anybody can send a SYN
    /// with payload, and only the handshake shows that the peer has sent it. RFC 9293
    /// §3.10.7.3.
    fn holds_early_payload(&self) -> bool {
        matches!(self.state, TcpState::SynSent | TcpState::SynReceived)
    }

    /// Returns the bytes that the send buffer may hold now, given the bound on unsent payload.
    fn send_capacity(&self) -> u32 {
        let buffer = self.send_size.get();
        match self.settings.unsent_low_water {
            0 => buffer,
            unsent => buffer.min(self.send.outstanding().saturating_add(unsent)),
        }
    }

    fn may_write(&self) -> bool {
        self.state.may_write() && !self.send.fin_queued
    }

    fn check_writing(&self) -> Result<(), ConnectionError> {
        match self.close_reason {
            Some(reason) => Err(ConnectionError::Ended(reason)),
            _ if !self.may_write() => Err(ConnectionError::Shutdown),
            _ => Ok(()),
        }
    }

    /// Accepts as much of `payload` as there is room for. Returns the bytes accepted.
    ///
    /// A result of 0 is not an error: an event reports when there is room again. Before the
    /// handshake is complete nothing is accepted, because unsent payload could hold the memory that
    /// the handshake needs.
    ///
    /// # Errors
    /// Returns a [`ConnectionError`] if this direction is closed or the connection has ended.
    pub fn write(&mut self, payload: &[u8], env: &mut Env<'_>) -> Result<usize, ConnectionError> {
        self.check_writing()?;
        if !self.state.is_synchronized() {
            return Ok(0);
        }
        self.note_idle_path(env);
        let capacity = self.send_capacity();
        let taken = self
            .send
            .write(payload, capacity, env.config.write_atomic, env.pool);
        self.after_write(payload.len(), taken, env);
        Ok(taken)
    }

    /// Lets `fill` write in place, slice by slice; `fill` returns the number of
    /// bytes that it wrote. Otherwise like [`write`](Self::write).
    ///
    /// # Errors
    /// Returns the errors of `write`.
    pub fn write_with(
        &mut self,
        fill: &mut dyn FnMut(&mut [u8]) -> usize,
        env: &mut Env<'_>,
    ) -> Result<usize, ConnectionError> {
        self.check_writing()?;
        if !self.state.is_synchronized() {
            return Ok(0);
        }
        self.note_idle_path(env);
        let taken = self.send.write_with(self.send_capacity(), env.pool, fill);
        let refused = usize::from(self.send.blocked.is_some());
        self.after_write(taken + refused, taken, env);
        Ok(taken)
    }

    fn after_write(&mut self, asked: usize, taken: usize, env: &mut Env<'_>) {
        self.wants_output |= taken > 0;
        self.note_busy(env.now);
        self.note_write(taken, env);
        let Some(blocked) = self.send.blocked else {
            return self.follow_source(env);
        };
        let clamp = |bytes: usize| bytes.min(u32::MAX as usize) as u32;
        env.record(TraceEvent::WriterBlocked {
            asked: clamp(asked),
            taken: clamp(taken),
        });
        if blocked.by == Limit::Memory {
            env.record(TraceEvent::MemoryPressure(blocked.wanted));
        }
        self.follow_source(env);
    }

    /// Updates the limit of a sender that has sent everything written, after a call that may have
    /// changed the limit.
    fn follow_source(&mut self, env: &mut Env<'_>) {
        let source = matches!(
            self.limit.current(),
            Limit::Application | Limit::SendBuffer | Limit::Memory
        );
        if source && self.state.is_synchronized() {
            self.wants_output = true;
            if self.send.unsent() == 0 {
                let limit = self.send_allowance(env).bound_by;
                self.set_limit(self.charged_to(limit), env);
            }
        }
    }

    /// Returns the result of a read of `asked` bytes if the read returns no payload; otherwise
    /// `None`. Changes nothing.
    pub fn reads_nothing(&self, asked: usize) -> Option<Result<Read, ConnectionError>> {
        (!self.has_for_read_of(asked)).then(|| self.read_nothing())
    }

    /// Copies received payload into `out`.
    ///
    /// # Errors
    /// Returns [`ConnectionError::Ended`] if the connection ended otherwise than by FINs, and
    /// everything that had arrived was read.
    pub fn read(&mut self, out: &mut [u8], env: &mut Env<'_>) -> Result<Read, ConnectionError> {
        if let Some(nothing) = self.reads_nothing(out.len()) {
            return nothing;
        }
        let read = self.receive.read(out, env.pool);
        self.size_receive_buffer(read, env);
        self.after_read(env);
        Ok(Read::Data(read))
    }

    /// Passes received payload to `take` in place, slice by slice; `take` returns the
    /// number of bytes that it consumed.
    ///
    /// # Errors
    /// Returns the errors of [`read`](Self::read).
    pub fn read_with(
        &mut self,
        take: &mut dyn FnMut(&[u8]) -> usize,
        env: &mut Env<'_>,
    ) -> Result<Read, ConnectionError> {
        if let Some(nothing) = self.reads_nothing(usize::MAX) {
            return nothing;
        }
        let read = self.receive.read_with(env.pool, take);
        self.size_receive_buffer(read, env);
        self.after_read(env);
        Ok(Read::Data(read))
    }

    /// Copies received payload into `out` and leaves it unread.
    ///
    /// # Errors
    /// Returns the errors of [`read`](Self::read).
    pub fn peek(&self, out: &mut [u8], env: &Env<'_>) -> Result<Read, ConnectionError> {
        if let Some(nothing) = self.reads_nothing(out.len()) {
            return nothing;
        }
        Ok(Read::Data(self.receive.peek(out, env.pool)))
    }

    /// Returns true if a read of `asked` bytes returns payload.
    fn has_for_read_of(&self, asked: usize) -> bool {
        let unread = self.receive.readable();
        let ended = self.state == TcpState::Closed;
        let has_payload = unread > 0 && !self.holds_early_payload();
        has_payload && (unread as usize >= asked || ended || self.is_readable())
    }

    fn read_nothing(&self) -> Result<Read, ConnectionError> {
        if self.receive.fin_received() || self.settings.reads_closed {
            return Ok(Read::End);
        }
        match self.close_reason {
            Some(CloseReason::Finished) => Ok(Read::End),
            Some(reason) => Err(ConnectionError::Ended(reason)),
            None => Ok(Read::Empty),
        }
    }

    /// Makes a window update due if the read made enough room.
    fn after_read(&mut self, env: &mut Env<'_>) {
        self.receive.forget_urgent_read();
        self.on_prompt_read(env);
        if !self.state.is_synchronized() || self.receive.fin_received() {
            return;
        }
        self.demand_window_update(env);
    }

    /// Makes a window update due if the window can grow enough.
    pub(super) fn demand_window_update(&mut self, env: &mut Env<'_>) {
        let room = self.window_room(env);
        let growth = self.receive.window_growth(&room, env.pool);
        if self.receive.update_is_due(growth, &room) {
            self.demand_ack();
        }
    }

    /// Closes the receiving direction: unread payload is discarded, and later payload is
    /// acknowledged and discarded. The peer gets no notification. The call is `SHUT_RD` of BSD; RFC
    /// 9293 has no call for this purpose.
    pub fn shutdown_read(&mut self, env: &mut Env<'_>) {
        self.settings.reads_closed = true;
        self.discard_unread(env);
        self.events.readable = true;
    }

    /// Discards the unread payload that arrived in order, and opens the window again.
    pub(super) fn discard_unread(&mut self, env: &mut Env<'_>) {
        self.receive.read_with(env.pool, &mut |slice| slice.len());
        self.after_read(env);
    }

    /// Closes this direction: FIN follows the payload written. RFC 9293 §3.6.
    pub fn shutdown(&mut self, env: &mut Env<'_>) {
        if !self.may_write() {
            return;
        }
        self.send.fin_queued = true;
        self.send.blocked = None;
        self.wants_output = true;
        if self.state.is_synchronized() {
            self.note_busy(env.now);
            self.transition(Trigger::Close, env);
        }
    }

    /// Closes the connection: it becomes an orphan, which finishes without its application. If
    /// payload is unread, it is discarded and the peer gets a reset (RFC 9293 §3.6, RFC 1122
    /// §4.2.2.13); otherwise FIN follows the payload written. Before the handshake is complete, the
    /// connection ends at once.
    pub fn close(&mut self, env: &mut Env<'_>) {
        self.orphan = true;
        if !self.state.is_synchronized() {
            if self.state != TcpState::Closed {
                self.end(CloseReason::Aborted, env);
            }
            self.receive.release(env.pool);
            return;
        }
        if self.receive.readable() > 0 {
            env.counters.abort_on_close += 1;
            self.abort_with(CloseReason::Aborted, env);
            return;
        }
        self.shutdown(env);
        if self.state == TcpState::FinWait2 {
            self.timers.linger.set(env.now + env.config.fin_wait2);
        }
    }

    /// Ends the connection at once with a reset. RFC 9293 §3.10.5.
    pub fn abort(&mut self, env: &mut Env<'_>) {
        self.orphan = true;
        self.abort_with(CloseReason::Aborted, env);
    }

    /// Aborts an orphan to free its memory or its slot (Linux:
    /// TCPAbortOnMemory).
    pub fn abort_for_memory(&mut self, env: &mut Env<'_>) {
        env.counters.abort_on_memory += 1;
        self.abort(env);
    }

    /// Ends the connection because its local address was removed from this host. The peer gets no
    /// reset, because this host may no longer send from that address.
    pub fn on_address_removed(&mut self, env: &mut Env<'_>) {
        if self.state != TcpState::Closed {
            self.end(CloseReason::AddressRemoved, env);
        }
        self.pending.reset = None;
        self.wants_output = false;
    }

    /// Resets the peer and ends the connection for `reason`.
    pub(super) fn abort_with(&mut self, reason: CloseReason, env: &mut Env<'_>) {
        match self.state {
            TcpState::SynReceived
            | TcpState::Established
            | TcpState::FinWait1
            | TcpState::FinWait2
            | TcpState::CloseWait => {
                let seq = self.send.empty_segment_seq();
                self.pending.reset = Some((seq, Some(self.receive.rcv_nxt)));
            }
            TcpState::SynSent
            | TcpState::Closing
            | TcpState::LastAck
            | TcpState::TimeWait
            | TcpState::Closed => {}
        }
        if self.state != TcpState::Closed {
            self.end(reason, env);
        }
        self.receive.release(env.pool);
        self.wants_output = true;
    }

    /// Changes a setting. The window that was already advertised is not withdrawn.
    ///
    /// # Errors
    /// Returns a [`SettingError`] if the value is refused; nothing then changes.
    pub fn set(&mut self, option: SocketOption, env: &mut Env<'_>) -> Result<(), SettingError> {
        option.check(env.congestion)?;
        self.apply(option, env);
        self.wants_output = true;
        self.note_readiness(env);
        Ok(())
    }

    /// Acts on a checked option.
    fn apply(&mut self, option: SocketOption, env: &mut Env<'_>) {
        let settings = &mut self.settings;
        match option {
            SocketOption::NoDelay(on) => settings.nagle = !on,
            SocketOption::Cork(on) => {
                settings.corked = on;
                self.timers.cork.clear();
            }
            SocketOption::SendBuffer(bytes) => {
                (settings.send_buffer, settings.send_buffer_max) = (bytes, 0);
                self.send_size = self.settings.send_size(env.config);
                self.update_mss(env);
            }
            SocketOption::SendLowWater(bytes) => settings.send_low_water = bytes,
            SocketOption::UnsentLowWater(bytes) => settings.unsent_low_water = bytes,
            SocketOption::ReceiveBuffer(bytes) => {
                (settings.receive_buffer, settings.receive_buffer_max) = (bytes, 0);
                self.receive_size = self.settings.receive_size(env.config);
                self.after_read(env);
            }
            SocketOption::ReceiveLowWater(bytes) => {
                settings.receive_low_water = bytes;
                self.events.readable |= self.is_readable();
            }
            SocketOption::MaxSegment(bytes) => {
                settings.mss_max = bytes as u16;
                self.update_mss(env);
            }
            SocketOption::Unacknowledged(bytes) => {
                settings.unacknowledged = bytes;
                self.update_mss(env);
            }
            SocketOption::OutOfOrder(bytes) => settings.out_of_order = bytes,
            SocketOption::Keepalive(time) => {
                settings.keepalive_time = Millis::new(time);
                self.restart_keepalive(env);
            }
            SocketOption::KeepaliveInterval(time) => {
                settings.keepalive_interval = Millis::new(time);
            }
            SocketOption::KeepaliveProbes(probes) => settings.keepalive_probes = probes as u8,
            SocketOption::SynRetries(timeouts) => settings.syn_retries = timeouts as u8,
            SocketOption::UserTimeout(time) => settings.user_timeout = Millis::new(time),
            SocketOption::QuickAck(on) => {
                settings.quick_ack = on;
                if on && self.timers.ack.is_set() {
                    self.demand_ack();
                }
            }
            SocketOption::Congestion(choice) => {
                settings.congestion = choice;
                let start = start_of(env.config, self.mss(env), self.send.iss.0);
                self.congestion.change(choice, &start, env.congestion);
            }
            SocketOption::Urgent => {
                let (una, end) = (self.send.snd_una, self.send.payload_end());
                self.send.snd_up = end.after(una).then_some(end);
            }
        }
    }

    /// Notes that packet memory has free blocks again.
    pub fn on_memory(&mut self, env: &mut Env<'_>) {
        self.note_readiness(env);
        self.after_read(env);
    }

    /// Wakes a blocked writer if there is enough room for it.
    #[cfg_attr(target_pointer_width = "64", inline)]
    pub(super) fn note_readiness(&mut self, env: &mut Env<'_>) {
        if self.send.blocked.is_some_and(|blocked| !blocked.woken) {
            self.wake_writer(env);
        }
    }

    /// Wakes the blocked writer if there is enough room for it.
    fn wake_writer(&mut self, env: &mut Env<'_>) {
        let wake = WakePolicy {
            atomic: env.config.write_atomic,
            low_water: match self.settings.unsent_low_water {
                0 => self.settings.send_low_water,
                unsent => self
                    .settings
                    .send_low_water
                    .max(unsent.div_ceil(2))
                    .min(unsent),
            },
            mss: self.segment_size(env),
        };
        let capacity = self.send_capacity();
        if !self.send.should_wake(capacity, wake, env.pool) {
            return;
        }
        if let Some(blocked) = &mut self.send.blocked {
            blocked.woken = true;
        }
        self.events.writable = true;
        let (room, _) = self.send.write_room(capacity, wake.atomic, env.pool);
        env.record(TraceEvent::WriterResumed(room));
    }
}
