use fullpipe_pool::Duration;
fn main() {
    let seed = std::env::args().nth(1).unwrap().parse().unwrap();
    let until: u64 = std::env::args().nth(2).unwrap().parse().unwrap();
    let w = fullpipe_sim::random_world::RandomWorld::draw(fullpipe_sim::Seed(seed));
    let mut world = w.world;
    println!("hardship {} outage {:?}", w.hardship, w.outage);
    for h in world.hosts() {
        let c = world.config(h);
        println!(
            "{h:?} {:?} {:?}\n   {:?}\n   {:?}",
            c.pool, c.stack, c.tcp, c.arp
        );
    }
    for l in world.links() {
        println!(
            "{:?}",
            world
                .link_engine(l)
                .link(fullpipe_sim::link::Direction::Forward)
        );
    }
    let file = std::fs::File::create("/tmp/w.pcapng").unwrap();
    world.capture(Box::new(file)).unwrap();
    for h in world.hosts() {
        world.tap_host(h, &format!("h{h:?}")).unwrap();
    }
    let half = w.hardship;
    if std::env::args().count() > 3 {
        let to: u64 = std::env::args().nth(3).unwrap().parse().unwrap();
        println!("{:?}", world.try_run_for(Duration::from_micros(to)).err());
        return;
    }
    println!("{:?}", world.try_run_for(half).err());
    world.heal();
    println!("{:?}", world.give_up_the_abandoned().err());
    println!("{:?}", world.try_run_for(Duration::from_secs(until)).err());
    for h in world.hosts() {
        let s = world.stack(h);
        println!(
            "{h:?} next {:?} counts {:?} pool free {} promised {}",
            s.next_timeout(),
            s.tcp_counts(),
            s.pool().free_blocks(),
            s.pool().promised()
        );
        println!("   {:?}", s.counters());
        println!("   {:?}", s.tcp_counters());
    }
    let _ = world.finish_capture();
}
