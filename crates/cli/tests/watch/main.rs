//! Tests of `fullpipe watch` with sockets of the kernel: refusals, the limit of each kind of
//! transfer, the numbers of `ss`, events, recordings, metrics, and ten thousand sockets.
//!
//! Rule: the program is run, and no part of it is linked. A test waits for a state and does not
//! measure time. Ignored tests need root and iproute2; they run in their own network namespace.

#[path = "../../../host/tests/apart/mod.rs"]
mod apart;
mod delayed;
mod kernel;
mod outputs;

use std::{
    env, fs,
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Command, Output},
    time::{Duration, Instant},
};

use serde_json::Value;
use socket2::{Domain, Socket, Type};

/// Longest wait for a state.
const PATIENCE: Duration = Duration::from_secs(120);

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fullpipe"));
    command.arg("watch").args(arguments);
    command
}

fn watch(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Buffer sizes of the two sockets of a connection.
#[derive(Default)]
struct Buffers {
    send: Option<usize>,
    receive: Option<usize>,
}

/// A connection: the sending end and the receiving end.
fn connection(listener: &TcpListener, to: SocketAddr, buffers: &Buffers) -> (TcpStream, TcpStream) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    if let Some(bytes) = buffers.send {
        socket.set_send_buffer_size(bytes).unwrap();
    }
    socket.set_tcp_congestion(b"cubic").unwrap();
    socket.connect(&to.into()).unwrap();
    let (receiver, _) = listener.accept().unwrap();
    (socket.into(), receiver)
}

/// A listener whose connections have this receive buffer.
fn listener(at: &str, receive: Option<usize>) -> TcpListener {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    if let Some(bytes) = receive {
        socket.set_recv_buffer_size(bytes).unwrap();
    }
    let at: SocketAddr = at.parse().unwrap();
    socket.bind(&at.into()).unwrap();
    socket.listen(1024).unwrap();
    socket.into()
}

fn loopback(buffers: &Buffers) -> (TcpStream, TcpStream) {
    let listener = listener("127.0.0.1:0", buffers.receive);
    let to = listener.local_addr().unwrap();
    connection(&listener, to, buffers)
}

/// Returns the last document that `fullpipe watch --json` prints with `arguments`.
fn last_document(arguments: &[&str]) -> Value {
    let output = watch(&[&["--json"], arguments].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines = text(&output.stdout);
    serde_json::from_str(lines.lines().last().unwrap()).unwrap()
}

/// Returns the socket of `document` with the local address `local`.
fn socket_at(document: &Value, local: SocketAddr) -> Option<Value> {
    let sockets = document["sockets"].as_array().unwrap();
    let is_it = |socket: &&Value| socket["local"] == local.to_string();
    sockets.iter().find(is_it).cloned()
}

/// Watches the socket with the address `local` until `is_there` returns true for it.
fn watched_until(local: SocketAddr, what: &str, is_there: impl Fn(&Value) -> bool) -> Value {
    let port = local.port().to_string();
    let began = Instant::now();
    loop {
        let document = last_document(&["--port", &port, "-i", "20ms", "-t", "1", "--idle"]);
        let socket = socket_at(&document, local);
        match socket {
            Some(socket) if is_there(&socket) => return socket,
            last => assert!(began.elapsed() < PATIENCE, "{what}: {last:#?}"),
        }
    }
}

/// Each request is refused with an exit code and one line. The table has the arguments, the exit
/// code and a part of the line.
#[test]
fn a_wrong_request_is_one_line_with_its_remedy() {
    for (arguments, code, expected) in [
        (vec!["-i", "5ms"], 2, "is too short: give at least 10ms"),
        (
            vec!["--netns", "no-such-namespace"],
            2,
            "there is no such namespace",
        ),
        (
            vec!["--peer", "10.0.0"],
            2,
            "expected an address or a port, for example 10.0.0.0/8",
        ),
        (vec!["--socket", "xyz"], 2, "from the column sk"),
        (vec!["--prometheus", "no"], 2, "expected a port"),
        (vec!["--once", "--record", "x"], 2, "cannot be used with"),
        (vec!["--once", "--events"], 2, "cannot be used with"),
        (
            vec!["--pid", "4000000000"],
            1,
            "there is no process 4000000000",
        ),
        (
            vec!["--record", "/no/such/folder/x", "-t", "1"],
            1,
            "--record /no/such/folder/x",
        ),
    ] {
        let output = watch(&arguments);
        let line = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {line}");
        assert!(line.contains(expected), "{arguments:?}: {line}");
        assert_eq!(line.trim_end().lines().count(), 1, "{arguments:?}: {line}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

/// `--record` replaces an empty file and a recording, and keeps every other file.
#[test]
fn a_file_that_is_no_recording_is_kept() {
    let path = env::temp_dir().join(format!("fullpipe-kept-{}", std::process::id()));
    let name = path.to_str().unwrap();
    let record = || watch(&["--record", name, "-t", "0.1", "-q", "--port", "1"]);
    for other in ["a letter\n", "{\"name\": \"a package\"}\n"] {
        fs::write(&path, other).unwrap();
        let output = record();
        let line = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(line.contains("exists and is not a recording"), "{line}");
        assert_eq!(fs::read_to_string(&path).unwrap(), other);
    }
    fs::write(&path, "").unwrap();
    for _ in 0..2 {
        let output = record();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let recorded = fs::read_to_string(&path).unwrap();
        assert!(recorded.contains("fullpipe-sockets"));
    }
    fs::remove_file(&path).unwrap();
}

#[test]
fn filters_that_choose_no_socket_are_repeated() {
    let filters = ["--port", "1", "--peer", "192.0.2.0/24", "--local", ":9"];
    let once = watch(&[&["--once"], &filters[..]].concat());
    let wanted = "There is no TCP socket with port 1 at either end with peer 192.0.2.0/24 at :9.";
    assert_eq!(text(&once.stdout), format!("{wanted}\n"));
    let followed = watch(&[&["-t", "0.1", "-i", "50ms"], &filters[..]].concat());
    assert!(followed.status.success());
    assert!(
        text(&followed.stderr).contains(wanted),
        "{}",
        text(&followed.stderr)
    );
}
