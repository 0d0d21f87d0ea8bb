//! The live screen as a face: events go to it, wishes come from it.

use std::io::{self, IsTerminal};

use hyperscale_engine::Event;
use hyperscale_tui::{Mode, Screen, ScreenOptions, Theme, Wish};
use tokio::sync::mpsc;

use super::Face;
use crate::errors::CommandError;
use crate::settings::Output;

/// Wishes waiting for the session. Nobody presses keys faster than it reads them.
const WISHES_MAX: usize = 64;

/// The screen of one run.
pub(crate) struct LiveScreen {
    screen: Screen,
}

/// What the person at the screen wants.
pub(crate) type Wishes = mpsc::Receiver<Wish>;

impl LiveScreen {
    /// Takes the terminal.
    pub(crate) fn start(mode: Mode, output: Output) -> Result<(Self, Wishes), CommandError> {
        let (sender, wishes) = mpsc::channel(WISHES_MAX);
        let options = ScreenOptions { theme: Theme::new(output.color), mode };
        // A wish too many is a key pressed in vain.
        let wish = move |wish| drop(sender.try_send(wish));
        let screen = Screen::start(options, wish).map_err(CommandError::Terminal)?;
        Ok((Self { screen }, wishes))
    }
}

impl Face for LiveScreen {
    fn event(&mut self, event: &Event) {
        self.screen.show(event.clone());
    }

    fn close(self: Box<Self>) -> Result<(), CommandError> {
        match self.screen.close() {
            Ok(outcome) => outcome.map_err(CommandError::Terminal),
            Err(_) => Err(CommandError::Face("screen")),
        }
    }
}

/// Whether there is a person at a terminal that a screen can be drawn on. Results go to stdout, so the screen is on stderr.
pub(crate) fn is_wanted(output: Output) -> bool {
    let capable = std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
    output.ui
        && !output.json
        && !output.quiet
        && capable
        && io::stderr().is_terminal()
        && io::stdin().is_terminal()
}
