//! Programs of other projects as clients: curl, h2load, rsync, a DNS server and Chromium.
//!
//! Rule: the client's output is compared with what the server holds, and is printed.

use std::{
    env, fs,
    io::{Read, Write},
    net::{TcpStream, UdpSocket},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::{
    apart::in_network_namespace,
    ground::{Ground, PATIENCE, Running, connect, read_request, serve, server, wait_until},
};

/// Bytes of the file that curl fetches.
const FILE: usize = 20 << 20;
/// Files that the page of [`serve_page`] loads, and that curl fetches over one connection.
const FILES: usize = 200;
/// Bytes of the file that rsync copies.
const RSYNC: usize = 64 << 20;

/// A folder for one test, which is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("fullpipe-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // The system removes what remains of its folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn said(output: &Output) -> String {
    let [out, errors] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    format!("{out}{errors}")
}

fn curl(arguments: &[&str]) -> Output {
    let output = Command::new("curl")
        .args(["-sS", "--max-time", "500"])
        .args(arguments)
        .output();
    output.expect("curl is installed")
}

/// Answers one HTTP request with a file.
fn send_file(mut client: TcpStream) {
    if read_request(&mut client).is_none() {
        return;
    }
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {FILE}\r\nConnection: close\r\n\r\n");
    let sent = client.write_all(head.as_bytes());
    sent.and_then(|()| client.write_all(&vec![b'x'; FILE]))
        .expect("curl reads");
}

#[test]
#[ignore = "needs root, a TUN device and curl: cargo xtask test"]
fn curl_fetches_a_file_and_is_refused_where_nothing_listens() {
    in_network_namespace(
        "programs::curl_fetches_a_file_and_is_refused_where_nothing_listens",
        || {
            let ground = Ground::prepare();
            serve(80, send_file);
            ground.as_client(|| {
                let fetch = |port| {
                    let url = format!("http://{}/", server(port));
                    curl(&["-o", "/dev/null", "-w", "%{size_download}", &url])
                };
                assert_eq!(said(&fetch(80)), FILE.to_string());
                let refused = fetch(81);
                assert_eq!(refused.status.code(), Some(7), "{refused:?}"); // could not connect
            });
            ground.wait_until_no_flow_is_left();
            assert!(ground.table.totals().down.bytes >= FILE as u64);
        },
    );
}

#[test]
#[ignore = "needs root, a TUN device, curl, openssl, nghttpd and h2load: cargo xtask test"]
fn clients_fetch_200_files_over_one_connection_with_http_2() {
    in_network_namespace(
        "programs::clients_fetch_200_files_over_one_connection_with_http_2",
        || {
            let ground = Ground::prepare();
            let folder = Folder::new("http2");
            fs::write(folder.path("file"), vec![b'x'; 100_000]).expect("a file");
            let [key, certificate] = make_certificate(&folder);
            let mut nghttpd = Command::new("nghttpd");
            nghttpd.args(["--address", &server(0).ip().to_string()]);
            nghttpd.arg("--htdocs").arg(&folder.0).arg("8443");
            let _nghttpd = Running::start(nghttpd.arg(key).arg(certificate).stdout(Stdio::null()));
            wait_until("nghttpd listens", || {
                TcpStream::connect(server(8443)).is_ok()
            });
            let url = format!("https://{}/file", server(8443));
            ground.as_client(|| {
                let urls = format!("{url}?[1-{FILES}]");
                let report = "%{http_version} %{http_code} %{size_download}\n";
                let output = curl(&["-k", "--http2", "-o", "/dev/null", "-w", report, &urls]);
                assert_eq!(said(&output), "2 200 100000\n".repeat(FILES));
                // Many streams at the same time.
                let output = Command::new("h2load")
                    .args(["--clients=1", "--max-concurrent-streams=50"])
                    .args([&format!("--requests={FILES}"), &url])
                    .output()
                    .expect("nghttp2-client is installed");
                println!("{}", said(&output));
                let all = format!("status codes: {FILES} 2xx, 0 3xx, 0 4xx, 0 5xx");
                assert!(said(&output).contains(&all));
            });
            ground.wait_until_no_flow_is_left();
            let opened = ground.table.totals().opened;
            println!("{opened} flows for {FILES} files");
            // curl and h2load share one connection among their requests; h2load asks first for the
            // protocol that the server offers.
            assert!(opened <= 4, "{opened} flows");
        },
    );
}

