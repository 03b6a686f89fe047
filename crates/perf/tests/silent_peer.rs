//! Tests with peers that fall silent: the test is aborted with an error that names the silence.
//!
//! Rule: there are no assertions about time. A peer is silent until the other side closes, so that
//! these tests also pass on a slow machine.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
    time::Duration,
};

use fullpipe_perf::{
    KernelSockets, Stop,
    iperf2::{
        Amount, ClientOptions, Screen, ServerOptions, Summary, header::ClientHeader, run_client,
        run_server,
    },
};

const SILENCE_TIMEOUT: Duration = Duration::from_secs(2);
const BYTES: u64 = 100_000;

/// Starts a server on a free port that serves one connection with `body`.
fn peer(body: impl FnOnce(TcpStream) + Send + 'static) -> (SocketAddr, thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let served = thread::spawn(move || body(listener.accept().expect("a client connects").0));
    (address, served)
}

/// Runs fullpipe's client; returns its summary and its error output.
fn client(options: &ClientOptions) -> (Summary, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut screen = Screen {
        out: &mut out,
        err: &mut err,
    };
    let sockets = KernelSockets::default();
    let summary = run_client(&sockets, options, &Stop::new(), &mut screen).expect("it connects");
    (summary, String::from_utf8(err).expect("lines are text"))
}

/// Reads until the other side closes.
fn read_to_end(mut stream: &TcpStream) {
    // A reset also ends the connection, so the result is ignored.
    let _ = stream.read_to_end(&mut Vec::new());
}

#[test]
fn a_client_aborts_when_the_server_sends_all_and_does_not_close() {
    for (name, amount, sent) in [
        ("bytes", Amount::Bytes(BYTES), BYTES),
        ("time", Amount::Time(Duration::from_millis(50)), BYTES / 2),
    ] {
        let (remote, served) = peer(move |mut stream| {
            stream
                .write_all(&vec![0; sent as usize])
                .expect("it is read");
            read_to_end(&stream);
        });
        let options = ClientOptions {
            reverse: true,
            amount,
            silence_timeout: SILENCE_TIMEOUT,
            ..ClientOptions::new(remote)
        };
        let (summary, errors) = client(&options);
        served.join().expect("the peer ends");
        assert_eq!(summary.streams[0].span.bytes, sent, "{name}: {errors}");
        assert_eq!(
            errors,
            "read failed: the peer did not end its stream and sent nothing for 2 s after the \
             end of the test: gave up\n",
            "{name}"
        );
        assert_eq!(summary.errors, 1, "{name}");
    }
}

#[test]
fn a_client_aborts_when_the_server_reads_all_and_does_not_close() {
    let (give_up, gave_up) = std::sync::mpsc::channel();
    let (remote, served) = peer(move |stream| {
        read_to_end(&stream);
        // Keeps the connection open until the client has ended.
        let _ = gave_up.recv();
        drop(stream);
    });
    let options = ClientOptions {
        amount: Amount::Bytes(BYTES),
        silence_timeout: SILENCE_TIMEOUT,
        ..ClientOptions::new(remote)
    };
    let (summary, errors) = client(&options);
    drop::<std::sync::mpsc::Sender<()>>(give_up);
    served.join().expect("the peer ends");
    assert_eq!(summary.streams[0].span.bytes, BYTES);
    assert_eq!(
        errors,
        "close failed: the peer did not close its half and sent nothing for 2 s after the end \
         of the test: gave up\n"
    );
}

#[test]
fn a_server_aborts_when_the_client_sends_all_and_does_not_close() {
    // Binds a socket and closes it again, to find a free port for fullpipe's server.
    let local = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let local = local.expect("a free port");
    let options = ServerOptions {
        connections: Some(1),
        silence_timeout: SILENCE_TIMEOUT,
        ..ServerOptions::new(local)
    };
    let server = thread::spawn(move || {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut screen = Screen {
            out: &mut out,
            err: &mut err,
        };
        let sockets = KernelSockets::default();
        let summary = run_server(&sockets, &options, &Stop::new(), &mut screen);
        (
            summary.expect("it listens"),
            String::from_utf8(err).expect("lines are text"),
        )
    });
    let mut stream = connect(local);
    let mut payload = vec![0; BYTES as usize];
    let head = payload.first_chunk_mut().expect("a header fits");
    header(Amount::Bytes(BYTES)).write_tcp(head);
    stream.write_all(&payload).expect("it is read");
    read_to_end(&stream);
    let (summary, errors) = server.join().expect("the server ends");
    assert_eq!(summary.streams[0].span.bytes, BYTES, "{errors}");
    assert!(
        errors.contains("read failed: the peer did not end its stream"),
        "{errors}"
    );
}

fn header(amount: Amount) -> ClientHeader {
    ClientHeader {
        streams: 1,
        port: 5001,
        length: 0,
        window: 0,
        amount,
        rate: None,
        reverse: false,
        wants_ack: false,
        wants_dual_test: false,
    }
}

/// Connects as soon as the server listens.
fn connect(to: SocketAddr) -> TcpStream {
    loop {
        match TcpStream::connect(to) {
            Ok(stream) => return stream,
            Err(_) => thread::sleep(Duration::from_millis(10)),
        }
    }
}
