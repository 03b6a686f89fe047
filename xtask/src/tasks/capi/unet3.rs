//! Compiles the program of the uNet3 document and runs it against stock iperf.
//!
//! The one rule: the program's files are those of the document, byte for byte. Only the switches that
//! the document tells its reader to change are changed, and only between tests.
//!
//! The document isn't part of this repository. The tests run over a TAP device in a network namespace
//! that this command makes and removes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::library::{build, execute};

/// The namespace of the tests.
const NAMESPACE: &str = "fp-unet3";

/// The macros that the document tunes, with the document's values.
const TUNED: [&str; 4] = [
    "-DCFG_TCP_SND_WND=16384",
    "-DCFG_TCP_RCV_WND=32768",
    "-DCFG_PKT_RCV_QUE=255",
    "-DETH1_RXDESC_CNT=18",
];

/// A test of the document.
struct Test {
    name: &'static str,
    is_udp: bool,
    /// The program sends, and iperf is the server.
    sends: bool,
    /// The datagrams of the test exceed the MTU, so IP fragments them.
    in_fragments: bool,
    /// Arguments of iperf.
    iperf: &'static str,
}

const TESTS: [Test; 6] = [
    Test {
        name: "TCP send",
        is_udp: false,
        sends: true,
        in_fragments: false,
        iperf: "-s -p 10000 -i 10",
    },
    Test {
        name: "TCP receive",
        is_udp: false,
        sends: false,
        in_fragments: false,
        iperf: "-c 172.16.0.95 -p 12345 -i 10 -w 64000 -t 200",
    },
    Test {
        name: "UDP send",
        is_udp: true,
        sends: true,
        in_fragments: false,
        iperf: "-s -u -p 10000 -i 10 -l 1472",
    },
    Test {
        name: "UDP receive",
        is_udp: true,
        sends: false,
        in_fragments: false,
        iperf: "-u -c 172.16.0.95 -p 12345 -l 1472 -i 10 -b 810M -t 200",
    },
    Test {
        name: "UDP send, fragments",
        is_udp: true,
        sends: true,
        in_fragments: true,
        iperf: "-s -u -p 10000 -i 10 -l 5888",
    },
    Test {
        name: "UDP receive, fragments",
        is_udp: true,
        sends: false,
        in_fragments: true,
        iperf: "-u -c 172.16.0.95 -p 12345 -l 5888 -i 10 -b 960M -t 200",
    },
];

/// The program around `MainTask`, which the document does not print.
const MAIN: &str = "\
#include <stdio.h>
#include \"kernel.h\"
#include \"net_hdr.h\"
#include \"net_strlib.h\"
#include \"sample_throughput.h\"

static const T_COM_SMOD uart_ini = {115200};
static const char demo_str[] = \"\";

#include \"main_task.inc\"

int main(void)
{
    MainTask(0);
    return 0;
}
";

