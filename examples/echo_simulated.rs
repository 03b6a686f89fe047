//! An echo server in the simulator, on a path that loses 1 % of its frames:
//! `cargo run --example echo_simulated`. Time is virtual. The simulator makes
//! and verifies every byte, so an application says only how many.

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

fn main() {
    let mut world = World::new(Seed(7));
    let mut path = LinkModel::ideal();
    (path.rate_bps, path.delay_us, path.loss) = (10_000_000, 10_000, 0.01);
    let path = world.link(path);
    let (client, server) = world.pair(&path, Config::default());
    let sender = Transfer::sender(WritePlan::bulk(MIB, 16_384));
    let apps = (Box::new(sender), Box::new(Echo(0)));
    let flow = world.converse(client, server, apps.0, apps.1, Duration::ZERO);
    world.run_until(flow.done(), Deadline::secs(60)); // every checker looks on
    for (limit, share, time) in world.facts(flow).client.limits() {
        println!("{:5.1} % {time} {}", share * 100.0, limit.name());
    }
}
