//! The stack under its lock, the thread that drives it, and the sending of frames.
//!
//! Rule: no system call is made under the lock. The driver's thread receives frames into
//! a batch before it takes the lock. A thread that changed the stack lets the stack
//! write frames into a batch, releases the lock, wakes waiters, and then sends the
//! batch.
//!
//! There are two batches, one to fill and one to send. A thread that sends first removes the second
//! batch from the locked state (`Core`). Until it puts this batch back, other threads can only fill
//! the first batch. At most one thread therefore sends at a time, and frames leave in order. A
//! caller's frames need no switch to the driver's thread, and a caller never waits for another
//! caller's system call.

use std::{
    io,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::Waker,
    time::{Duration, Instant as Moment},
};

use fullpipe::{
    Instant, Stack,
    device::{Capabilities, RxMeta, TxMeta},
};

use crate::{
    device::HostDevice,
    frames::{FrameBatch, Outlet},
    lease::LeaseHolder,
    names::NameHolder,
    poll::{self, Notifier},
    wakers::{Handle, Interest, WakerTable},
};

/// Interval between tries to send to a full device. While a connection waits for completions of the
/// device, the driver reads the completions at this interval.
const DEVICE_PAUSE: Duration = Duration::from_micros(200);
/// Largest number of batches that a caller sends in one call. The driver's thread sends the rest.
const CALLER_BATCHES: u32 = 4;

/// The state that the lock guards.
pub(crate) struct Core {
    pub(crate) stack: Stack,
    pub(crate) wakers: WakerTable,
    /// The DHCP client; `None` if the address is fixed.
    pub(crate) lease: Option<LeaseHolder>,
    /// Lookups, and connections to names.
    pub(crate) names: NameHolder,
    /// Frames that the stack has written and that wait to be sent.
    outgoing: FrameBatch<TxMeta>,
    /// The batch to send; `None` while a thread is sending it. While no thread sends, the batch is
    /// empty unless the device was full.
    sending: Option<FrameBatch<TxMeta>>,
    capabilities: Capabilities,
    frame_max: usize,
    /// True if the device refused a frame; the driver's thread then tries again.
    device_is_full: bool,
    /// True if the stack could not send because the device was full.
    stack_is_refused: bool,
    sent_bytes: u64,
    /// The driver's thread sleeps until this time; `None` if it is awake.
    asleep_until: Option<Instant>,
    /// True if the sleeping thread wakes every [`DEVICE_PAUSE`] to read the device's completions.
    watches_device: bool,
    /// The error that made the device unusable.
    failure: Option<io::ErrorKind>,
}

impl Core {
    /// Returns true if the stack has something to do now.
    fn is_due(&self, now: Instant) -> bool {
        self.stack.next_timeout().is_some_and(|at| at <= now)
    }

    /// Lets the stack write frames until none is due, the frames of one turn
    /// (`stack.turn_budget`) are written, or the batch has no room. If `must` is true, polls
    /// the stack once even if nothing is due.
    pub(crate) fn transmit(&mut self, now: Instant, mut must: bool) {
        let has_leftovers = self.sending.as_ref().is_some_and(|batch| !batch.is_empty());
        let is_full = self.device_is_full || has_leftovers;
        must |= self.stack_is_refused && !is_full;
        let mut budget = self.stack.turn_budget();
        while budget > 0 && (must || self.is_due(now)) {
            // Poll for no more frames than are certain to fit. If the batch refused a frame, the
            // stack would assume that the device is full, and would count the connections as
            // limited by the device.
            let fitting = self.outgoing.room() / self.frame_max;
            if fitting == 0 && !is_full {
                return;
            }
            must = false;
            let most = budget.min(fitting.max(1));
            let mut outlet = Outlet {
                capabilities: self.capabilities,
                batch: &mut self.outgoing,
                is_full,
                has_refused: false,
                sent_bytes: self.sent_bytes,
            };
            let sent = self.stack.transmit(&mut outlet, now, most);
            self.stack_is_refused = outlet.has_refused;
            if sent == 0 {
                return;
            }
            budget -= most;
        }
    }

