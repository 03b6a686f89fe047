//! The stack under its lock, the thread that drives it, and the sending of frames.
//!
//! Rule: no system call is made under the lock. The driver's thread receives frames into
//! a batch before it takes the lock. A thread that changed the stack lets the stack
//! write frames into a batch, releases the lock, wakes waiters, and then sends the
//! batch.
//!
//! Each device has two batches, one to fill and one to send (`send_queue`). A thread that sends
//! first removes the second batch from the locked state (`Core`). Until it puts this batch back,
//! other threads can only fill the first batch. At most one thread therefore sends by a device at a
//! time, and frames leave in order. A
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
    Instant, InterfaceId, Stack,
    device::{RxMeta, TxMeta},
};

use crate::{
    device::HostDevice,
    frames::FrameBatch,
    lease::LeaseHolder,
    names::NameHolder,
    poll::{self, Notifier},
    send_queue::SendQueue,
    wakers::{Handle, Interest, WakerTable},
};

/// Interval between tries to send to a full device. While a connection waits for completions of the
/// device, the driver reads the completions at this interval.
const DEVICE_PAUSE: Duration = Duration::from_micros(200);
/// Largest number of batches that a caller sends by each device in one call. The driver's thread sends the rest.
const CALLER_BATCHES: usize = 4;

/// The state that the lock guards.
pub(crate) struct Core {
    pub(crate) stack: Stack,
    pub(crate) wakers: WakerTable,
    /// The DHCP client; `None` if the address is fixed.
    pub(crate) lease: Option<LeaseHolder>,
    /// Lookups, and connections to names.
    pub(crate) names: NameHolder,
    /// The frames to be sent by each device.
    queues: Vec<SendQueue>,
    /// The driver's thread sleeps until this time; `None` if it is awake.
    asleep_until: Option<Instant>,
    /// True if the sleeping thread wakes every [`DEVICE_PAUSE`] to read the device's completions.
    watches_device: bool,
    /// The error that made the device unusable.
    failure: Option<io::ErrorKind>,
}

impl Core {
    /// Lets the stack carry the packets that this host sends to itself, and write the frames of each
    /// device; see [`SendQueue::fill`].
    pub(crate) fn transmit(&mut self, now: Instant, must: bool) {
        // A batch without room must not hold up loopback.
        let budget = self.stack.turn_budget();
        self.stack.loop_back(now, budget);
        for queue in &mut self.queues {
            queue.fill(&mut self.stack, now, must);
        }
    }

    /// Takes the batch of the first device that has one to send, with the number of the device.
    fn begin_sending(&mut self) -> Option<(usize, FrameBatch<TxMeta>)> {
        let mut queues = self.queues.iter_mut().enumerate();
        queues.find_map(|(number, queue)| Some((number, queue.begin_sending()?)))
    }

    /// Returns true if a thread is sending a batch.
    fn is_sending(&self) -> bool {
        self.queues.iter().any(SendQueue::is_sending)
    }

