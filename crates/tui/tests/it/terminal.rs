//! The screen in a real terminal (tmux): after a panic the terminal is given back and the message can be read; a screen
//! that is held stays until somebody leaves it.
//!
//! The program in the terminal is this test binary once more, told by a variable which child it is.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hyperscale_stats::event::Event;
use hyperscale_tui::{Mode, Screen, ScreenOptions, Theme};

use crate::runs::{BROWSE, events, snapshot};

const CHILD: &str = "SCREEN_TEST_CHILD";
/// Terminals started so far.
static NUMBER: AtomicU32 = AtomicU32::new(0);
const PATIENCE: Duration = Duration::from_mins(1);

/// What runs in the other terminal: a recording that has ended, closed by its owner.
#[test]
fn child_that_is_held() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let options = ScreenOptions { theme: Theme::new(false), mode: Mode::Replay };
    let screen = Screen::start(options, |_| {}).unwrap();
    for event in events(&[&BROWSE], 3) {
        screen.show(event);
    }
    screen.show(Event::Finished(Box::new(snapshot(&[&BROWSE], 3).result)));
    screen.close().unwrap().unwrap();
}

#[test]
fn held_screen_goes_with_a_key_or_a_signal() {
    for signal in [false, true] {
        let terminal = Terminal::start("exec", "child_that_is_held", "");
        terminal.tmux(&["set", "-g", "remain-on-exit", "on"]);
        terminal.wait_for("the run is over");
        if signal {
            let pid = terminal.tmux(&["display", "-p", "#{pane_pid}"]);
            assert!(Command::new("kill").args(["-TERM", pid.trim()]).status().unwrap().success());
        } else {
            terminal.tmux(&["send-keys", "q"]);
        }
        let text = terminal.wait_for("test result: ok");
        assert!(!text.contains("the run is over"), "{text}");
    }
}

/// What runs in the terminal: the screen, and a wish that panics.
#[test]
fn child_that_panics() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let options = ScreenOptions { theme: Theme::new(false), mode: Mode::Live };
    let screen = Screen::start(options, |wish| panic!("asked for {wish:?}")).unwrap();
    for event in events(&[&BROWSE], 3) {
        screen.show(event);
    }
    assert!(screen.join().is_err(), "the screen has panicked");
}

#[test]
fn panic_gives_the_terminal_back() {
    let terminal = Terminal::start("", "child_that_panics", "; stty -a; cat");
    terminal.wait_for("generator:");
    assert_eq!(terminal.tmux(&["display", "-p", "#{alternate_on}"]).trim(), "1");
    terminal.tmux(&["send-keys", "p"]);
    let text = terminal.wait_for("asked for Command(Pause)");
    assert!(!text.contains("generator:"), "the screen is gone: {text}");
    let text = terminal.wait_for("icanon");
    assert!(!text.contains("-icanon") && !text.contains("-echo "), "{text}");
    assert_eq!(terminal.tmux(&["display", "-p", "#{alternate_on}"]).trim(), "0");
}

/// A terminal of its own, gone with its owner.
struct Terminal {
    socket: String,
}

impl Terminal {
    /// Runs one of the tests above as a child, in a terminal of 100 × 30.
    fn start(before: &str, child: &str, after: &str) -> Self {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("hyperscale-tui-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let terminal = Terminal { socket: folder.join("tmux").to_str().unwrap().to_owned() };
        let exe = std::env::current_exe().unwrap();
        let program = format!(
            "export {CHILD}=1; {before} '{}' --exact terminal::{child} --nocapture{after}",
            exe.display()
        );
        let session = ["-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "30", "sh", "-c", &program];
        terminal.tmux(&session);
        terminal
    }

    fn tmux(&self, args: &[&str]) -> String {
        let output = Command::new("tmux").args(["-S", &self.socket]).args(args).output().unwrap();
        assert!(output.status.success(), "tmux {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn wait_for(&self, part: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let text = self.tmux(&["capture-pane", "-p", "-S", "-200"]);
            if text.contains(part) {
                return text;
            }
            assert!(Instant::now() < end, "no {part:?} in the terminal:\n{text}");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        drop(Command::new("tmux").args(["-S", &self.socket, "kill-server"]).output());
        if let Some(folder) = Path::new(&self.socket).parent() {
            drop(std::fs::remove_dir_all(folder));
        }
    }
}