/// Compiles the program of `document` twice, with default and with tuned settings, and runs each
/// test for `seconds` with each of the two programs.
///
/// # Errors
/// Fails if the document does not contain the program, or if a test fails.
pub fn run(document: &Path, seconds: u32) -> Result<()> {
    let library = build()?.join("libfullpipe_capi.a");
    let text =
        fs::read_to_string(document).with_context(|| format!("reading {}", document.display()))?;
    let folder = std::env::temp_dir().join(format!("fullpipe-unet3-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let main_task = extract(&text, &folder)?;
    let _network = Network::new()?;
    println!("{:<23} {:>8} {:>14} {:>17}", "test", "", "program", "iperf");
    for test in &TESTS {
        let mut rates = Vec::new();
        for (variant, macros) in [("default", &TUNED[..0]), ("tuned", &TUNED[..])] {
            fs::write(folder.join("main_task.inc"), test.switched(&main_task))?;
            let program = compile(&folder, &library, macros)?;
            let (own, peer) = test.measure(&program, seconds)?;
            println!("{:<23} {variant:>8} {own:>9.1} Mbps {peer:>17}", test.name);
            rates.push(own);
        }
        // Tuning must make TCP clearly faster. UDP is not checked: tuning helps UDP less, also in
        // the document's own results.
        ensure!(
            test.is_udp || rates[1] > 1.5 * rates[0],
            "{}: the tuned program is not 1.5 times as fast as the default one",
            test.name
        );
    }
    fs::remove_dir_all(&folder).context("removing the program")
}

/// Writes the document's two files, and returns its `MainTask`.
fn extract(text: &str, folder: &Path) -> Result<String> {
    let part = |from: &str, to: &str| -> Result<&str> {
        let start = text
            .find(from)
            .with_context(|| format!("no `{from}` in the document"))?;
        let len = text[start..]
            .find(to)
            .with_context(|| format!("no `{to}` in the document"))?;
        Ok(&text[start..start + len])
    };
    let header = part("#ifndef SAMPLE_THROUGHPUT_H_", "\n2.")?;
    let source = part("#include \"kernel.h\"", "\n3.")?;
    let main_task = part("#define TCP_THROUGHPUT_ENABLE", "\n4.")?;
    fs::write(folder.join("sample_throughput.h"), format!("{header}\n"))?;
    fs::write(folder.join("sample_throughput.c"), format!("{source}\n"))?;
    fs::write(folder.join("main.c"), MAIN)?;
    Ok(format!("{main_task}\n"))
}

fn compile(folder: &Path, library: &Path, macros: &[&str]) -> Result<PathBuf> {
    let program = folder.join("program");
    let capi = Path::new("crates/capi");
    let mut compiler = Command::new("cc");
    compiler
        .args(["-std=gnu11", "-O2", "-Wall", "-Werror"])
        .args(macros);
    for include in [
        folder,
        &capi.join("compat/unet3"),
        &capi.join("include"),
        &capi.join("linux"),
    ] {
        compiler.arg("-I").arg(include);
    }
    compiler
        .arg(folder.join("main.c"))
        .arg(folder.join("sample_throughput.c"));
    compiler
        .arg(capi.join("compat/unet3/unet3.c"))
        .arg(capi.join("linux/system.c"));
    compiler
        .arg(library)
        .args(["-lpthread", "-ldl", "-lm", "-o"]);
    execute(compiler.arg(&program))?;
    Ok(program)
}

impl Test {
    /// Returns `MainTask` with the switches of this test. The unchanged text of the document sends
    /// over TCP.
    fn switched(&self, main_task: &str) -> String {
        let mut text = main_task.to_owned();
        if self.is_udp {
            text = text.replacen("#define TCP_THROUGHPUT_ENABLE", "", 1);
        }
        if !self.sends {
            text = text.replace("#if 1", "#if 0");
        }
        if self.in_fragments {
            text = text.replace("1472", "5888");
        }
        text
    }

    /// Runs the test. Returns the program's mean rate in Mbit/s and the rate that iperf reports.
    fn measure(&self, program: &Path, seconds: u32) -> Result<(f64, String)> {
        let iperf = self.iperf.replace("-t 200", &format!("-t {seconds}"));
        let mut peer = inside("iperf");
        peer.args(iperf.split(' '));
        peer.stdout(Stdio::piped()).stderr(Stdio::null());
        // Start the server before its client.
        let mut server = None;
        if self.sends {
            server = Some(Running(peer.spawn().context("starting iperf")?));
            thread::sleep(Duration::from_millis(500));
        }
        let program = inside(&program.to_string_lossy())
            .env("UNET3_TAP", "tap0")
            .stdout(Stdio::piped())
            .spawn();
        let mut program = Running(program.context("starting the program")?);
        let mut peer = match server {
            Some(server) => server,
            None => {
                thread::sleep(Duration::from_secs(1));
                Running(peer.spawn().context("starting iperf")?)
            }
        };
        thread::sleep(Duration::from_secs(u64::from(seconds) + 1));
        let said = program.end()?;
        let rates: Vec<f64> = said
            .lines()
            .filter_map(rate)
            .filter(|rate| *rate > 0.0)
            .collect();
        if rates.is_empty() {
            bail!("the program transferred no payload; its output:\n{said}");
        }
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        Ok((mean, reported(&peer.end()?)))
    }
}

/// Returns the last rate that iperf printed.
fn reported(text: &str) -> String {
    let last = text.lines().rfind(|line| line.contains("bits/sec"));
    let words: Vec<&str> = last.unwrap_or_default().split_whitespace().collect();
    let unit = words.iter().position(|word| word.ends_with("bits/sec"));
    let rate = unit
        .filter(|at| *at > 0)
        .map(|at| words[at - 1..=at].join(" "));
    rate.unwrap_or_else(|| "-".to_owned())
}

/// Reads a line such as `434Mbps, pps = 37000`.
fn rate(line: &str) -> Option<f64> {
    line.split_once("Mbps, pps = ")?.0.trim().parse().ok()
}

/// Returns a command that runs in the namespace.
fn inside(program: &str) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", NAMESPACE, program]);
    command
}

/// A process that ends with its owner.
struct Running(Child);

impl Running {
    /// Ends the process and returns what it printed.
    fn end(&mut self) -> Result<String> {
        // Interrupt iperf, so that it prints its last report.
        execute(Command::new("kill").args(["-INT", &self.0.id().to_string()])).ok();
        thread::sleep(Duration::from_millis(300));
        self.0.kill().ok();
        self.0.wait()?;
        let mut text = String::new();
        if let Some(mut out) = self.0.stdout.take() {
            std::io::Read::read_to_string(&mut out, &mut text)?;
        }
        Ok(text)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// The namespace with its TAP device, removed in the end.
struct Network;

impl Network {
    fn new() -> Result<Network> {
        execute(Command::new("ip").args(["netns", "add", NAMESPACE]))?;
        let network = Network;
        for arguments in [
            "link set lo up",
            "tuntap add tap0 mode tap",
            "addr add 172.16.0.1/24 dev tap0",
            "link set tap0 up",
        ] {
            let inside = Command::new("ip")
                .args(["-n", NAMESPACE])
                .args(arguments.split(' '))
                .status()?;
            ensure!(inside.success(), "ip -n {NAMESPACE} {arguments} failed");
        }
        Ok(network)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let _ = Command::new("ip")
            .args(["netns", "del", NAMESPACE])
            .status();
    }
}
