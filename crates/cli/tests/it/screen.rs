//! The live screen of the real binary in a real terminal (tmux): it appears, keys work, the terminal comes back.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::support::{PATIENCE, Target, wait_until};

/// A terminal of 100 × 30, gone with its owner.
struct Terminal {
    folder: TempDir,
}

impl Terminal {
    /// Runs `hyperscale` with these arguments, then says how it ended and how the terminal is.
    fn run(args: &str) -> Self {
        let terminal = Self { folder: tempfile::tempdir().unwrap() };
        let (binary, pid) = (env!("CARGO_BIN_EXE_hyperscale"), terminal.pid_file());
        let pid = pid.display();
        let program = format!("sh -c 'echo $$ > {pid}; exec {binary} {args}'; echo exit $?; stty -a; cat");
        terminal.tmux(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "100",
            "-y",
            "30",
            "sh",
            "-c",
            &program,
        ]);
        terminal
    }

    fn tmux(&self, args: &[&str]) -> String {
        let socket = self.folder.path().join("tmux");
        let output = Command::new("tmux").arg("-S").arg(socket).args(args).output().unwrap();
        assert!(output.status.success(), "tmux {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn pid_file(&self) -> PathBuf {
        self.folder.path().join("pid")
    }

    /// Sends the run a signal by its name.
    fn signal(&self, name: &str) {
        let pid = fs::read_to_string(self.pid_file()).unwrap();
        assert!(Command::new("kill").args(["-s", name, pid.trim()]).status().unwrap().success());
    }

    fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    fn wait_for(&self, part: &str) -> String {
        self.wait_for_any(&[part])
    }

    /// On a machine that others use, the generator may be the bottleneck from the first second on.
    fn wait_for_any(&self, parts: &[&str]) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let text = self.tmux(&["capture-pane", "-p", "-S", "-200"]);
            if parts.iter().any(|part| text.contains(part)) {
                return text;
            }
            assert!(Instant::now() < end, "none of {parts:?} in the terminal:\n{text}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits for the end; the screen must be gone and the terminal as it was.
    fn assert_given_back(&self, code: i32) {
        self.wait_for(&format!("exit {code}\n"));
        let text = self.wait_for("icanon");
        assert!(!text.contains("-icanon") && !text.contains("-echo "), "{text}");
        assert!(
            !text.contains("generator:") && text.contains("requests"),
            "the summary stands there: {text}"
        );
        assert_eq!(self.tmux(&["display", "-p", "#{alternate_on}"]).trim(), "0");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let socket = self.folder.path().join("tmux");
        drop(Command::new("tmux").arg("-S").arg(socket).arg("kill-server").output());
    }
}

#[test]
fn screen_shows_the_run_obeys_keys_and_leaves_after_a_yes() {
    let target = Target::start(&[]);
    let terminal = Terminal::run(&format!("run {} -c 5 -d 60s", target.base));
    terminal.wait_for_any(&["busiest", "bottleneck"]);
    assert_eq!(terminal.tmux(&["display", "-p", "#{alternate_on}"]).trim(), "1");
    terminal.keys(&["?"]);
    terminal.wait_for("this help");
    terminal.keys(&["x", "p"]);
    terminal.wait_for("paused");
    terminal.keys(&["p", "+"]);
    terminal.wait_for("6 virtual users");
    terminal.tmux(&["resize-window", "-x", "80", "-y", "24"]);
    terminal.wait_for("Thresholds");
    terminal.keys(&["q"]);
    terminal.wait_for("Cancel the run?");
    terminal.keys(&["y"]);
    terminal.assert_given_back(97);
}

#[test]
fn closed_window_ends_the_run_gracefully_with_report_and_recording() {
    let target = Target::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let (report, recording) = (file("a.html"), file("a.jsonl"));
    let files = format!("--report {} --record {}", report.display(), recording.display());
    let terminal = Terminal::run(&format!("run {} -c 5 -d 60s {files}", target.base));
    terminal.wait_for_any(&["busiest", "bottleneck"]);
    let pid = fs::read_to_string(terminal.pid_file()).unwrap();
    terminal.tmux(&["kill-server"]);
    wait_until("the end of the run", || (!Path::new("/proc").join(pid.trim()).exists()).then_some(()));
    assert!(fs::read_to_string(report).unwrap().contains("</html>"));
    let recording = fs::read_to_string(recording).unwrap();
    assert!(recording.lines().last().unwrap().contains("\"type\":\"finished\""));
    assert!(recording.contains("interrupted"), "a graceful stop is one that was asked for");
}

#[test]
fn ctrl_c_stops_gracefully_and_gives_the_terminal_back() {
    let target = Target::start(&[]);
    let terminal = Terminal::run(&format!("run {} -c 2 -d 60s", target.base));
    terminal.wait_for_any(&["busiest", "bottleneck"]);
    terminal.keys(&["C-c"]);
    terminal.assert_given_back(97);
}

#[test]
fn sigterm_stops_gracefully_and_gives_the_terminal_back() {
    let target = Target::start(&[]);
    let terminal = Terminal::run(&format!("run {} -c 2 -d 60s", target.base));
    terminal.wait_for_any(&["busiest", "bottleneck"]);
    terminal.signal("TERM");
    terminal.assert_given_back(97);
    terminal.wait_for("cancelled (interrupted)");
}

#[test]
fn screen_leaves_by_itself_at_the_end_and_not_wanted_means_lines() {
    let target = Target::start(&[]);
    let terminal = Terminal::run(&format!("run {} -c 2 -d 2s", target.base));
    terminal.wait_for("generator:");
    terminal.assert_given_back(0);
    let plain = Terminal::run(&format!("run {} -c 2 -d 2s --no-ui", target.base));
    plain.wait_for("p99");
    assert_eq!(plain.tmux(&["display", "-p", "#{alternate_on}"]).trim(), "0");
}
