//! An HTTP server on a TAP device: tokio and hyper over fullpipe, with a congestion control that this file defines.
//! Run it as root with `cargo run`; `curl 10.9.0.2` then prints everything that the stack knows about curl's connection.
use fullpipe::{
    Info,
    congestion::{AckSample, CongestionControl, CongestionEvent, CongestionStart},
};
use fullpipe_host::{DeviceOptions, Runtime, tokio::TcpListener};
use http_body_util::Full;
use hyper::{
    Request, Response,
    body::{Bytes, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use std::{error::Error, future::ready, sync::Arc};

/// Halves the window after a loss, and adds one segment in each round trip: RFC 5681 without slow start.
#[derive(Default)]
struct Halving {
    cwnd: u32,
    before: u32,
}

impl CongestionControl for Halving {
    fn start(&mut self, start: &CongestionStart) {
        self.cwnd = start.cwnd;
    }
    fn cwnd(&self) -> u32 {
        self.cwnd
    }
    fn ssthresh(&self) -> u32 {
        self.cwnd
    }
    fn on_ack(&mut self, ack: &AckSample) {
        if ack.recovering || !ack.has_tested(self.cwnd, self.cwnd) {
            return;
        }
        self.cwnd += ack.rate.newly_acked.min(self.cwnd) * ack.mss / self.cwnd;
    }
    fn on_loss(&mut self, event: &CongestionEvent) {
        (self.before, self.cwnd) = (self.cwnd, (self.cwnd / 2).max(2 * event.mss));
    }
    fn on_ecn(&mut self, event: &CongestionEvent) {
        self.on_loss(event);
    }
    fn on_timeout(&mut self, event: &CongestionEvent, _: bool) {
        (self.before, self.cwnd) = (self.cwnd, event.mss);
    }
    fn on_undo(&mut self) {
        self.cwnd = self.before;
    }
    fn on_idle(&mut self, restart_window: u32) {
        self.cwnd = self.cwnd.min(restart_window);
    }
}

/// Prints every field of `Info`. All fields are named here, so the compiler reports a missing one.
fn page(info: Info) -> String {
    let Info {
        state,
        close_reason,
        born,
        at,
        last_received_at,
        tuning,
        agreed,
        mss,
        iss,
        snd_una,
        snd_nxt,
        in_flight,
        retransmitted,
        sacked,
        lost,
        snd_wnd,
        max_snd_wnd,
        irs,
        rcv_nxt,
        rcv_wnd,
        send_queue,
        unsent,
        receive_queue,
        holes,
        urgent_left,
        send_buffer,
        receive_buffer,
        send_blocks,
        receive_blocks,
        cwnd,
        ssthresh,
        pacing_rate,
        delivery_rate,
        app_limited,
        in_device,
        fastest_sample,
        recovery,
        srtt,
        rttvar,
        min_rtt,
        rto,
        busy,
        bytes_sent,
        bytes_retransmitted,
        bytes_acked,
        bytes_received,
        segments_sent,
        segments_retransmitted,
        full_sized_sent,
        timeouts,
        fast_recoveries,
        zero_window_probes,
        limit,
        receive_limit,
    } = info;
    format!(
        "{state:?} {close_reason:?} {born:?} {at:?} {last_received_at:?} {tuning:?} \
         {agreed:?} {mss:?} {iss:?} {snd_una:?} {snd_nxt:?} {in_flight:?} {retransmitted:?} \
         {sacked:?} {lost:?} {snd_wnd:?} {max_snd_wnd:?} {irs:?} {rcv_nxt:?} {rcv_wnd:?} \
         {send_queue:?} {unsent:?} {receive_queue:?} {holes:?} {urgent_left:?} \
         {send_buffer:?} {receive_buffer:?} {send_blocks:?} {receive_blocks:?} {cwnd:?} \
         {ssthresh:?} {pacing_rate:?} {delivery_rate:?} app_limited {app_limited} {in_device:?} \
         {fastest_sample:?} {recovery:?} {srtt:?} {rttvar:?} {min_rtt:?} {rto:?} {busy:?} \
         {bytes_sent:?} {bytes_retransmitted:?} {bytes_acked:?} {bytes_received:?} \
         {segments_sent:?} {segments_retransmitted:?} {full_sized_sent:?} {timeouts:?} \
         {fast_recoveries:?} {zero_window_probes:?} {limit:?} {receive_limit:?}\n"
    )
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let device = DeviceOptions {
        host_address: Some("10.9.0.1/24".parse()?),
        ..DeviceOptions::new("tap:fphttp".parse()?)
    };
    let runtime = Arc::new(Runtime::builder("10.9.0.2/24".parse()?).start(device.open()?)?);
    runtime.with_stack(|stack, _| {
        stack
            .register_congestion("halving", Halving::default)
            .map(|choice| stack.set_default_congestion(choice))
    })?;
    let listener = TcpListener::bind(&runtime, "10.9.0.2:80".parse()?)?;
    println!("listening at http://{}", listener.local_addr());
    loop {
        let (stream, _peer) = listener.accept().await?;
        let (runtime, id) = (Arc::clone(&runtime), stream.id());
        let answer = move || {
            runtime
                .with_stack(|stack, now| stack.tcp_info(id, now))
                .map(|info| Response::new(Full::<Bytes>::from(page(info))))
        };
        let service = service_fn(move |_: Request<Incoming>| ready(answer()));
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}
