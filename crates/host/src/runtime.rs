//! A thread that turns a stack over a device, and the calls that reach into it.
//!
//! Rule: one lock around stack and device. A call does its work and sends what
//! came of it itself, under the lock; the thread only waits for frames and
//! deadlines, and is rung for only when a deadline comes earlier than it knows
//! of. So no frame costs a switch between threads on its way out, and a turn's
//! worth of frames costs one on its way in.

use std::{
    fmt, io,
    net::IpAddr,
    os::fd::{AsFd, BorrowedFd},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant as Moment},
};

use fullpipe::{
    Config, ConfigError, Instant, Interface, SocketEvent, Stack,
    device::{Capabilities, Device, Received, TxMeta},
    turn,
};

use crate::{
    poll::{self, Bell},
    spec::Prefix,
};

/// How often the thread offers its place to callers before it turns again.
const YIELDS: u32 = 64;
/// How long a full device is left alone when it cannot say that it has room.
const FULL_PAUSE: Duration = Duration::from_micros(200);
/// How often a [`finish`](Runtime::finish) looks.
const FINISH_POLL: Duration = Duration::from_millis(5);

/// A device of this machine: its descriptor can be waited for.
pub trait HostDevice: Device + AsFd + Send {
    /// Why the device will never work again, once.
    fn failure(&mut self) -> Option<io::Error>;
}

impl Device for Box<dyn HostDevice> {
    fn capabilities(&self) -> Capabilities {
        (**self).capabilities()
    }

    fn receive(&mut self) -> Option<Received<'_>> {
        (**self).receive()
    }

    fn lend(&mut self, len: usize) -> Option<&mut [u8]> {
        (**self).lend(len)
    }

    fn send(&mut self, len: usize, meta: TxMeta) {
        (**self).send(len, meta);
    }

    fn sent_bytes(&mut self) -> u64 {
        (**self).sent_bytes()
    }

    fn flush(&mut self) {
        (**self).flush();
    }
}

/// Why a stack could not be started.
#[derive(Debug)]
pub enum StartError {
    /// A knob, or the addresses.
    Config(ConfigError),
    /// The operating system refused a thread, a descriptor or entropy.
    System(io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::System(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Config(error) => Some(error),
            Self::System(error) => Some(error),
        }
    }
}

/// Who waits for one handle.
#[derive(Debug, Default)]
struct Waiters {
    condition: Arc<Condvar>,
    waiting: u32,
}

/// What a handle's waiters are found by.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Handle {
    Tcp(u32),
    Accept(u32),
    Udp(u32),
}

/// What the lock guards.
pub(crate) struct Core {
    pub(crate) stack: Stack,
    device: Box<dyn HostDevice>,
    /// By slot: connections, listeners, UDP sockets.
    waiters: [Vec<Waiters>; 3],
    /// The thread waits, until this moment; `None`: it is turning.
    asleep_until: Option<Instant>,
    /// Why the device is gone.
    failure: Option<io::ErrorKind>,
}

impl Core {
    fn waiters(&mut self, handle: Handle) -> &mut Waiters {
        let (kind, index) = match handle {
            Handle::Tcp(index) => (0, index),
            Handle::Accept(index) => (1, index),
            Handle::Udp(index) => (2, index),
        };
        let list = &mut self.waiters[kind];
        let index = index as usize;
        if list.len() <= index {
            list.resize_with(index + 1, Waiters::default);
        }
        &mut list[index]
    }

    /// Wakes those whose handle changed, if they wait.
    fn tell(&mut self) {
        while let Some(event) = self.stack.next_event() {
            let handle = match event {
                SocketEvent::Tcp(id) => Handle::Tcp(id.index()),
                SocketEvent::Accept(id) => Handle::Accept(id.index()),
                SocketEvent::Udp(id) => Handle::Udp(id.index()),
            };
            let waiters = self.waiters(handle);
            if waiters.waiting > 0 {
                waiters.condition.notify_all();
            }
        }
    }
}

