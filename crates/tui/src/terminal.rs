//! The terminal: taken over for the screen, given back whatever happens.
//!
//! Three ways lead out of the alternate screen: the end of the screen (drop), a panic of any thread (hook), and signals,
//! which end the run and with it the screen. Only the first one to come does anything.

use std::io::{self, Stderr, Write};
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

/// Whether the terminal is ours. There is one terminal, so there is one flag.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal in raw mode on the alternate screen. It is drawn on stderr: stdout is for data.
pub(crate) struct Taken {
    terminal: Terminal<CrosstermBackend<Stderr>>,
}

impl Taken {
    /// Takes the terminal over.
    pub(crate) fn take() -> io::Result<Self> {
        give_back_on_panic();
        TAKEN.store(true, Ordering::SeqCst);
        let taken = enable_raw_mode()
            .and_then(|()| execute!(io::stderr(), EnterAlternateScreen))
            .and_then(|()| Terminal::new(CrosstermBackend::new(io::stderr())));
        match taken {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    /// Whether it was not given back by a panic.
    #[expect(clippy::unused_self, reason = "the question makes sense only for somebody who took it")]
    pub(crate) fn is_ours(&self) -> bool {
        TAKEN.load(Ordering::SeqCst)
    }

    /// The terminal to draw on.
    pub(crate) fn terminal(&mut self) -> &mut Terminal<CrosstermBackend<Stderr>> {
        &mut self.terminal
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the terminal back if it is ours.
fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        // Nothing can be done about a terminal that is gone.
        drop(execute!(io::stderr(), LeaveAlternateScreen, Show));
        drop(disable_raw_mode());
        drop(io::stderr().flush());
    }
}

/// A panic message must be readable, and the shell usable afterwards.
fn give_back_on_panic() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            give_back();
            before(info);
        }));
    });
}
