//! A headless Chromium, driven through two pipes: the least that looks at a page as a person would.
//!
//! In: an address. Out: answers of the page's script, everything it wrote to its console, pictures. The browser is found by the
//! variable `CHROME`, or on the path; [`Chrome::start`] says why where there is none.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Ends a hang; nothing is expected to take so long.
pub(crate) const LONG: Duration = Duration::from_secs(60);

const NAMES: [&str; 5] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
];

fn find() -> Option<PathBuf> {
    if let Some(chosen) = std::env::var_os("CHROME") {
        return Some(chosen.into());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .flat_map(|folder| NAMES.map(|name| folder.join(name)))
        .find(|file| file.is_file())
}

/// The browser, with one page.
pub(crate) struct Chrome {
    process: Child,
    orders: ChildStdin,
    answers: Receiver<Value>,
    folder: PathBuf,
    session: String,
    count: u64,
    /// What the page said that it should not have: console errors, exceptions, refused loads.
    pub(crate) complaints: Vec<String>,
    /// Dialogs it opened: `alert` is what markup in a name would do.
    pub(crate) dialogs: usize,
}

impl Chrome {
    /// `None`: there is no browser, and it was said why the test is left out. Where everything must run there must be one.
    pub(crate) fn start() -> Option<Chrome> {
        let Some(program) = find() else {
            let must = std::env::var("CI").is_ok_and(|ci| ci == "true");
            assert!(
                !must,
                "CI=true, and there is no Chromium: install it, or set CHROME"
            );
            println!("skipped: no Chromium on the path and CHROME is not set");
            return None;
        };
        let folder = std::env::temp_dir().join(
            format!("punctual-chrome-{}-{:?}", std::process::id(), Instant::now())
                .replace(|c: char| !c.is_alphanumeric() && c != '/' && c != '-', ""),
        );
        std::fs::create_dir_all(&folder).unwrap();
        // The pipes of the protocol are descriptors 3 and 4; a shell can say so without unsafe code.
        let mut process = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1"])
            .arg(program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
            ])
            .args([
                "--no-first-run",
                "--disable-extensions",
                "--disable-background-networking",
            ])
            .args(["--hide-scrollbars", "--remote-debugging-pipe", "about:blank"])
            .arg(format!("--user-data-dir={}", folder.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let orders = process.stdin.take().unwrap();
        let mut pipe = BufReader::new(process.stdout.take().unwrap());
        let (heard, answers) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while pipe.read_until(0, &mut message).is_ok_and(|n| n > 0) {
                message.pop();
                let value = serde_json::from_slice(&message).unwrap();
                message.clear();
                if heard.send(value).is_err() {
                    return;
                }
            }
        });
        let mut chrome = Chrome {
            process,
            orders,
            answers,
            folder,
            session: String::new(),
            count: 0,
            complaints: Vec::new(),
            dialogs: 0,
        };
        let made = chrome.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": made["targetId"], "flatten": true});
        let attached = chrome.call("Target.attachToTarget", attach);
        chrome.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            chrome.call(&format!("{domain}.enable"), json!({}));
        }
        Some(chrome)
    }

    /// One order and its answer; what happens meanwhile is noted.
    pub(crate) fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.count += 1;
        let mut order = json!({"id": self.count, "method": method, "params": parameters});
        if !self.session.is_empty() {
            order["sessionId"] = self.session.clone().into();
        }
        let mut text = order.to_string().into_bytes();
        text.push(0);
        self.orders.write_all(&text).unwrap();
        loop {
            let answer = self.answers.recv_timeout(LONG).expect("the browser answers");
            if answer["id"] == self.count {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.note(&answer);
        }
    }

    fn note(&mut self, event: &Value) {
        let about = &event["params"];
        match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => self.complaints.push(about["exceptionDetails"].to_string()),
            Some("Runtime.consoleAPICalled") if about["type"] == "error" || about["type"] == "warning" => {
                self.complaints.push(about["args"].to_string());
            }
            // Also what the content security policy refused.
            Some("Log.entryAdded") if about["entry"]["level"] == "error" => {
                self.complaints.push(about["entry"].to_string())
            }
            Some("Page.javascriptDialogOpening") => self.dialogs += 1,
            _ => {}
        }
    }

    pub(crate) fn open(&mut self, address: &str) {
        self.call("Page.navigate", json!({"url": address}));
    }

    pub(crate) fn window(&mut self, width: u32, height: u32, theme: &str) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.call("Emulation.setDeviceMetricsOverride", size);
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": theme}]});
        self.call("Emulation.setEmulatedMedia", media);
    }

    /// The value of an expression of the page's script; a promise is waited for.
    pub(crate) fn eval(&mut self, script: &str) -> Value {
        let order =
            json!({"expression": script, "returnByValue": true, "awaitPromise": true, "userGesture": true});
        let answer = self.call("Runtime.evaluate", order);
        assert!(
            answer["exceptionDetails"].is_null(),
            "{script}: {}",
            answer["exceptionDetails"]
        );
        answer["result"]["value"].clone()
    }

    /// Looks until the expression is true.
    pub(crate) fn until(&mut self, script: &str) {
        let begin = Instant::now();
        while self.eval(&format!("(async () => Boolean({script}))()")) != true {
            assert!(
                begin.elapsed() < LONG,
                "never true: {script}; the page says {:?}; {:?}",
                self.eval("document.body.innerText"),
                self.complaints
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The text of the element with that mark.
    pub(crate) fn text(&mut self, mark: &str) -> String {
        let script = format!("document.querySelector('[data-testid=\"{mark}\"]')?.textContent ?? ''");
        self.eval(&script).as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn click(&mut self, selector: &str) {
        self.until(&format!("document.querySelector({selector:?})"));
        self.eval(&format!("document.querySelector({selector:?}).click()"));
    }

    /// Types into a field as a person would.
    pub(crate) fn fill(&mut self, selector: &str, text: &str) {
        self.until(&format!("document.querySelector({selector:?})"));
        self.eval(&format!(
            "{{ const field = document.querySelector({selector:?}); field.focus(); field.select(); }}"
        ));
        if text.is_empty() {
            self.eval(&format!("{{ const field = document.querySelector({selector:?}); field.value = ''; field.dispatchEvent(new Event('input', {{bubbles: true}})); }}"));
        } else {
            self.call("Input.insertText", json!({"text": text}));
        }
    }

    pub(crate) fn key(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            let text = if key.len() == 1 && kind == "keyDown" {
                key
            } else {
                ""
            };
            self.call(
                "Input.dispatchKeyEvent",
                json!({"type": kind, "key": key, "text": text}),
            );
        }
    }

    /// What is seen, as a PNG in base64.
    pub(crate) fn picture(&mut self) -> String {
        let shot = self.call("Page.captureScreenshot", json!({"format": "png"}));
        shot["data"].as_str().unwrap().to_owned()
    }
}

impl Drop for Chrome {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