pub(crate) struct Shared {
    core: Mutex<Core>,
    bell: Bell,
    epoch: Moment,
    stopped: AtomicBool,
    /// Callers that want the lock.
    callers: AtomicU32,
}

impl Shared {
    /// Time since the runtime's start, as the stack counts it. Never zero.
    fn now(&self) -> Instant {
        Instant::from_nanos(1 + self.epoch.elapsed().as_nanos() as u64)
    }

    fn lock(&self) -> MutexGuard<'_, Core> {
        self.callers.fetch_add(1, Ordering::Relaxed);
        let core = self.core.lock().unwrap_or_else(PoisonError::into_inner);
        self.callers.fetch_sub(1, Ordering::Relaxed);
        core
    }

    /// Sends what a call brought about, and lets the thread know of deadlines
    /// that come before it would wake.
    fn settle(&self, core: &mut Core, now: Instant) {
        let due = |core: &Core| core.stack.next_timeout().is_some_and(|at| at <= now);
        if due(core) {
            let budget = core.stack.turn_budget();
            core.stack.transmit(&mut core.device, now, budget);
            core.device.flush();
        }
        core.tell();
        let Some(asleep_until) = core.asleep_until else {
            return;
        };
        if core
            .stack
            .next_timeout()
            .is_some_and(|at| at < asleep_until)
        {
            core.asleep_until = None; // one ring is enough
            self.bell.ring();
        }
    }

    fn check(&self, core: &Core) -> io::Result<()> {
        if let Some(kind) = core.failure {
            return Err(io::Error::new(kind, "the network device is gone"));
        }
        if self.stopped.load(Ordering::Acquire) {
            return Err(io::Error::new(
                io::ErrorKind::NotConnected,
                "the stack has been stopped",
            ));
        }
        Ok(())
    }

    /// One call into the stack.
    pub(crate) fn call<R>(&self, call: impl FnOnce(&mut Stack, Instant) -> R) -> R {
        let mut core = self.lock();
        let now = self.now();
        let outcome = call(&mut core.stack, now);
        self.settle(&mut core, now);
        outcome
    }

    /// Calls until `attempt` has an answer, waiting for `handle` in between, for
    /// at most `timeout`.
    ///
    /// # Errors
    /// `WouldBlock` when there was no answer in time, as the kernel has it; or
    /// the runtime was stopped.
    pub(crate) fn wait<R>(
        &self,
        handle: Handle,
        timeout: Option<Duration>,
        mut attempt: impl FnMut(&mut Stack, Instant) -> Option<R>,
    ) -> io::Result<R> {
        let deadline = timeout.and_then(|timeout| Moment::now().checked_add(timeout));
        let mut core = self.lock();
        loop {
            let now = self.now();
            let outcome = attempt(&mut core.stack, now);
            self.settle(&mut core, now);
            if let Some(outcome) = outcome {
                return Ok(outcome);
            }
            self.check(&core)?;
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Moment::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let waiters = core.waiters(handle);
            waiters.waiting += 1;
            let condition = Arc::clone(&waiters.condition);
            core = match left {
                Some(left) => {
                    condition
                        .wait_timeout(core, left)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
                None => condition.wait(core).unwrap_or_else(PoisonError::into_inner),
            };
            core.waiters(handle).waiting -= 1;
        }
    }

    /// Turns until stopped. `device`: what to wait for, the device's own.
    fn run(&self, device: BorrowedFd<'_>) {
        poll::wait_precisely();
        let _ended = Ended(self);
        loop {
            self.let_callers_in();
            let mut guard = self.core.lock().unwrap_or_else(PoisonError::into_inner);
            let core = &mut *guard;
            let now = self.now();
            core.asleep_until = None;
            let turned = turn(&mut core.stack, &mut core.device, now);
            core.tell();
            if let Some(failure) = core.device.failure() {
                core.failure = Some(failure.kind());
                self.stopped.store(true, Ordering::Release);
            }
            if self.stopped.load(Ordering::Acquire) {
                return;
            }
            if turned.more_work {
                continue;
            }
            let deadline = core.stack.next_timeout();
            core.asleep_until = Some(deadline.unwrap_or(Instant::from_nanos(u64::MAX)));
            let timeout = deadline.map(|at| Duration::from(at.since(self.now())));
            let timeout = if turned.device_full {
                Some(timeout.map_or(FULL_PAUSE, |timeout| timeout.min(FULL_PAUSE)))
            } else {
                timeout
            };
            drop(guard);
            let _ = poll::wait(device, turned.device_full, &self.bell, timeout);
        }
    }

    /// A lock that is taken again at once would never be had by anybody else.
    fn let_callers_in(&self) {
        for _ in 0..YIELDS {
            if self.callers.load(Ordering::Relaxed) == 0 {
                break;
            }
            thread::yield_now();
        }
    }
}

