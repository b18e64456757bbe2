//! Chromium without a window, by its DevTools protocol.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{env, fs};

use base64::Engine as _;
use serde_json::{Value, json};
use tempfile::TempDir;
use tungstenite::{Message, WebSocket};

/// The timeout of an answer by Chromium.
const ANSWER_TIME: Duration = Duration::from_secs(120);

/// A running Chromium, which ends with this.
pub(crate) struct Chromium {
    process: Child,
    address: String,
    _profile: TempDir,
}

impl Chromium {
    /// Starts the program that `TENURE_CHROMIUM` names, else `chromium`.
    pub(crate) fn start() -> Self {
        let profile = tempfile::tempdir().unwrap();
        let program = env::var_os("TENURE_CHROMIUM").unwrap_or_else(|| "chromium".into());
        let mut process = Command::new(program)
            // Its sandbox does not work for the administrator, which test machines usually run as.
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .arg("--remote-debugging-port=0")
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("Chromium starts; see `cargo xtask test report`");
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let address = lines
            .find_map(|line| Some(line.ok()?.split_once("DevTools listening on ")?.1.to_owned()))
            .expect("Chromium says where it listens");
        // Chromium blocks if its output is not read.
        std::thread::spawn(move || lines.for_each(drop));
        Self { process, address, _profile: profile }
    }

    /// Opens a file in a window of some size.
    pub(crate) fn open(self, file: &Path, (width, height): (u32, u32)) -> Page {
        let mut page = Page::connect(self);
        let target = page.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        page.session = page.call("Target.attachToTarget", attach)["sessionId"].clone();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.call(&format!("{domain}.enable"), json!({}));
        }
        page.resize(width, height);
        page.call("Page.navigate", json!({ "url": format!("file://{}", file.display()) }));
        page.eval("new Promise((done) => document.readyState === 'complete' ? done() : addEventListener('load', done))");
        page
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ended = self.process.kill();
        let _waited = self.process.wait();
    }
}

/// An open page and its Chromium.
pub(crate) struct Page {
    socket: WebSocket<TcpStream>,
    session: Value,
    calls: u64,
    /// Errors of scripts, violations of the page's policy, and network requests.
    pub(crate) complaints: Vec<String>,
    _chromium: Chromium,
}

impl Page {
    fn connect(chromium: Chromium) -> Self {
        let address = chromium.address.as_str();
        let host = address.trim_start_matches("ws://").split('/').next().unwrap();
        let stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(ANSWER_TIME)).unwrap();
        let (socket, _) = tungstenite::client(address, stream).unwrap();
        Self { socket, session: Value::Null, calls: 0, complaints: Vec::new(), _chromium: chromium }
    }

    /// Calls a method of the protocol.
    pub(crate) fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.calls += 1;
        let mut call = json!({ "id": self.calls, "method": method, "params": parameters });
        if !self.session.is_null() {
            call["sessionId"] = self.session.clone();
        }
        self.socket.send(Message::text(call.to_string())).unwrap();
        loop {
            let Message::Text(text) = self.socket.read().unwrap() else { continue };
            let answer: Value = serde_json::from_str(&text).unwrap();
            if answer["id"] == self.calls {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.note(&answer);
        }
    }

    fn note(&mut self, event: &Value) {
        let said = &event["params"];
        match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => self.complaints.push(said["exceptionDetails"].to_string()),
            "Log.entryAdded" => self.complaints.push(said["entry"].to_string()),
            "Runtime.consoleAPICalled" => self.complaints.push(said["args"].to_string()),
            "Network.requestWillBeSent" => {
                let url = said["request"]["url"].as_str().unwrap_or_default();
                if !url.starts_with("file:") && url != "about:blank" {
                    self.complaints.push(format!("a request: {url}"));
                }
            }
            _ => {}
        }
    }

    /// The value of an expression, or of its promise.
    pub(crate) fn eval(&mut self, expression: &str) -> Value {
        let question = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", question);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// Waits until the page has drawn its changes.
    pub(crate) fn settle(&mut self) {
        self.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))");
    }

    pub(crate) fn resize(&mut self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// Presses a key, by its name in the DOM.
    pub(crate) fn press(&mut self, key: &str, is_shifted: bool) {
        let modifiers = if is_shifted { 8 } else { 0 };
        let text = if key.chars().count() == 1 { key } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let event = json!({ "type": kind, "key": key, "text": if kind == "keyDown" { text } else { "" },
                "modifiers": modifiers });
            self.call("Input.dispatchKeyEvent", event);
        }
        self.settle();
    }

    fn mouse(&mut self, kind: &str, (x, y): (f64, f64), buttons: u32) {
        let event = json!({ "type": kind, "x": x, "y": y, "buttons": buttons, "clickCount": 1,
            "button": if kind == "mouseMoved" && buttons == 0 { "none" } else { "left" } });
        self.call("Input.dispatchMouseEvent", event);
    }

    pub(crate) fn point(&mut self, at: (f64, f64)) {
        self.mouse("mouseMoved", at, 0);
        self.settle();
    }

    pub(crate) fn click(&mut self, at: (f64, f64)) {
        self.drag(at, at);
    }

    pub(crate) fn drag(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.mouse("mouseMoved", from, 0);
        self.mouse("mousePressed", from, 1);
        self.mouse("mouseMoved", to, 1);
        self.mouse("mouseReleased", to, 0);
        self.settle();
    }

    /// The place of an element that is scrolled to: shares of its width and height from its upper left corner.
    pub(crate) fn place(&mut self, selector: &str, (x, y): (f64, f64)) -> (f64, f64) {
        let found = self.eval(&format!(
            "{{ const element = document.querySelector({selector:?}); element.scrollIntoView({{ block: 'center' }}); \
             const {{ left, top, width, height }} = element.getBoundingClientRect(); [left, top, width, height] }}",
        ));
        let number = |index: usize| found[index].as_f64().unwrap();
        self.settle();
        (number(0) + number(2) * x, number(1) + number(3) * y)
    }

    pub(crate) fn click_on(&mut self, selector: &str) {
        let middle = self.place(selector, (0.5, 0.5));
        self.click(middle);
    }

    /// Writes a screenshot.
    pub(crate) fn picture(&mut self, file: &Path) {
        let shot = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        let data = base64::engine::general_purpose::STANDARD.decode(shot["data"].as_str().unwrap()).unwrap();
        fs::write(file, data).unwrap();
    }
}
