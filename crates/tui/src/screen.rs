//! The screen while it is up: one queue for events and keys, one thread that owns state and terminal.
//!
//! ```text
//! Screen::show ──────┐
//!                    ├─► queue ─► thread `screen`: State, render
//! thread `keys` ─────┘               └─► wishes
//! ```

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;
use std::time::Duration;

use hyperscale_stats::event::Event;
use ratatui::crossterm::event::{self as terminal_event, Event as TerminalEvent};

use crate::input::{Key, Wish};
use crate::render::render;
use crate::state::{Mode, State};
use crate::terminal::Taken;
use crate::theme::Theme;

/// Events and keys waiting to be drawn. Who sends more waits; keys wait in the terminal.
const INPUTS_MAX: usize = 64;
/// How soon the thread of keys notices that the screen is gone.
const KEY_POLL: Duration = Duration::from_millis(50);

/// How the screen looks and what it can do.
#[derive(Clone, Copy, Debug)]
pub struct ScreenOptions {
    /// Colours, or none.
    pub theme: Theme,
    /// Whether the run can be changed.
    pub mode: Mode,
}

/// What can happen to the screen.
enum Input {
    Event(Box<Event>),
    Key(Key),
    Resize,
    Close,
}

/// The screen, up on its own threads.
#[derive(Debug)]
pub struct Screen {
    inputs: SyncSender<Input>,
    shown: thread::JoinHandle<io::Result<()>>,
}

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Input::Event(_) => f.write_str("Event"),
            Input::Key(key) => write!(f, "Key({key:?})"),
            Input::Resize => f.write_str("Resize"),
            Input::Close => f.write_str("Close"),
        }
    }
}

impl Screen {
    /// Takes the terminal and shows an empty run. `wish` is called on the screen's thread and must not wait.
    pub fn start(options: ScreenOptions, wish: impl FnMut(Wish) + Send + 'static) -> io::Result<Self> {
        let (inputs, received) = mpsc::sync_channel(INPUTS_MAX);
        let key_inputs = inputs.clone();
        let over = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&over);
        let mut taken = Taken::take()?;
        let keys =
            thread::Builder::new().name("keys".to_owned()).spawn(move || read_keys(&key_inputs, &ended))?;
        let shown = thread::Builder::new().name("screen".to_owned()).spawn(move || {
            let outcome = show(&mut taken, options, &received, wish);
            // Keys typed from now on belong to the shell: nobody may read them before the terminal is given back.
            over.store(true, Ordering::SeqCst);
            drop(received);
            drop(keys.join());
            outcome
        })?;
        Ok(Self { inputs, shown })
    }

    /// Shows an event. After [`Event::Finished`] the screen goes down; then events go nowhere.
    pub fn show(&self, event: Event) {
        self.inputs.send(Input::Event(Box::new(event))).ok();
    }

    /// Waits until the screen goes down by itself: after the last event, or by a panic, which is the error.
    pub fn join(self) -> thread::Result<io::Result<()>> {
        self.shown.join()
    }

    /// Takes the screen down, if it still is up, and waits for it.
    pub fn close(self) -> thread::Result<io::Result<()>> {
        self.inputs.send(Input::Close).ok();
        self.join()
    }
}

/// Draws until the run is over.
fn show(
    taken: &mut Taken,
    options: ScreenOptions,
    inputs: &Receiver<Input>,
    mut wish: impl FnMut(Wish),
) -> io::Result<()> {
    let mut state = State::new(options.mode);
    // A panic elsewhere has given the terminal back: its message stands there and must not be drawn over.
    while taken.is_ours() {
        taken.terminal().draw(|frame| render(frame, &state, options.theme))?;
        let Ok(first) = inputs.recv() else { return Ok(()) };
        // What has gathered is drawn once.
        for input in std::iter::once(first).chain(inputs.try_iter().take(INPUTS_MAX)) {
            match input {
                Input::Close => return Ok(()),
                Input::Resize => taken.terminal().autoresize()?,
                Input::Key(key) => {
                    if let Some(wanted) = state.key(key) {
                        wish(wanted);
                    }
                }
                Input::Event(event) => {
                    state.event(&event);
                    if matches!(*event, Event::Finished(_)) {
                        return Ok(());
                    }
                }
            }
        }
    }
    Ok(())
}

/// Reads the terminal until the screen is gone.
fn read_keys(inputs: &SyncSender<Input>, over: &AtomicBool) {
    while !over.load(Ordering::SeqCst) {
        match terminal_event::poll(KEY_POLL) {
            Ok(false) => continue,
            Ok(true) => {}
            // A terminal that is gone has no more keys; the run goes on without them.
            Err(_) => return,
        }
        let input = match terminal_event::read() {
            Ok(TerminalEvent::Key(key)) => Key::of(key).map(Input::Key),
            Ok(TerminalEvent::Resize(..)) => Some(Input::Resize),
            Ok(_) => None,
            Err(_) => return,
        };
        if input.is_some_and(|input| inputs.send(input).is_err()) {
            return;
        }
    }
}