/// Makes a key and a certificate for it in `folder`.
fn make_certificate(folder: &Folder) -> [PathBuf; 2] {
    let files = ["key", "certificate"].map(|name| folder.path(name));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt"])
        .args([
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-subj",
            "/CN=server",
        ])
        .args(["-days", "2", "-keyout"])
        .arg(&files[0])
        .arg("-out")
        .arg(&files[1])
        .output();
    assert!(made.expect("openssl is installed").status.success());
    files
}

#[test]
#[ignore = "needs root, a TUN device and rsync: cargo xtask test"]
fn rsync_copies_a_large_file_in_both_directions() {
    in_network_namespace(
        "programs::rsync_copies_a_large_file_in_both_directions",
        || {
            let ground = Ground::prepare();
            let folder = Folder::new("rsync");
            let settings = format!(
                "use chroot = no\nuid = root\ngid = root\n[files]\npath = {}\nread only = no\n",
                folder.0.display()
            );
            let file = folder.path("rsyncd.conf");
            fs::write(&file, settings).expect("a file");
            let mut daemon = Command::new("rsync");
            daemon.args(["--daemon", "--no-detach", "--log-file=/dev/stderr"]);
            daemon.arg(format!("--address={}", server(0).ip()));
            let _daemon = Running::start(daemon.arg("--config").arg(&file));
            wait_until("rsync listens", || TcpStream::connect(server(873)).is_ok());
            // Bytes that rsync finds in no other file.
            let mut bytes = vec![0; RSYNC];
            let mut random = fs::File::open("/dev/urandom").expect("Linux has it");
            random.read_exact(&mut bytes).expect("it never ends");
            fs::write(folder.path("original"), &bytes).expect("a file");
            ground.as_client(|| {
                let there = |name| format!("rsync://{}/files/{name}", server(0).ip());
                let here = |name| folder.path(name).display().to_string();
                rsync(&here("original"), &there("uploaded"));
                rsync(&there("uploaded"), &here("downloaded"));
            });
            for name in ["uploaded", "downloaded"] {
                let copied = fs::read(folder.path(name)).expect("a copy");
                assert!(copied == bytes, "{name} differs from the original");
            }
            ground.wait_until_no_flow_is_left();
        },
    );
}

fn rsync(from: &str, to: &str) {
    let output = Command::new("rsync")
        .args(["--stats", "--whole-file", "--timeout=300", from, to])
        .output()
        .expect("rsync is installed");
    println!("{}", said(&output));
    assert!(
        output.status.success(),
        "rsync ended with {}",
        output.status
    );
}

/// A query for the address of name.test, with the identifier 7.
const QUERY: &[u8] = b"\0\x07\x01\0\0\x01\0\0\0\0\0\0\x04name\x04test\0\0\x01\0\x01";
/// The address that dnsmasq has for this name.
const ADDRESS: [u8; 4] = [192, 0, 2, 99];