    /// Returns true if the sleeping thread must be woken earlier than it planned, and marks it as
    /// awake; the caller then wakes the thread. While another thread sends a batch, work that is due
    /// now needs no wake: the sending thread does that work after its batch.
    fn must_wake_thread(&mut self, now: Instant) -> bool {
        let Some(asleep_until) = self.asleep_until else {
            return false;
        };
        let is_sending = self.is_sending();
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
        let mut queues = self.queues.iter();
        queues.any(|queue| queue.is_full || self.stack.waits_for_device(queue.interface()))
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
            lease.drive(&mut self.stack, self.queues[0].outgoing(), now);
        }
    }

    /// Does the work that is due for lookups of names. Nothing happens if no lookup is under way.
    fn drive_names(&mut self, now: Instant) {
        self.names.drive(&mut self.stack, now);
    }

    /// Passes the frames that `interface` received to the stack, except those that are for the DHCP
    /// client of the first interface.
    fn receive(&mut self, interface: InterfaceId, incoming: &mut FrameBatch<RxMeta>, now: Instant) {
        let mut batch = self.stack.receive_batch(now);
        while let Some((frame, meta)) = incoming.first() {
            let lease = self.lease.as_mut();
            let lease = lease.filter(|_| interface == InterfaceId::FIRST);
            if !lease.is_some_and(|lease| lease.on_frame(frame, meta, now)) {
                batch.receive(frame, RxMeta { interface, ..meta });
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

/// A stack, its devices, and the state that the thread and callers need to drive them.
pub(crate) struct Driver {
    core: Mutex<Core>,
    /// The device of each interface, with the interface.
    devices: Vec<(InterfaceId, Box<dyn HostDevice>)>,
    notifier: Notifier,
    epoch: Moment,
    stopped: AtomicBool,
}

impl Driver {
    /// Creates the driver of `stack` over `devices`, in the order of their interfaces; its thread is
    /// not running yet.
    ///
    /// # Errors
    /// Fails if the kernel refuses a descriptor.
    pub(crate) fn new(
        stack: Stack,
        devices: Vec<(InterfaceId, Box<dyn HostDevice>)>,
        lease: Option<LeaseHolder>,
        names: NameHolder,
    ) -> io::Result<Self> {
        let queues = devices
            .iter()
            .map(|(interface, device)| SendQueue::new(*interface, device))
            .collect();
        let core = Core {
            stack,
            wakers: WakerTable::default(),
            lease,
            names,
            queues,
            asleep_until: None,
            watches_device: false,
            failure: None,
        };
        Ok(Self {
            core: Mutex::new(core),
            devices,
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
        for _ in 0..CALLER_BATCHES * self.devices.len() {
            let ready = core.take_ready(now);
            let begun = core.begin_sending();
            let must_wake = core.must_wake_thread(now);
            drop(core);
            ready.into_iter().for_each(Waker::wake);
            if must_wake {
                self.notifier.notify();
            }
            let Some((number, mut batch)) = begun else {
                return;
            };
            let device = &self.devices[number].1;
            let is_full = batch.send_to(device);
            let sent_bytes = sent_bytes(device);
            core = self.lock();
            now = self.now();
            core.queues[number].end_sending(batch, is_full, sent_bytes);
            // Let the stack write frames for which the last batch had no room, or that have become
            // due.
            let must = core.stack.waits_for_device(self.devices[number].0);
            core.transmit(now, must);
        }
        let ready = core.take_ready(now);
        let has_frames = core.queues.iter().any(SendQueue::has_frames);
        let must_wake =
            core.must_wake_thread(now) | (has_frames && core.asleep_until.take().is_some());
        drop(core);
        ready.into_iter().for_each(Waker::wake);
        if must_wake {
            self.notifier.notify();
        }
    }

    /// Drives the stack until the runtime is stopped.
    pub(crate) fn run(&self) {
        poll::wait_precisely();
        let _ended = Ended(self);
        let budget = self.lock().stack.turn_budget();
        let batch = |device: &dyn HostDevice| FrameBatch::<RxMeta>::new(device.frame_max());
        let mut incoming: Vec<_> = self.devices.iter().map(|of| batch(&*of.1)).collect();
        loop {
            let received = self.receive(&mut incoming, budget);
            let mut core = self.lock();
            let now = self.now();
            core.asleep_until = None;
            let devices = self.devices.iter().zip(&mut incoming).enumerate();
            for (number, ((interface, device), incoming)) in devices {
                let queue = &mut core.queues[number];
                queue.is_full = false; // until the next frame is refused
                queue.note_sent(sent_bytes(device));
                core.receive(*interface, incoming, now);
            }
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

    /// Receives the frames of one turn by each device. Returns true if a device may have more.
    fn receive(&self, incoming: &mut [FrameBatch<RxMeta>], budget: usize) -> io::Result<bool> {
        let mut has_more = false;
        for ((_, device), incoming) in self.devices.iter().zip(incoming) {
            has_more |= incoming.receive_from(device, device.frame_max(), budget)?;
        }
        Ok(has_more)
    }

    /// Waits for a frame, for the next deadline, or for a notification.
    fn sleep(&self) {
        let mut core = self.lock();
        let now = self.now();
        let deadline = core.next_timeout();
        let is_sending = core.is_sending();
        let can_send = |queue: &SendQueue| queue.has_frames() && !queue.is_full;
        let has_frames = core.queues.iter().any(can_send);
        if !is_sending && (has_frames || deadline.is_some_and(|at| at <= now)) {
            return;
        }
        // Do not wake for work that is already due. If there is such work at this point, another
        // thread is sending a batch, and does the work after the batch.
        let deadline = deadline.filter(|at| *at > now);
        core.asleep_until = Some(deadline.unwrap_or(Instant::from_nanos(u64::MAX)));
        let watches = core.waits_for_device();
        core.watches_device = watches;
        let devices = self.devices.iter().zip(&core.queues);
        let waits = devices.map(|((_, device), queue)| (device.as_fd(), queue.is_full));
        let waits: Vec<_> = waits.collect();
        drop(core);
        let mut timeout = deadline.map(|at| Duration::from(at.since(now)));
        let pause = watches.then_some(DEVICE_PAUSE);
        let of_devices = self
            .devices
            .iter()
            .map(|(_, device)| device.receive_within());
        for most in of_devices.chain([pause]).flatten() {
            timeout = Some(timeout.map_or(most, |timeout| timeout.min(most)));
        }
        let _ = poll::wait(&waits, &self.notifier, timeout);
    }
}

/// Returns the bytes that `device` has completed, if it reports them.
fn sent_bytes(device: &impl HostDevice) -> u64 {
    match device.capabilities().reports_sent {
        true => device.sent_bytes(),
        false => 0,
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