    /// Takes the batch to send, unless another thread has it, there is nothing to
    /// send, or the device is full.
    fn begin_sending(&mut self) -> Option<FrameBatch<TxMeta>> {
        let sending = self.sending.as_ref()?;
        if self.device_is_full || (sending.is_empty() && self.outgoing.is_empty()) {
            return None;
        }
        let mut sending = self.sending.take()?;
        if sending.is_empty() {
            std::mem::swap(&mut sending, &mut self.outgoing);
        }
        Some(sending)
    }

    /// Returns true if the sleeping thread must be woken earlier than it planned, and marks it as
    /// awake; the caller then wakes the thread. While another thread sends a batch, work that is due
    /// now needs no wake: the sending thread does that work after its batch.
    fn must_wake_thread(&mut self, now: Instant) -> bool {
        let Some(asleep_until) = self.asleep_until else {
            return false;
        };
        let is_sending = self.sending.is_none();
        let next = self.next_timeout();
        let is_early = next.is_some_and(|at| at < asleep_until && !(is_sending && at <= now));
        let must = is_early || (self.waits_for_device() && !self.watches_device);
        if must {
            self.asleep_until = None;
        }
        must
    }

    /// Returns true if something waits for the device: a refused frame, or a connection
    /// that waits for completions.
    fn waits_for_device(&self) -> bool {
        self.device_is_full || self.stack.waits_for_device()
    }