#[test]
#[ignore = "needs root, a TUN device and dnsmasq: cargo xtask test"]
fn a_dns_server_answers_over_udp_and_tcp() {
    in_network_namespace("programs::a_dns_server_answers_over_udp_and_tcp", || {
        let ground = Ground::prepare();
        let mut dnsmasq = Command::new("dnsmasq");
        dnsmasq.args(["--keep-in-foreground", "--no-resolv", "--no-hosts"]);
        dnsmasq.args(["--conf-file=/dev/null", "--user=root", "--pid-file="]);
        dnsmasq.args(["--bind-interfaces", "--address=/name.test/192.0.2.99"]);
        dnsmasq.arg(format!("--listen-address={}", server(0).ip()));
        let _dnsmasq = Running::start(&mut dnsmasq);
        wait_until("dnsmasq listens", || TcpStream::connect(server(53)).is_ok());
        ground.as_client(|| {
            let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
            socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
            socket.send_to(QUERY, server(53)).expect("it is routed");
            let mut answer = [0; 512];
            let len = socket.recv(&mut answer).expect("an answer");
            assert!(answer[..len].ends_with(&ADDRESS), "{:?}", &answer[..len]);

            let mut stream = connect(53);
            let query = [&[0, QUERY.len() as u8], QUERY].concat();
            stream.write_all(&query).expect("it is open");
            let mut prefix = [0; 2];
            stream.read_exact(&mut prefix).expect("an answer");
            let mut answer = vec![0; usize::from(u16::from_be_bytes(prefix))];
            stream.read_exact(&mut answer).expect("the whole answer");
            assert!(answer.ends_with(&ADDRESS), "{answer:?}");
        });
    });
}

/// Requests of the page of [`serve_page`] that were answered.
static ANSWERED: AtomicUsize = AtomicUsize::new(0);
/// The page's report: the number of files that ran.
static REPORT: Mutex<Option<String>> = Mutex::new(None);

/// Serves a page with [`FILES`] scripts. Each script adds one to a count, and the page reports the
/// count at the end.
fn serve_page(mut client: TcpStream) {
    while let Some(request) = read_request(&mut client) {
        let path = request.split(' ').nth(1).unwrap_or("/");
        let (kind, body) = if let Some(count) = path.strip_prefix("/report/") {
            let mut report = REPORT.lock().unwrap_or_else(PoisonError::into_inner);
            *report = Some(count.to_owned());
            ("text/plain", String::new())
        } else if path.starts_with("/file/") {
            ANSWERED.fetch_add(1, Ordering::Relaxed);
            let padding = "x".repeat(20_000);
            ("text/javascript", format!("count += 1; // {padding}"))
        } else {
            let files = (0..FILES).map(|number| format!("<script src=/file/{number}></script>"));
            let files: String = files.collect();
            let page = format!(
                "<!doctype html><script>let count = 0</script>{files}\
                 <script>fetch('/report/' + count)</script>"
            );
            ("text/html", page)
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        // The browser may have gone.
        if client.write_all((head + &body).as_bytes()).is_err() {
            return;
        }
    }
}

#[test]
#[ignore = "needs root, a TUN device and chromium: cargo xtask test"]
fn chromium_loads_a_page_of_200_files() {
    in_network_namespace("programs::chromium_loads_a_page_of_200_files", || {
        let ground = Ground::prepare();
        serve(80, serve_page);
        let folder = Folder::new("chromium");
        ground.as_client(|| {
            let _chromium = start_chromium(&folder.0);
            let report = || {
                let report = REPORT.lock().unwrap_or_else(PoisonError::into_inner);
                report.clone()
            };
            wait_until("the page reports", || report().is_some());
            assert_eq!(report(), Some(FILES.to_string()));
        });
        assert!(ANSWERED.load(Ordering::Relaxed) >= FILES);
        println!("{:?}", ground.table.totals());
    });
}

fn start_chromium(profile: &Path) -> Running {
    let program = env::var("CHROMIUM").unwrap_or_else(|_| "chromium".to_string());
    let mut chromium = Command::new(program);
    chromium.args(["--headless=new", "--no-sandbox", "--disable-gpu"]);
    chromium.args(["--disable-dev-shm-usage", "--no-first-run"]);
    chromium.args([
        "--disable-background-networking",
        "--remote-debugging-port=0",
    ]);
    chromium.arg(format!("--user-data-dir={}", profile.display()));
    chromium.arg(format!("http://{}/", server(80)));
    Running::start(chromium.stdout(Stdio::null()).stderr(Stdio::null()))
}
