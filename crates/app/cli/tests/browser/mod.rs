//! A real browser, told what to do by its DevTools protocol.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tungstenite::{Message, WebSocket};

/// Time limit of every wait in a test.
const PATIENCE: Duration = Duration::from_secs(60);

/// Chromium with one page open, and all it said meanwhile.
pub struct Browser {
    chromium: Child,
    socket: WebSocket<TcpStream>,
    session: Option<String>,
    calls: u64,
    events: Vec<Value>,
    /// Its profile and its downloads; gone with it.
    directory: TempDir,
    address: String,
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Asked to close, it ends its other processes before itself; killed, it leaves them to write to a directory
        // that is being removed.
        let close = json!({ "id": self.calls + 1, "method": "Browser.close" });
        let _ = self.socket.send(Message::text(close.to_string()));
        for _ in 0..100 {
            if !matches!(self.chromium.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(100));
        }
        let _ = self.chromium.kill();
        let _ = self.chromium.wait();
    }
}

impl Browser {
    /// Opens a page from disk, `width` pixels wide, in the `light` or the `dark` theme.
    pub fn open(page: &Path, width: u32, theme: &str) -> Browser {
        let directory = TempDir::new().unwrap();
        let mut chromium = Command::new("chromium")
            .args(["--headless=new", "--no-sandbox", "--disable-gpu"])
            .args(["--disable-dev-shm-usage", "--remote-debugging-port=0"])
            .arg(format!("--user-data-dir={}", directory.path().display()))
            .arg("about:blank")
            .env("TMPDIR", directory.path())
            .stderr(Stdio::piped())
            .spawn()
            .expect("chromium is missing: scripts/setup.sh test installs it");
        let socket = connect(&mut chromium);
        let mut browser = Browser {
            chromium,
            socket,
            session: None,
            calls: 0,
            events: Vec::new(),
            directory,
            address: format!("file://{}", page.canonicalize().unwrap().display()),
        };
        browser.attach(width, theme);
        browser
    }

    fn attach(&mut self, width: u32, theme: &str) {
        let target = self.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let attached = self.call(
            "Target.attachToTarget",
            &json!({ "targetId": target["targetId"], "flatten": true }),
        );
        let downloads = json!({
            "behavior": "allow", "downloadPath": self.directory.path(), "eventsEnabled": true
        });
        self.call("Browser.setDownloadBehavior", &downloads);
        self.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), &json!({}));
        }
        let screen = json!({
            "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false
        });
        self.call("Emulation.setDeviceMetricsOverride", &screen);
        self.call("Emulation.setScrollbarsHidden", &json!({ "hidden": true }));
        let scheme = json!({ "name": "prefers-color-scheme", "value": theme });
        let features = json!({ "features": [scheme] });
        self.call("Emulation.setEmulatedMedia", &features);
        let address = self.address.clone();
        self.call("Page.navigate", &json!({ "url": address }));
        self.wait(|event| event["method"] == "Page.loadEventFired");
        self.settle();
    }

    /// Lets the page draw what it wants to draw.
    pub fn settle(&mut self) {
        self.evaluate(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))",
        );
    }

    /// The value of an expression, awaited where it is a promise.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let asked = json!({
            "expression": expression, "returnByValue": true, "awaitPromise": true
        });
        let answer = self.call("Runtime.evaluate", &asked);
        assert!(
            answer.get("exceptionDetails").is_none(),
            "{expression}: {answer:#}"
        );
        answer["result"]["value"].clone()
    }

    /// Errors and warnings of the console, exceptions, and requests for anything but the page.
    pub fn troubles(&self) -> Vec<String> {
        let trouble = |event: &&Value| match event["method"].as_str() {
            Some("Runtime.exceptionThrown" | "Runtime.consoleAPICalled" | "Log.entryAdded") => true,
            Some("Network.requestWillBeSent") => {
                let url = event["params"]["request"]["url"].as_str().unwrap();
                url != self.address && !url.starts_with("data:") && !url.starts_with("blob:")
            }
            _ => false,
        };
        let troubles = self.events.iter().filter(trouble);
        troubles.map(Value::to_string).collect()
    }

    /// Presses the button that downloads a table, and reads what comes.
    pub fn download(&mut self, table: &str) -> String {
        let button =
            format!("document.querySelector('[data-name=\"{table}\"] .table-tools button')");
        self.evaluate(&format!("{button}.click()"));
        self.wait(|event| {
            event["method"] == "Browser.downloadProgress" && event["params"]["state"] == "completed"
        });
        let file = self.directory.path().join(format!("{table}.csv"));
        fs::read_to_string(file).unwrap()
    }

    /// Waits for an event, and forgets it: the next of its kind is waited for anew.
    fn wait(&mut self, awaited: impl Fn(&Value) -> bool) {
        loop {
            if let Some(found) = self.events.iter().position(&awaited) {
                self.events.remove(found);
                return;
            }
            let event = self.receive();
            self.events.push(event);
        }
    }

    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.calls += 1;
        let id = self.calls;
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let message = Message::text(message.to_string());
        self.socket.send(message).unwrap();
        loop {
            let answer = self.receive();
            if answer["id"] == id {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    fn receive(&mut self) -> Value {
        loop {
            let message = self.socket.read().expect("chromium answers in time");
            if let Message::Text(text) = message {
                return serde_json::from_str(&text).unwrap();
            }
        }
    }
}

/// Connects to the address that Chromium tells on its standard error.
fn connect(chromium: &mut Child) -> WebSocket<TcpStream> {
    let stderr = chromium.stderr.take().unwrap();
    let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
    let told = |line: String| Some(line.split_once("DevTools listening on ")?.1.to_owned());
    let address = lines
        .by_ref()
        .find_map(told)
        .expect("chromium tells where its DevTools listen");
    // Whatever else it says must go somewhere.
    thread::spawn(move || lines.for_each(drop));
    let host = address.trim_start_matches("ws://");
    let host = host.split('/').next().unwrap();
    let stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    tungstenite::client(address.as_str(), stream).unwrap().0
}

/// The page shown made no trouble.
pub fn assert_silent(browser: &Browser) {
    let troubles = browser.troubles();
    assert!(troubles.is_empty(), "{troubles:#?}");
}

/// Opens a page wide and narrow, light and dark, and looks whether it is silent, has these sections and draws every
/// picture, and whether it fits. `look` looks on.
pub fn opens_everywhere(page: &Path, sections: &str, mut look: impl FnMut(&mut Browser)) {
    for (width, theme) in [
        (1280, "light"),
        (1280, "dark"),
        (400, "light"),
        (400, "dark"),
    ] {
        let mut browser = Browser::open(page, width, theme);
        assert_silent(&browser);
        let found = browser
            .evaluate("[...document.querySelectorAll('section')].map((one) => one.id).join()");
        assert_eq!(found, sections);
        let wide = browser.evaluate("document.documentElement.scrollWidth");
        assert_eq!(wide, width, "nothing is wider than the page");
        let empty = browser.evaluate(
            "[...document.querySelectorAll('.plot')].filter((plot) => plot.clientHeight < 40).length",
        );
        assert_eq!(empty, 0, "every picture is drawn");
        look(&mut browser);
    }
}

/// Words of the page, by a selector.
pub fn words(browser: &mut Browser, selector: &str) -> String {
    let found = browser.evaluate(&format!("document.querySelector('{selector}').textContent"));
    found.as_str().unwrap().to_owned()
}
