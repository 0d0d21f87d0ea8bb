//! Keys: what each one does to the screen, and what it asks of the run.

use hyperscale_stats::event::Target;
use hyperscale_types::{Command, Rate, limits};

use crate::state::{Dialog, Mode, State};

/// A step of `+` and `-`: this share of what is wanted now, and at least one.
const STEP: f64 = 0.1;
/// Said in the result of a run that was cancelled from here.
const CANCEL_REASON: &str = "cancelled by the user";

/// What the person at the screen wants of the run.
#[derive(Clone, Debug, PartialEq)]
pub enum Wish {
    /// Ctrl-C: stop gracefully; the second time: now.
    Interrupt,
    /// Something that the engine does.
    Command(Command),
    /// Leave a replay, or a run that is over.
    Leave,
}

/// A key that means something here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A character, as typed.
    Char(char),
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Tab or right.
    Next,
    /// Shift-Tab or left.
    Previous,
    /// Up.
    Up,
    /// Down.
    Down,
    /// Ctrl-C.
    Interrupt,
}

impl State {
    /// Takes a key in.
    pub fn key(&mut self, key: Key) -> Option<Wish> {
        if key == Key::Interrupt {
            let leaves = self.mode == Mode::Replay || self.is_held();
            return Some(if leaves { Wish::Leave } else { Wish::Interrupt });
        }
        match self.dialog {
            Dialog::None if self.is_held() => self.last_key(key),
            Dialog::None => self.plain_key(key),
            Dialog::Help => {
                self.dialog = Dialog::None;
                None
            }
            Dialog::Cancel => self.answer(key),
        }
    }

    /// The run is over: one may look around, every other key leaves.
    fn last_key(&mut self, key: Key) -> Option<Wish> {
        match key {
            Key::Next | Key::Previous | Key::Down | Key::Up | Key::Char('s' | '?' | 'h') => {
                self.plain_key(key)
            }
            _ => Some(Wish::Leave),
        }
    }

    fn plain_key(&mut self, key: Key) -> Option<Wish> {
        match key {
            Key::Next => self.select(1),
            Key::Previous => self.select(-1),
            Key::Down => self.scroll_by(1),
            Key::Up => self.scroll_by(-1),
            Key::Char(' ' | 'f') => self.freeze(),
            Key::Char('s') => self.sort = self.sort.next(),
            Key::Char('?' | 'h') => self.dialog = Dialog::Help,
            Key::Char('q' | 'c') if self.mode == Mode::Replay => return Some(Wish::Leave),
            Key::Char('q' | 'c') => self.dialog = Dialog::Cancel,
            Key::Char('p' | '+' | '=' | '-') if self.mode == Mode::Replay => {
                self.say("a recorded run cannot be changed");
            }
            Key::Char('p') => return Some(self.toggle_pause()),
            Key::Char('+' | '=') => return self.change(1.0),
            Key::Char('-') => return self.change(-1.0),
            _ => {}
        }
        None
    }

    /// The question whether to cancel: only a clear yes is one.
    fn answer(&mut self, key: Key) -> Option<Wish> {
        match key {
            Key::Char('y' | 'Y') | Key::Enter => {
                self.dialog = Dialog::None;
                self.say("cancelling: no new steps, calls in flight may finish");
                Some(Wish::Command(Command::Cancel { reason: CANCEL_REASON.to_owned() }))
            }
            Key::Char('n' | 'N' | 'q' | 'c') | Key::Escape => {
                self.dialog = Dialog::None;
                None
            }
            _ => None,
        }
    }

    fn toggle_pause(&mut self) -> Wish {
        let paused = self.is_paused();
        self.wished.paused = Some(!paused);
        Wish::Command(if paused { Command::Resume } else { Command::Pause })
    }

    /// More or less load on the selected workflow.
    fn change(&mut self, direction: f64) -> Option<Wish> {
        let Some(at) = self.changeable() else {
            self.say("choose a running workflow first (tab)");
            return None;
        };
        let live = &self.newest()?.workflows[at];
        let name = live.name.clone();
        // Keys may come faster than snapshots: what was wished last counts.
        let before = self.wished.targets.get(&at).copied().or(live.target)?;
        let target = step(before, direction);
        self.wished.targets.insert(at, target);
        let workflow = Some(name);
        Some(Wish::Command(match target {
            Target::Vus(vus) => Command::SetVus { workflow, vus },
            Target::Rate(rate) => Command::SetRate { workflow, rate: Rate::per_second(rate) },
        }))
    }
}

fn step(before: Target, direction: f64) -> Target {
    match before {
        Target::Vus(vus) => {
            let step = (f64::from(vus) * STEP).round().max(1.0);
            Target::Vus((f64::from(vus) + direction * step).clamp(0.0, f64::from(limits::VUS_MAX)) as u32)
        }
        Target::Rate(rate) => {
            let step = (rate * STEP).round().max(1.0);
            Target::Rate((rate + direction * step).max(0.0).round())
        }
    }
}