    /// Returns the time at which the stack, the DHCP client or a lookup next has something to do.
    fn next_timeout(&self) -> Option<Instant> {
        let lease = self.lease.as_ref().and_then(LeaseHolder::next_timeout);
        [self.stack.next_timeout(), lease, self.names.next_timeout()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Lets the DHCP client, if there is one, do what is due.
    pub(crate) fn drive_lease(&mut self, now: Instant) {
        if let Some(lease) = &mut self.lease {
            lease.drive(&mut self.stack, &mut self.outgoing, now);
        }
    }

    /// Does the work that is due for lookups of names. Nothing happens if no lookup is under way.
    fn drive_names(&mut self, now: Instant) {
        self.names.drive(&mut self.stack, now);
    }

    /// Passes the received frames to the stack, except those that are for the DHCP client.
    fn receive(&mut self, incoming: &mut FrameBatch<RxMeta>, now: Instant) {
        let mut batch = self.stack.receive_batch(now);
        while let Some((frame, meta)) = incoming.first() {
            let lease = self.lease.as_mut();
            if !lease.is_some_and(|lease| lease.on_frame(frame, meta, now)) {
                batch.receive(frame, meta);
            }
            incoming.remove_first();
        }
    }

    /// Removes and returns the wakers of sockets that became ready.
    fn take_ready(&mut self, now: Instant) -> Vec<Waker> {
        let mut ready = Vec::new();
        if let Some(lease) = &mut self.lease {
            lease.take_ready(&mut ready);
        }
        self.names.take_ready(&mut ready);
        self.wakers.take_ready(&mut self.stack, now, &mut ready);
        ready
    }
}

/// A stack, its device, and the state that the thread and callers need to drive them.
pub(crate) struct Driver {
    core: Mutex<Core>,
    device: Box<dyn HostDevice>,
    reports_sent: bool,
    notifier: Notifier,
    epoch: Moment,
    stopped: AtomicBool,
}

impl Driver {
    /// Creates the driver of `stack` over `device`; its thread is not running yet.
    ///
    /// # Errors
    /// Fails if the kernel refuses a descriptor.
    pub(crate) fn new(
        stack: Stack,
        device: Box<dyn HostDevice>,
        lease: Option<LeaseHolder>,
        names: NameHolder,
    ) -> io::Result<Self> {
        let capabilities = device.capabilities();
        let frame_max = device.frame_max();
        let core = Core {
            stack,
            wakers: WakerTable::default(),
            lease,
            names,
            outgoing: FrameBatch::new(frame_max),
            sending: Some(FrameBatch::new(frame_max)),
            capabilities,
            frame_max,
            device_is_full: false,
            stack_is_refused: false,
            sent_bytes: 0,
            asleep_until: None,
            watches_device: false,
            failure: None,
        };
        Ok(Self {
            core: Mutex::new(core),
            device,
            reports_sent: capabilities.reports_sent,
            notifier: Notifier::new()?,
            epoch: Moment::now(),
            stopped: AtomicBool::new(false),
        })
    }

    /// Time since the runtime's start, on the stack's clock. Never zero.
    pub(crate) fn now(&self) -> Instant {
        Instant::from_nanos(1 + self.epoch.elapsed().as_nanos() as u64)
    }

    /// Takes the lock.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes one call into the stack, and sends the frames that result.
    pub(crate) fn call<R>(&self, call: impl FnOnce(&mut Stack, Instant) -> R) -> R {
        let mut core = self.lock();
        let now = self.now();
        let outcome = call(&mut core.stack, now);
        core.transmit(now, false);
        self.settle(core, now);
        outcome
    }

    /// Makes the call that closes the socket `handle`, and removes its waiters before
    /// another socket can take its slot.
    pub(crate) fn close(&self, handle: Handle, close: impl FnOnce(&mut Stack, Instant)) {
        let mut forgotten = Vec::new();
        let mut core = self.lock();
        let now = self.now();
        close(&mut core.stack, now);
        for interest in [Interest::Read, Interest::Write, Interest::Connect] {
            core.wakers.take(handle, interest, &mut forgotten);
        }
        core.transmit(now, false);
        self.settle(core, now);
        drop(forgotten); // without the lock
    }

    /// Changes the state of the DHCP client, and sends the frames that follow from the change.
    pub(crate) fn change_lease(&self, change: impl FnOnce(&mut LeaseHolder, Instant)) {
        let mut core = self.lock();
        let now = self.now();
        if let Some(lease) = &mut core.lease {
            change(lease, now);
            core.drive_lease(now);
            core.transmit(now, false);
            self.settle(core, now);
        }
    }

    /// Runs one call about names (a lookup, or a connection to a name), and sends the frames that
    /// result.
    pub(crate) fn call_names<R>(&self, call: impl FnOnce(&mut Core, Instant) -> R) -> R {
        let mut core = self.lock();
        let now = self.now();
        let outcome = call(&mut core, now);
        core.transmit(now, false);
        self.settle(core, now);
        outcome
    }

    /// Wakes the waiters of one direction of `handle`.
    pub(crate) fn wake(&self, handle: Handle, interest: Interest) {
        let mut woken = Vec::new();
        self.lock().wakers.take(handle, interest, &mut woken);
        woken.into_iter().for_each(Waker::wake);
    }

    /// Checks that the runtime still runs.
    ///
    /// # Errors
    /// Fails if the device is gone, or the runtime was dropped.
    pub(crate) fn check(&self, core: &Core) -> io::Result<()> {
        if let Some(kind) = core.failure {
            return Err(io::Error::new(kind, "the network device is gone"));
        }
        if self.is_stopped() {
            return Err(io::Error::new(
                io::ErrorKind::NotConnected,
                "the stack has been stopped",
            ));
        }
        Ok(())
    }

    /// Stops the thread.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.notifier.notify();
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Wakes waiters, sends the frames, and wakes the driver's thread if it sleeps beyond the next
    /// deadline. Every change of the stack must end with this call, after [`Core::transmit`].
    pub(crate) fn settle<'a>(&'a self, mut core: MutexGuard<'a, Core>, mut now: Instant) {
        for _ in 0..CALLER_BATCHES {
            let ready = core.take_ready(now);
            let batch = core.begin_sending();
            let must_wake = core.must_wake_thread(now);
            drop(core);
            ready.into_iter().for_each(Waker::wake);
            if must_wake {
                self.notifier.notify();
            }
            let Some(mut batch) = batch else {
                return;
            };
            let is_full = batch.send_to(&self.device);
            let sent_bytes = self.sent_bytes();
            core = self.lock();
            now = self.now();
            core.sending = Some(batch);
            core.device_is_full = is_full;
            core.sent_bytes = core.sent_bytes.max(sent_bytes);
            // Let the stack write frames for which the last batch had no room, or that have become
            // due.
            let must = core.stack.waits_for_device();
            core.transmit(now, must);
        }
        let ready = core.take_ready(now);
        let has_frames = !core.outgoing.is_empty();
        let must_wake =
            core.must_wake_thread(now) | (has_frames && core.asleep_until.take().is_some());
        drop(core);
        ready.into_iter().for_each(Waker::wake);
        if must_wake {
            self.notifier.notify();
        }
    }

    fn sent_bytes(&self) -> u64 {
        if self.reports_sent {
            self.device.sent_bytes()
        } else {
            0
        }
    }

    /// Drives the stack until the runtime is stopped.
    pub(crate) fn run(&self) {
        poll::wait_precisely();
        let _ended = Ended(self);
        let (frame_max, budget) = {
            let core = self.lock();
            (core.frame_max, core.stack.turn_budget())
        };
        let mut incoming = FrameBatch::<RxMeta>::new(frame_max);
        loop {
            let received = incoming.receive_from(&self.device, frame_max, budget);
            let sent_bytes = self.sent_bytes();
            let mut core = self.lock();
            let now = self.now();
            core.asleep_until = None;
            core.device_is_full = false; // until the next frame is refused
            core.sent_bytes = core.sent_bytes.max(sent_bytes);
            core.receive(&mut incoming, now);
            core.drive_lease(now);
            core.stack.on_timeouts(now);
            core.drive_names(now);
            core.transmit(now, true);
            if let Err(error) = &received {
                core.failure = Some(error.kind());
                self.stopped.store(true, Ordering::Release);
            }
            self.settle(core, now);
            if self.is_stopped() {
                return;
            }
            if !received.unwrap_or(false) {
                self.sleep();
            }
        }
    }

    /// Waits for a frame, for the next deadline, or for a notification.
    fn sleep(&self) {
        let mut core = self.lock();
        let now = self.now();
        let deadline = core.next_timeout();
        let is_sending = core.sending.is_none();
        let has_frames = !core.outgoing.is_empty() && !core.device_is_full;
        if !is_sending && (has_frames || deadline.is_some_and(|at| at <= now)) {
            return;
        }
        // Do not wake for work that is already due. If there is such work at this point, another
        // thread is sending a batch, and does the work after the batch.
        let deadline = deadline.filter(|at| *at > now);
        core.asleep_until = Some(deadline.unwrap_or(Instant::from_nanos(u64::MAX)));
        let (for_room, watches) = (core.device_is_full, core.waits_for_device());
        core.watches_device = watches;
        drop(core);
        let mut timeout = deadline.map(|at| Duration::from(at.since(now)));
        let pause = watches.then_some(DEVICE_PAUSE);
        for most in [pause, self.device.receive_within()].into_iter().flatten() {
            timeout = Some(timeout.map_or(most, |timeout| timeout.min(most)));
        }
        let _ = poll::wait(self.device.as_fd(), for_room, &self.notifier, timeout);
    }
}

/// Wakes every waiter when the driver's thread ends, even by a panic.
struct Ended<'a>(&'a Driver);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.stopped.store(true, Ordering::Release);
        let mut waiting = Vec::new();
        let mut core = self.0.lock();
        core.wakers.take_all(&mut waiting);
        if let Some(lease) = &mut core.lease {
            lease.take_all(&mut waiting);
        }
        core.names.take_all(&mut waiting);
        drop(core);
        waiting.into_iter().for_each(Waker::wake);
    }
}
