//! scratch: drive iperf over a tap
use fullpipe_perf::{iperf2::*, *};
use std::time::Duration;
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |f: &str| args.iter().any(|a| a == f);
    let val = |f: &str| {
        args.iter()
            .position(|a| a == f)
            .map(|i| args[i + 1].clone())
    };
    let mut config = fullpipe::Config::default();
    let mut it = args.iter();
    while let Some(a) = it.next() {
        if a == "--set" {
            let (k, v) = it.next().unwrap().split_once('=').unwrap();
            config.set(k, v).unwrap();
        }
    }
    let mut opts = fullpipe_host::TapOptions::new("tap:fpx".parse().unwrap());
    opts.host_address = Some("10.77.0.1/24".parse().unwrap());
    opts.checksum_offload = !has("--no-offload") && !has("--pcap");
    opts.mtu = val("--mtu").map(|m| m.parse().unwrap());
    let tap = match fullpipe_host::Tap::open(&opts) {
        Ok(t) => t,
        Err(e) => {
            eprintln!("{e}");
            std::process::exit(1)
        }
    };
    let dev: Box<dyn fullpipe_host::HostDevice> = match val("--pcap") {
        Some(f) => Box::new(
            fullpipe_host::Capture::new(
                tap,
                std::io::BufWriter::new(std::fs::File::create(f).unwrap()),
            )
            .unwrap(),
        ),
        None => Box::new(tap),
    };
    let rt =
        fullpipe_host::Runtime::start(&config, dev, "10.77.0.2/24".parse().unwrap(), None).unwrap();
    let stop = Stop::on_interrupt().unwrap();
    let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
    let mut screen = Screen {
        out: &mut out,
        err: &mut err,
    };
    let sockets = FullpipeSockets(&rt);
    let port = val("-p").map_or(5001, |p| p.parse().unwrap());
    let r = if has("-s") {
        let mut o = ServerOptions::new(([0, 0, 0, 0], port).into());
        o.udp = has("-u");
        o.interval = val("-i").map(|i| parse(&i));
        o.connections = val("-P").map(|p| p.parse().unwrap());
        o.time = val("-t").map(|t| parse(&t));
        o.window = val("-w").map(|w| options::parse_bytes(&w).unwrap() as u32);
        run_server(&sockets, &o, &stop, &mut screen)
    } else {
        let mut o = ClientOptions::new(([10, 77, 0, 1], port).into());
        o.udp = has("-u");
        o.reverse = has("-R");
        o.interval = val("-i").map(|i| parse(&i));
        if let Some(t) = val("-t") {
            o.amount = Amount::Time(parse(&t));
        }
        if let Some(n) = val("-n") {
            o.amount = Amount::Bytes(options::parse_bytes(&n).unwrap());
        }
        o.rate = val("-b").map(|b| options::parse_rate(&b).unwrap());
        o.window = val("-w").map(|w| options::parse_bytes(&w).unwrap() as u32);
        o.length = val("-l").map(|w| options::parse_bytes(&w).unwrap() as usize);
        o.parallel = val("-P").map_or(1, |p| p.parse().unwrap());
        run_client(&sockets, &o, &stop, &mut screen)
    };
    if let Err(e) = r {
        eprintln!("{e}");
    }
    if has("--counters") {
        rt.with_stack(|s, _| {
            eprintln!(
                "{:?}\n{:?}\n{:?}",
                s.counters(),
                s.tcp_counters(),
                s.tcp_discards()
            );
        });
    }
    rt.finish(Duration::from_secs(2));
    fn parse(t: &str) -> Duration {
        options::parse_seconds(t).unwrap()
    }
}
