//! Metrics for Prometheus: seconds by limit, bytes, and gauges, as OpenMetrics text.
//!
//! Rule: the server answers only `GET /metrics`, one request per connection, and waits at most two
//! seconds for a client. The server has no access to the sockets: it sends a message to the loop of
//! `watch` for each request, and the loop answers with the text.

#[cfg(test)]
mod tests;

use std::{
    fmt::Write as _,
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::mpsc::{self, Sender},
    thread,
    time::Duration,
};

use fullpipe_diagnose::socket::{FollowedSocket, LimitSums, SocketTable};
use fullpipe_diagnose::vocabulary::Limit;

use super::source::Source;
use crate::{arguments::MetricsBy, failure::Failure};

/// Longest time to wait for a client.
const PATIENCE: Duration = Duration::from_secs(2);
/// Longest request that is read, in bytes.
const LONGEST_REQUEST: usize = 8 << 10;

/// A request for the metrics: the channel to which the loop of `watch` sends the text.
pub type MetricsRequest = Sender<String>;

/// Serves metrics at `address`. Each client's request is passed to `requests`. Returns the address
/// with the port that was bound.
pub fn serve(address: SocketAddr, requests: Sender<MetricsRequest>) -> Result<SocketAddr, Failure> {
    let failed = |error: io::Error| Failure::failed(format!("--prometheus {address}: {error}"));
    let listener = TcpListener::bind(address).map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    thread::Builder::new()
        .name("metrics".to_string())
        .spawn(move || {
            for client in listener.incoming().flatten() {
                // Ignore the error: a failing client must not affect other clients.
                let _ = answer(client, &requests);
            }
        })
        .map_err(failed)?;
    Ok(bound)
}

