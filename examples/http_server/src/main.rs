//! An HTTP server on a TAP device: tokio and hyper over fullpipe, with a congestion control that this file defines.
//! Run it as root with `cargo run`; `curl 10.9.0.2` then prints everything that the stack knows about curl's connection.
use fullpipe::Info;
use fullpipe::congestion::{AckSample, CongestionControl, CongestionEvent, CongestionStart};
use fullpipe_host::{DeviceOptions, Runtime, tokio::TcpListener};
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use std::{error::Error, future::ready, sync::Arc};

/// Halves the window after a loss, and adds one segment in each round trip: RFC 5681 without slow start.
struct Halving(u32);

impl CongestionControl for Halving {
    fn start(&mut self, start: &CongestionStart) {
        self.0 = start.cwnd;
    }
    fn cwnd(&self) -> u32 {
        self.0
    }
    fn on_ack(&mut self, ack: &AckSample) {
        if !ack.recovering && ack.has_tested(self.0, self.0) {
            self.0 += ack.rate.newly_acked.min(self.0) * ack.mss / self.0;
        }
    }
    fn on_loss(&mut self, event: &CongestionEvent) {
        self.0 = (self.0 / 2).max(2 * event.mss);
    }
    fn on_timeout(&mut self, event: &CongestionEvent, _first: bool) {
        self.0 = event.mss;
    }
    fn on_idle(&mut self, restart_window: u32) {
        self.0 = self.0.min(restart_window);
    }
}

/// Defines `page`, which prints each field of `Info`. The compiler reports a field that is not named.
macro_rules! define_page {
    ($($field:ident)+) => {
        fn page(Info { $($field),+ }: Info) -> Response<String> {
            Response::new([$(format!("{}: {:?}\n", stringify!($field), $field)),+].concat())
        }
    };
}

define_page! {
    state close_reason born at last_received_at tuning agreed mss iss snd_una snd_nxt in_flight retransmitted
    sacked lost snd_wnd max_snd_wnd irs rcv_nxt rcv_wnd send_queue unsent receive_queue holes urgent_left
    send_buffer receive_buffer send_blocks receive_blocks cwnd ssthresh pacing_rate delivery_rate app_limited
    in_device fastest_sample recovery srtt rttvar min_rtt rto busy bytes_sent bytes_retransmitted bytes_acked
    bytes_received segments_sent segments_retransmitted full_sized_sent timeouts fast_recoveries
    zero_window_probes limit receive_limit
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut device = DeviceOptions::new("tap:fphttp".parse()?);
    device.host_address = Some("10.9.0.1/24".parse()?);
    let builder = Runtime::builder("10.9.0.2/24".parse()?).congestion("halving", || Halving(0));
    let runtime = Arc::new(builder.start(device.open()?)?);
    let listener = TcpListener::bind(&runtime, "10.9.0.2:80".parse()?)?;
    println!("listening at http://{}", listener.local_addr());
    loop {
        let (stream, _peer) = listener.accept().await?;
        let (runtime, id) = (Arc::clone(&runtime), stream.id());
        let service = service_fn(move |_: Request<Incoming>| {
            ready(runtime.with_stack(|stack, now| stack.tcp_info(id, now).map(page)))
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}
