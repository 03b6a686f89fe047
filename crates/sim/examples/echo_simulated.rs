//! An echo server in the simulator, on a path that loses 1 % of its frames:
//! `cargo run --release -p fullpipe-sim --example echo_simulated`. Time is
//! virtual. The simulator makes and checks every byte of payload, so an
//! application reads and writes numbers of bytes.

use fullpipe::{Config, Duration};
use fullpipe_sim::app::{Application, NextRun, ReadOutcome, Socket, Transfer, WritePlan};
use fullpipe_sim::{Deadline, LinkModel, MIB, Seed, World};

#[derive(Debug)]
struct Echo(u64); // bytes read and not written back yet

impl Application for Echo {
    fn run(&mut self, socket: &mut dyn Socket) -> NextRun {
        loop {
            self.0 -= socket.write(self.0);
            match socket.read(1 << 16) {
                ReadOutcome::Bytes(count) => self.0 += count,
                ReadOutcome::End if self.0 == 0 => break,
                ReadOutcome::Empty | ReadOutcome::End => return NextRun::OnEvent,
            }
        }
        socket.close();
        NextRun::Done
    }
}

/// Runs the transfer. Returns the three limits that took most of the client's
/// time.
pub fn largest_limits() -> String {
    let mut world = World::new(Seed(7));
    let mut path = LinkModel::ideal();
    (path.rate_bps, path.delay_us, path.loss) = (10_000_000, 10_000, 0.01);
    let path = world.link(path);
    let (client, server) = world.pair(&path, Config::default());
    let sender = Transfer::sender(WritePlan::bulk(MIB, 16_384));
    let apps = (Box::new(sender), Box::new(Echo(0)));
    let flow = world.converse(client, server, apps.0, apps.1, Duration::ZERO);
    world.run_until(flow.done(), Deadline::secs(60)); // checks every step
    let facts = world.facts(flow);
    let mut limits = facts.client.limits();
    limits.sort_by(|one, other| other.1.total_cmp(&one.1));
    let lines = limits.iter().take(3).map(|(limit, share, time)| {
        let seconds = time.as_nanos() as f64 / 1e9;
        format!(
            "{:5.1} %  {seconds:.2} s  {}\n",
            share * 100.0,
            limit.name()
        )
    });
    lines.collect()
}

fn main() {
    print!("{}", largest_limits());
}