fn answer(mut client: TcpStream, requests: &Sender<MetricsRequest>) -> io::Result<()> {
    client.set_read_timeout(Some(PATIENCE))?;
    client.set_write_timeout(Some(PATIENCE))?;
    let mut request = Vec::new();
    let mut part = [0; 1024];
    while !request.windows(4).any(|four| four == b"\r\n\r\n") {
        let read = client.read(&mut part)?;
        if read == 0 || request.len() + read > LONGEST_REQUEST {
            return Ok(());
        }
        request.extend(&part[..read]);
    }
    let (status, kind, body) = match wanted(&request) {
        Wanted::Metrics => {
            let (reply, text) = mpsc::channel();
            let asked = requests.send(reply).is_ok();
            let text = text.recv_timeout(PATIENCE).ok().filter(|_| asked);
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            match text {
                Some(text) => ("200 OK", kind, text),
                None => ("503 Service Unavailable", "text/plain", String::new()),
            }
        }
        Wanted::Nothing => ("404 Not Found", "text/plain", "GET /metrics\n".to_string()),
        Wanted::Refused => ("405 Method Not Allowed", "text/plain", String::new()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    client.write_all(head.as_bytes())?;
    client.write_all(body.as_bytes())
}

/// The kind of a request.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    Metrics,
    Nothing,
    Refused,
}

fn wanted(request: &[u8]) -> Wanted {
    let line = request.split(|&byte| byte == b'\r').next().unwrap_or(&[]);
    let line = String::from_utf8_lossy(line);
    let mut words = line.split(' ');
    let (method, target) = (words.next(), words.next().unwrap_or(""));
    match (method, target.split('?').next()) {
        (Some("GET"), Some("/metrics")) => Wanted::Metrics,
        (Some("GET"), _) => Wanted::Nothing,
        _ => Wanted::Refused,
    }
}

/// Returns the metrics of all sockets.
pub fn metrics(table: &SocketTable, source: &Source, by: MetricsBy) -> String {
    let mut text = String::new();
    head(
        &mut text,
        "sockets",
        "gauge",
        "",
        "Sockets that are watched.",
    );
    let _ = writeln!(text, "fullpipe_sockets {}", table.sockets().len());
    match by {
        MetricsBy::Socket => by_socket(&mut text, table, source),
        MetricsBy::Host => by_host(&mut text, table),
    }
    text.push_str("# EOF\n");
    text
}

fn head(text: &mut String, name: &str, kind: &str, unit: &str, help: &str) {
    let _ = writeln!(text, "# TYPE fullpipe_{name} {kind}");
    if !unit.is_empty() {
        let _ = writeln!(text, "# UNIT fullpipe_{name} {unit}");
    }
    let _ = writeln!(text, "# HELP fullpipe_{name} {help}");
}

const LIMIT: (&str, &str) = (
    "socket_limit_seconds",
    "Time for which each limit stopped the sender, since the socket was first observed.",
);
const SENT: (&str, &str) = ("socket_acked_bytes", "Payload acknowledged by the peer.");
const RECEIVED: (&str, &str) = ("socket_received_bytes", "Payload received in order.");

fn by_host(text: &mut String, table: &SocketTable) {
    let mut sums: LimitSums = *table.ended();
    for socket in table.sockets() {
        sums.add(socket);
    }
    head(text, LIMIT.0, "counter", "seconds", LIMIT.1);
    for (place, micros) in sums.micros.iter().enumerate() {
        let name = Limit::ALL
            .get(place)
            .map_or("unknown", |limit| limit.name());
        let seconds = *micros as f64 / 1e6;
        let _ = writeln!(
            text,
            "fullpipe_{}_total{{limit=\"{name}\"}} {seconds}",
            LIMIT.0
        );
    }
    for ((name, help), bytes) in [SENT, RECEIVED].into_iter().zip(sums.moved) {
        head(text, name, "counter", "bytes", help);
        let _ = writeln!(text, "fullpipe_{name}_total {bytes}");
    }
}

fn by_socket(text: &mut String, table: &SocketTable, source: &Source) {
    let labels: Vec<String> = table
        .sockets()
        .iter()
        .map(|socket| labels(socket, source))
        .collect();
    let all = || table.sockets().iter().zip(&labels);
    head(text, LIMIT.0, "counter", "seconds", LIMIT.1);
    for (socket, labels) in all() {
        for (limit, micros) in socket
            .account
            .times
            .iter()
            .filter(|(_, micros)| *micros > 0)
        {
            let name = limit.map_or("unknown", Limit::name);
            let seconds = micros as f64 / 1e6;
            let _ = writeln!(
                text,
                "fullpipe_{}_total{{{labels},limit=\"{name}\"}} {seconds}",
                LIMIT.0
            );
        }
    }
    for (direction, (name, help)) in [SENT, RECEIVED].into_iter().enumerate() {
        head(text, name, "counter", "bytes", help);
        for (socket, labels) in all() {
            let bytes = socket.account.moved[direction];
            let _ = writeln!(text, "fullpipe_{name}_total{{{labels}}} {bytes}");
        }
    }
    type Value = fn(&FollowedSocket) -> Option<f64>;
    let gauges: [(&str, &str, &str, Value); 4] = [
        (
            "socket_rtt_seconds",
            "seconds",
            "Smoothed round-trip time.",
            |socket| Some(f64::from(socket.latest.info?.rtt) / 1e6),
        ),
        (
            "socket_cwnd_segments",
            "segments",
            "Congestion window.",
            |socket| Some(f64::from(socket.latest.info?.snd_cwnd)),
        ),
        (
            "socket_peer_window_bytes",
            "bytes",
            "Receive window of the peer.",
            |socket| Some(f64::from(socket.latest.info?.snd_wnd?)),
        ),
        (
            "socket_unsent_bytes",
            "bytes",
            "Payload that the program wrote and the kernel has not sent.",
            |socket| Some(f64::from(socket.latest.unsent())),
        ),
    ];
    for (name, unit, help, value) in gauges {
        head(text, name, "gauge", unit, help);
        for (socket, labels) in all() {
            if let Some(value) = value(socket) {
                let _ = writeln!(text, "fullpipe_{name}{{{labels}}} {value}");
            }
        }
    }
}

/// Returns the labels of a socket.
fn labels(socket: &FollowedSocket, source: &Source) -> String {
    let id = &socket.latest.id;
    let mut labels = format!(
        "sk=\"{:x}\",local=\"{}\",peer=\"{}\"",
        id.cookie, id.local, id.peer
    );
    if let Some(owner) = source.owner(socket.latest.inode) {
        let name = escaped(&owner.name);
        let _ = write!(labels, ",pid=\"{}\",process=\"{name}\"", owner.pid);
    }
    labels
}

/// Escapes quotes, backslashes and line breaks in the value of a label.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '"' | '\\' => escaped.extend(['\\', letter]),
            '\n' => escaped.push_str("\\n"),
            letter => escaped.push(letter),
        }
    }
    escaped
}
