//! A headless Chromium, controlled over a pipe.
//!
//! Rule: neither a port nor a socket nor another program is used. The DevTools protocol uses two
//! file descriptors for JSON messages, each followed by a zero byte. Errors of the page are kept
//! for the tests.

use std::{
    env, fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// Time limit for an answer; on a busy machine a browser starts slowly.
const PATIENCE: Duration = Duration::from_secs(120);

/// A browser with one page.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    session: String,
    asked: u64,
    complaints: Vec<String>,
    profile: PathBuf,
}

impl Browser {
    /// Starts a browser with a window of `width` by `height` points.
    pub fn start(name: &str, width: u32, height: u32) -> Self {
        let profile = env::temp_dir().join(format!("fullpipe-{name}-{}", std::process::id()));
        fs::create_dir_all(&profile).expect("a folder for the profile");
        let program = env::var("CHROMIUM").unwrap_or_else(|_| "chromium".to_string());
        // The protocol uses descriptors 3 and 4; the shell makes them from standard input and output.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null"])
            .arg(program)
            .args(["--headless=new", "--no-sandbox", "--remote-debugging-pipe"])
            .args([
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
                "--no-first-run",
            ])
            .arg(format!("--window-size={width},{height}"))
            .arg(format!("--user-data-dir={}", profile.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(said(&profile)).expect("a file in the profile"))
            .spawn()
            .expect("a shell");
        let to = child.stdin.take().expect("it was asked for");
        let mut out = BufReader::new(child.stdout.take().expect("it was asked for"));
        let (sender, from) = mpsc::channel();
        thread::spawn(move || {
            let mut message = Vec::new();
            while out.read_until(0, &mut message).is_ok_and(|read| read > 0) {
                message.pop();
                let Ok(value) = serde_json::from_slice(&message) else {
                    break;
                };
                if sender.send(value).is_err() {
                    break;
                }
                message.clear();
            }
        });
        let mut browser = Self {
            child,
            to,
            from,
            session: String::new(),
            asked: 0,
            complaints: Vec::new(),
            profile,
        };
        browser.attach();
        browser
    }

    fn attach(&mut self) {
        let target = self.call("Target.createTarget", json!({ "url": "about:blank" }));
        let target = target["targetId"].clone();
        let attached = self.call(
            "Target.attachToTarget",
            json!({ "targetId": target, "flatten": true }),
        );
        self.session = attached["sessionId"].as_str().expect("a session").into();
        let own_time = json!({ "timeDomain": "threadTicks" });
        self.call("Performance.enable", own_time);
        for domain in ["Page", "Runtime", "Log"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
    }

    /// Opens a page and waits until the page has drawn itself.
    pub fn open(&mut self, url: &str) {
        self.call("Page.navigate", json!({ "url": url }));
        self.wait_for("document.readyState === 'complete'");
        assert_eq!(self.complaints(), [""; 0], "while {url} loads");
        self.evaluate("window.fullpipe?.loaded");
    }

    /// Waits until the value of `script` is true.
    pub fn wait_for(&mut self, script: &str) {
        let end = Instant::now() + PATIENCE;
        while self.evaluate(script) != json!(true) {
            assert!(Instant::now() < end, "never true: {script}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns the value of `script`; if the value is a promise, waits for its result.
    pub fn evaluate(&mut self, script: &str) -> Value {
        let asked = json!({
            "expression": script, "awaitPromise": true, "returnByValue": true,
        });
        let answer = self.call("Runtime.evaluate", asked);
        let thrown = &answer["exceptionDetails"];
        assert!(thrown.is_null(), "{script}\n{thrown:#}");
        answer["result"]["value"].clone()
    }

    /// Returns the value of `script`, which must be a number.
    pub fn number(&mut self, script: &str) -> f64 {
        let value = self.evaluate(script);
        value
            .as_f64()
            .unwrap_or_else(|| panic!("{script} is {value}"))
    }

    /// Returns the processor time of the page's main thread, in seconds, without other processes.
    // Only the benchmark calls this method.
    #[allow(dead_code)]
    pub fn busy_s(&mut self) -> f64 {
        let metrics = self.call("Performance.getMetrics", json!({}));
        let metrics = metrics["metrics"].as_array().expect("a list of metrics");
        let busy = metrics
            .iter()
            .find(|metric| metric["name"] == "TaskDuration");
        let busy = busy.and_then(|metric| metric["value"].as_f64());
        busy.expect("the metric of this name")
    }

    /// Sends a mouse event at a point of the window.
    pub fn mouse(&mut self, kind: &str, x: f64, y: f64, more: Value) {
        let mut event = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1 });
        for (key, value) in more.as_object().into_iter().flatten() {
            event[key] = value.clone();
        }
        self.call("Input.dispatchMouseEvent", event);
    }

    /// Presses and releases a key.
    pub fn key(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            let event = json!({ "type": kind, "key": key });
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Calls a method of the DevTools protocol on the page.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.asked += 1;
        let mut message = json!({ "id": self.asked, "method": method, "params": parameters });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        write!(self.to, "{message}\0").expect("the browser listens");
        self.to.flush().expect("the browser listens");
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let message = match self.from.recv_timeout(left) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => panic!("{method}: no answer"),
                Err(RecvTimeoutError::Disconnected) => panic!("{method}: the browser is gone"),
            };
            if message["id"] == json!(self.asked) {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.hear(&message);
        }
    }

    /// Stores errors that the page reports.
    fn hear(&mut self, message: &Value) {
        let parameters = &message["params"];
        let complaint = match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => &parameters["exceptionDetails"]["exception"],
            Some("Log.entryAdded") if parameters["entry"]["level"] == "error" => {
                &parameters["entry"]
            }
            Some("Runtime.consoleAPICalled") if parameters["type"] == "error" => parameters,
            Some(_) | None => return,
        };
        self.complaints.push(format!("{complaint:#}"));
    }

    /// Returns the errors that the page has thrown or logged so far.
    pub fn complaints(&self) -> &[String] {
        &self.complaints
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The process may have ended already, so an error is ignored.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            let said = fs::read_to_string(said(&self.profile));
            eprintln!("chromium: {}", said.unwrap_or_default());
        }
        let _ = fs::remove_dir_all(&self.profile);
    }
}

/// Returns the file with what the browser has written to standard error.
fn said(profile: &Path) -> PathBuf {
    profile.join("said.txt")
}