/// Tells every waiter that the thread has ended, by a panic too.
struct Ended<'a>(&'a Shared);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.stopped.store(true, Ordering::Release);
        let core = self.0.core.lock().unwrap_or_else(PoisonError::into_inner);
        for waiters in core.waiters.iter().flatten() {
            waiters.condition.notify_all();
        }
    }
}

/// A running stack. Its sockets stop working when it is dropped; the device is
/// closed with the last of them. Sockets are made from it.
pub struct Runtime {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    interface: Interface,
    config: Config,
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime")
            .field("interface", &self.interface)
            .finish_non_exhaustive()
    }
}

impl Runtime {
    /// Starts a stack with `config` on `device`, as host `prefix.address`. Its
    /// secret and its station address are drawn from the kernel's generator.
    ///
    /// # Errors
    /// A knob or an address that cannot work, or a refusal of the operating
    /// system. The device is then closed.
    pub fn start(
        config: &Config,
        device: Box<dyn HostDevice>,
        prefix: Prefix,
        gateway: Option<IpAddr>,
    ) -> Result<Self, StartError> {
        let interface = Interface {
            mac: crate::station_address().map_err(StartError::System)?,
            address: prefix.address,
            prefix_len: prefix.len,
            gateway,
            capabilities: device.capabilities(),
        };
        let secret = crate::secret().map_err(StartError::System)?;
        // The thread waits without the lock, so it needs a descriptor of its own.
        let descriptor = device
            .as_fd()
            .try_clone_to_owned()
            .map_err(StartError::System)?;
        let stack = Stack::new(config, interface, secret).map_err(StartError::Config)?;
        let core = Core {
            stack,
            device,
            waiters: Default::default(),
            asleep_until: None,
            failure: None,
        };
        let shared = Arc::new(Shared {
            core: Mutex::new(core),
            bell: Bell::new().map_err(StartError::System)?,
            epoch: Moment::now(),
            stopped: AtomicBool::new(false),
            callers: AtomicU32::new(0),
        });
        let thread = {
            let shared = Arc::clone(&shared);
            thread::Builder::new()
                .name("fullpipe".into())
                .spawn(move || shared.run(descriptor.as_fd()))
                .map_err(StartError::System)?
        };
        Ok(Self {
            shared,
            thread: Some(thread),
            interface,
            config: config.clone(),
        })
    }

    /// Where the stack is attached.
    pub const fn interface(&self) -> &Interface {
        &self.interface
    }

    /// The knobs it was started with.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Looks into the stack, or changes it, between two turns.
    pub fn with_stack<R>(&self, look: impl FnOnce(&mut Stack, Instant) -> R) -> R {
        self.shared.call(look)
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Waits until every connection has said what it had to say, for at most
    /// `patience`, and stops. Returns whether all had.
    pub fn finish(self, patience: Duration) -> bool {
        let started = Moment::now();
        loop {
            let done = self.with_stack(|stack, _| stack.tcp_counts().0 == 0);
            if done || started.elapsed() >= patience {
                return done;
            }
            thread::sleep(FINISH_POLL);
        }
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Release);
        self.shared.bell.ring();
        if let Some(thread) = self.thread.take() {
            // A panic there has been printed there.
            let _ = thread.join();
        }
    }
}
