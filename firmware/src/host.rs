//! The host: driver, stack and clock, and their turn loop.
//!
//! Rule: everything is allocated in [`Host::start`]; afterwards the arena is closed. A program is
//! called after each turn, and says when it wants to be called again.

use alloc::boxed::Box;

use fullpipe::{Duration, Instant, Interface, MacAddress, Stack, device::Device, turn};

use crate::{
    arena, board::Clock, command_line::Options, lan9118::Lan9118, println, start::StackDepth,
};

/// Interval at which the link state is read from the PHY.
const LINK_CHECK: Duration = Duration::from_millis(200);
/// Longest wait until a full device is asked for room again.
const DEVICE_WAIT: Duration = Duration::from_millis(1);

/// The request of a program for its next call.
pub enum Next {
    /// Call the program at the next frame, or at this time.
    Wait(Option<Instant>),
    /// The program has ended.
    End,
}

/// A running host.
pub struct Host {
    nic: Box<Lan9118>,
    stack: Box<Stack>,
    clock: Clock,
    depth: Option<StackDepth>,
    link_is_up: bool,
    link_checked: Instant,
    /// Smallest number of free blocks seen after a turn.
    least_free: u32,
    /// Time spent asleep.
    asleep: Duration,
}

impl Host {
    /// Starts the driver and the stack, and prints how much memory each takes.
    ///
    /// # Panics
    /// Panics if the controller does not answer, or the configuration is refused.
    // Not inlined: a new stack is moved several times, and the memory of the moves would be part of the
    // caller's frame while the host runs.
    #[inline(never)]
    pub fn start(options: &Options<'_>, mut clock: Clock) -> Self {
        let [_, b, c, d] = options.address.octets();
        let mac = MacAddress([2, 0, 0, b, c, d]);
        let nic = Box::new(Lan9118::start(mac).expect("the Ethernet controller answers"));
        let interface = Interface {
            mac,
            address: options.address.into(),
            prefix_len: 24,
            gateway: None,
            capabilities: nic.capabilities(),
        };
        // A product needs a source of entropy here, because sequence numbers and ports are derived
        // from these bytes. The emulated board has no such source.
        let mut secret = [0x5a; 16];
        secret[..8].copy_from_slice(&clock.now().as_nanos().to_le_bytes());
        let driver = arena::used();
        let stack = Stack::new(&options.config, interface, secret);
        let stack = Box::new(stack.expect("the configuration is sound"));
        arena::close();
        let pool = &options.config.pool;
        println!(
            "memory: driver {driver} bytes, stack {} bytes, of which {} x {} bytes of pool",
            arena::used() - driver,
            pool.blocks,
            pool.block_size,
        );
        println!("address: {}", options.address);
        let least_free = stack.pool().free_blocks();
        Self {
            nic,
            stack,
            clock,
            depth: options.measures_stack.then(StackDepth::default),
            link_is_up: false,
            link_checked: Instant::ZERO,
            least_free,
            asleep: Duration::ZERO,
        }
    }

    /// Returns the stack and the time, to open sockets before [`run`](Self::run).
    pub fn stack(&mut self) -> (&mut Stack, Instant) {
        let now = self.clock.now();
        (&mut self.stack, now)
    }

    /// Runs turns until `program` ends, then until no connection is left or `patience` is over.
    pub fn run(
        &mut self,
        patience: Duration,
        mut program: impl FnMut(&mut Stack, Instant) -> Next,
    ) {
        loop {
            let full = self.turn();
            let now = self.clock.now();
            // Discard events: the programs check every socket in each turn.
            while self.stack.next_event().is_some() {}
            match program(&mut self.stack, now) {
                Next::Wait(until) => self.wait(until, full),
                Next::End => break,
            }
        }
        let deadline = self.clock.now() + patience;
        while self.has_connections() && self.clock.now() < deadline {
            let full = self.turn();
            self.wait(Some(deadline), full);
        }
        // One more turn sends the last segments.
        self.turn();
        self.report();
    }

    /// Runs one turn. Returns true if frames wait for room in the device.
    fn turn(&mut self) -> bool {
        let now = self.clock.now();
        if now >= self.link_checked + LINK_CHECK {
            self.link_checked = now;
            self.check_link(now);
        }
        let (stack, nic) = (&mut *self.stack, &mut *self.nic);
        let turned = match &mut self.depth {
            None => turn(stack, nic, now),
            Some(depth) => depth.measure(|| turn(stack, nic, now)),
        };
        self.least_free = self.least_free.min(stack.pool().free_blocks());
        turned.device_full
    }

    fn check_link(&mut self, now: Instant) {
        let is_up = self.nic.link_is_up();
        if is_up != self.link_is_up {
            self.link_is_up = is_up;
            let state = if is_up { "up" } else { "down" };
            println!("link: {state} at {} ms", now.as_millis());
        }
    }

    /// Sleeps until the stack or the program is due, or a frame arrives.
    fn wait(&mut self, program: Option<Instant>, full: bool) {
        let now = self.clock.now();
        let timeouts = [
            self.stack.next_timeout(),
            program,
            full.then(|| now + DEVICE_WAIT),
            Some(now + LINK_CHECK),
        ];
        self.clock.wait_until(timeouts.into_iter().flatten().min());
        self.asleep += self.clock.now().since(now);
    }

    /// Returns true while a connection exists or holds memory, or a datagram waits to be sent.
    fn has_connections(&self) -> bool {
        let (connections, handshakes, _) = self.stack.tcp_counts();
        let pool = self.stack.pool();
        connections > 0 || handshakes > 0 || pool.free_blocks() < pool.block_count()
    }

    /// Prints the use of memory, and the stack depth if it was measured.
    fn report(&mut self) {
        let now = self.clock.now();
        let pool = self.stack.pool();
        println!(
            "pool: {} blocks of {} free, fewest free {}",
            pool.free_blocks(),
            pool.block_count(),
            self.least_free,
        );
        let counters = self.stack.counters();
        println!(
            "awake: {} ms, {} packets in, {} packets out",
            (now.since(Instant::ZERO) - self.asleep).as_millis(),
            counters.mib.ip_in_receives,
            counters.mib.ip_out_requests,
        );
        if let Some(depth) = &self.depth {
            println!("stack depth of turn: {} bytes", depth.most);
        }
        self.stack.verify(now);
    }
}
