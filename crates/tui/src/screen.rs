//! The screen while it is up: one queue for events and keys, one thread that owns state and terminal.
//!
//! ```text
//! Screen::show ──────┐
//!                    ├─► queue ─► thread `screen`: State, render
//! thread `keys` ─────┘               └─► wishes
//! ```
//! A frozen screen, and one that shows a recording, stays after the last event until a key is pressed. It never keeps
//! a program from ending: signals that end programs end it too, and so does the loss of the terminal.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;
use std::time::Duration;

use hyperscale_stats::event::Event;
use signal_hook::consts::{SIGINT, SIGTERM, SIGWINCH};
use signal_hook::{SigId, flag, low_level};

use crate::input::{Key, Wish};
use crate::keys::next_keys;
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
    /// Nobody will press a key any more.
    Deserted,
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
            Input::Deserted => f.write_str("Deserted"),
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
        let signals = Signals::listen()?;
        let mut taken = Taken::take()?;
        let keys = thread::Builder::new()
            .name("keys".to_owned())
            .spawn(move || read_keys(&key_inputs, &ended, &signals))?;
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

    /// Shows an event. After [`Event::Finished`] the screen goes down, unless it is held; then events go nowhere.
    pub fn show(&self, event: Event) {
        self.inputs.send(Input::Event(Box::new(event))).ok();
    }

    /// Waits until the screen goes down by itself: after the last event, or by a panic, which is the error.
    pub fn join(self) -> thread::Result<io::Result<()>> {
        self.shown.join()
    }

    /// Takes the screen down, if it still is up, and waits for it. One that is held stays until a key is pressed.
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
    let mut deserted = false;
    // A panic elsewhere has given the terminal back: its message stands there and must not be drawn over.
    while taken.is_ours() {
        let size = taken.terminal().size()?;
        state.resized(size.width, size.height);
        taken.terminal().draw(|frame| render(frame, &state, options.theme))?;
        let Ok(first) = inputs.recv() else { return Ok(()) };
        // What has gathered is drawn once.
        for input in std::iter::once(first).chain(inputs.try_iter().take(INPUTS_MAX)) {
            let mut last = false;
            match input {
                Input::Close => last = true,
                Input::Deserted => deserted = true,
                Input::Resize => taken.terminal().autoresize()?,
                Input::Key(key) => match state.key(key) {
                    Some(Wish::Leave) if state.is_held() => return Ok(()),
                    Some(wanted) => wish(wanted),
                    None => {}
                },
                Input::Event(event) => {
                    state.event(&event);
                    last = matches!(*event, Event::Finished(_));
                }
            }
            if last && !state.is_held() || deserted && state.is_held() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Reads the terminal until the screen is gone.
fn read_keys(inputs: &SyncSender<Input>, over: &AtomicBool, signals: &Signals) {
    while !over.load(Ordering::SeqCst) {
        let ended = Signals::came(&signals.ended).then_some(Input::Deserted);
        let resized = Signals::came(&signals.resized).then_some(Input::Resize);
        // A terminal that is gone has no more keys; the run goes on without them.
        let keys = next_keys(KEY_POLL);
        let is_gone = keys.is_err();
        let keys = keys.unwrap_or_default().into_iter().map(Input::Key);
        let mut all = ended.into_iter().chain(resized).chain(keys).chain(is_gone.then_some(Input::Deserted));
        if all.any(|input| inputs.send(input).is_err()) || is_gone {
            return;
        }
    }
}

/// Signals that end a program, and the one that tells of a new size. What the first mean for the run is decided elsewhere; a
/// screen only must not outlive them.
struct Signals {
    ended: Arc<AtomicBool>,
    resized: Arc<AtomicBool>,
    registered: Vec<SigId>,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        let (ended, resized) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let signals = [(SIGINT, &ended), (SIGTERM, &ended), (SIGWINCH, &resized)];
        let register = |(signal, flag): (_, &Arc<_>)| flag::register(signal, Arc::clone(flag));
        let registered = signals.into_iter().map(register).collect::<io::Result<_>>()?;
        Ok(Self { ended, resized, registered })
    }

    /// Whether one of these came since this was asked last.
    fn came(flag: &AtomicBool) -> bool {
        flag.swap(false, Ordering::SeqCst)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for id in self.registered.drain(..) {
            low_level::unregister(id);
        }
    }
}
