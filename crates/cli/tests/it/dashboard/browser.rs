//! A real browser that a test drives: Chromium with the `DevTools` protocol over a pair of pipes, messages ended by a zero byte.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// What pages get before their own scripts.
const HELPERS: &str = include_str!("page.js");

/// The browser reads from descriptor 3 and writes to descriptor 4; a child has only the standard ones.
const START: &str = "exec \"$0\" \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null";

/// One window of a browser. It ends with this value.
pub(crate) struct Browser {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last_id: u64,
    session: Option<String>,
    /// What the page complained about: errors of scripts, resources that were refused.
    problems: Vec<String>,
    _profile: tempfile::TempDir,
}

/// Colours that the window prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    Light,
    Dark,
}

impl Browser {
    /// Opens a window of this width.
    pub(crate) fn open(width: u32, scheme: Scheme) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let flags = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-quic --no-first-run \
                     --disable-background-networking --disable-component-update --disable-sync --remote-debugging-pipe";
        let mut child = Command::new("sh")
            .args(["-c", START])
            .arg(program())
            .args(flags.split_whitespace())
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut browser =
            Self { child, input, output, last_id: 0, session: None, problems: Vec::new(), _profile: profile };
        browser.attach();
        let scheme = if scheme == Scheme::Dark { "dark" } else { "light" };
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        browser.send("Emulation.setEmulatedMedia", &json!({ "features": features }));
        let metrics = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600 });
        browser.send("Emulation.setDeviceMetricsOverride", &metrics);
        browser
    }

    fn attach(&mut self) {
        let targets = self.send("Target.getTargets", &json!({}));
        let pages = targets["targetInfos"].as_array().unwrap();
        let page = pages.iter().find(|target| target["type"] == "page").unwrap()["targetId"].clone();
        let attached = self.send("Target.attachToTarget", &json!({ "targetId": page, "flatten": true }));
        self.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            self.send(domain, &json!({}));
        }
        self.send("Page.addScriptToEvaluateOnNewDocument", &json!({ "source": HELPERS }));
    }

    /// Opens an address, also one that differs from the last one only after `#`.
    pub(crate) fn go(&mut self, address: &str) {
        self.send("Page.navigate", &json!({ "url": "about:blank" }));
        let opened = self.send("Page.navigate", &json!({ "url": address }));
        assert!(opened.get("errorText").is_none(), "{address}: {opened}");
        self.ask("await page.until('the page', () => document.readyState === 'complete')");
    }

    /// Reloads the page.
    pub(crate) fn reload(&mut self) {
        self.ask("globalThis.isOld = true");
        self.send("Page.reload", &json!({}));
        self.ask(
            "await page.until('the page', () => !globalThis.isOld && document.readyState === 'complete')",
        );
    }

    /// Evaluates an expression in the page, which may await, and returns its value.
    pub(crate) fn ask(&mut self, expression: &str) -> Value {
        let wrapped = format!("(async () => ({expression}))()");
        let params = json!({ "expression": wrapped, "awaitPromise": true, "returnByValue": true, "userGesture": true });
        loop {
            let response = self.exchange("Runtime.evaluate", &params);
            // A page that is just being replaced takes its promises with it.
            let is_gone = response["error"]["message"].as_str().is_some_and(|text| {
                text.contains("context was destroyed")
                    || text.contains("Promise was collected")
                    || text.contains("Cannot find")
            });
            let has_helpers =
                !response["result"]["exceptionDetails"].to_string().contains("page is not defined");
            if !is_gone && has_helpers {
                let outcome = &response["result"];
                assert!(
                    outcome.get("exceptionDetails").is_none(),
                    "{expression}\n{:#}",
                    outcome["exceptionDetails"]["exception"]["description"]
                );
                return outcome["result"]["value"].clone();
            }
        }
    }

    /// Presses a key, e.g. `Tab` or `Enter`, as the keyboard does.
    pub(crate) fn key(&mut self, key: &str, code: u32) {
        for kind in ["keyDown", "keyUp"] {
            let text = if key == "Enter" { "\r" } else { "" };
            let params =
                json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text });
            self.send("Input.dispatchKeyEvent", &params);
        }
    }

    /// What the page complained about since the last time.
    pub(crate) fn problems(&mut self) -> Vec<String> {
        self.ask("1"); // everything before it has come
        std::mem::take(&mut self.problems)
    }

    fn send(&mut self, method: &str, params: &Value) -> Value {
        let mut response = self.exchange(method, params);
        assert!(response.get("error").is_none(), "{method}: {response}");
        response["result"].take()
    }

    fn exchange(&mut self, method: &str, params: &Value) -> Value {
        self.last_id += 1;
        let mut message = json!({ "id": self.last_id, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        self.input.write_all(message.to_string().as_bytes()).unwrap();
        self.input.write_all(&[0]).unwrap();
        self.input.flush().unwrap();
        loop {
            let message = self.read();
            if message["id"] == self.last_id {
                return message;
            }
            self.note(&message);
        }
    }

    fn read(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.output.read_until(0, &mut bytes).unwrap();
        assert_eq!(bytes.pop(), Some(0), "the browser has ended");
        serde_json::from_slice(&bytes).unwrap()
    }

    fn note(&mut self, message: &Value) {
        let params = &message["params"];
        let problem = match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => params["exceptionDetails"].to_string(),
            Some("Log.entryAdded") if params["entry"]["level"] == "error" => params["entry"].to_string(),
            _ => return,
        };
        self.problems.push(problem);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program() -> PathBuf {
    let path = std::env::var("PATH").unwrap_or_default();
    let found = path.split(':').map(|folder| Path::new(folder).join("chromium")).find(|file| file.is_file());
    found.expect("chromium is installed; cargo xtask test does that")
}
