//! Key by key: what each does to the screen and what it asks of the run.

use hyperscale_stats::event::{Event, Target};
use hyperscale_stats::result::Status;
use hyperscale_tui::{Key, Mode, State, Theme, Wish};
use hyperscale_types::{Command, Rate};

use crate::frames::{frame, text};
use crate::runs::{BROWSE, CHECKOUT, Part, REPORT, events, name, snapshot};

fn running(parts: &[&Part]) -> State {
    let mut state = State::new(Mode::Live);
    for event in &events(parts, 20) {
        state.event(event);
    }
    state
}

fn shown(state: &State) -> String {
    text(&frame(state, Theme::new(false), 120, 40))
}

#[test]
fn ctrl_c_is_handed_on_whatever_is_open() {
    let mut state = running(&[&BROWSE]);
    assert_eq!(state.key(Key::Interrupt), Some(Wish::Interrupt));
    state.key(Key::Char('?'));
    assert_eq!(state.key(Key::Interrupt), Some(Wish::Interrupt));
}

#[test]
fn cancel_asks_and_only_a_yes_is_a_yes() {
    let cancel = Wish::Command(Command::Cancel { reason: "cancelled by the user".into() });
    for open in ['q', 'c'] {
        for no in [Key::Char('n'), Key::Escape, Key::Char('q')] {
            let mut state = running(&[&BROWSE]);
            assert_eq!(state.key(Key::Char(open)), None);
            assert!(shown(&state).contains("Cancel the run?"));
            assert_eq!(state.key(Key::Char('x')), None);
            assert!(shown(&state).contains("Cancel the run?"), "other keys answer nothing");
            assert_eq!(state.key(no), None);
            assert!(!shown(&state).contains("Cancel the run?"));
        }
        for yes in [Key::Char('y'), Key::Enter] {
            let mut state = running(&[&BROWSE]);
            state.key(Key::Char(open));
            assert_eq!(state.key(yes), Some(cancel.clone()));
            assert!(shown(&state).contains("cancelling"));
        }
    }
}

#[test]
fn pause_and_resume_take_turns_even_before_the_next_snapshot() {
    let mut state = running(&[&BROWSE]);
    assert_eq!(state.key(Key::Char('p')), Some(Wish::Command(Command::Pause)));
    assert!(shown(&state).contains("paused"));
    assert_eq!(state.key(Key::Char('p')), Some(Wish::Command(Command::Resume)));
    let mut paused = snapshot(&[&BROWSE], 21);
    paused.paused = true;
    state.event(&Event::Snapshot(Box::new(paused)));
    assert_eq!(state.key(Key::Char('p')), Some(Wish::Command(Command::Resume)));
}

#[test]
fn plus_and_minus_change_users_of_the_only_workflow_and_add_up() {
    let vus = |vus| Some(Wish::Command(Command::SetVus { workflow: Some(name("Browse")), vus }));
    let mut state = running(&[&BROWSE]);
    assert_eq!(state.key(Key::Char('+')), vus(55));
    assert_eq!(state.key(Key::Char('=')), vus(61), "from what was wished, not from the last snapshot");
    assert_eq!(state.key(Key::Char('-')), vus(55));
    let mut changed = snapshot(&[&BROWSE], 21);
    changed.workflows[0].target = Some(Target::Vus(3));
    state.event(&Event::Snapshot(Box::new(changed)));
    assert_eq!(state.key(Key::Char('-')), vus(2), "at least one");
}

#[test]
fn load_never_falls_below_zero() {
    let mut state = running(&[&BROWSE]);
    let mut none = snapshot(&[&BROWSE], 21);
    none.workflows[0].target = Some(Target::Vus(0));
    state.event(&Event::Snapshot(Box::new(none)));
    let wish = state.key(Key::Char('-'));
    assert_eq!(wish, Some(Wish::Command(Command::SetVus { workflow: Some(name("Browse")), vus: 0 })));
}

#[test]
fn with_several_workflows_the_selected_one_is_changed() {
    let mut state = running(&[&BROWSE, &CHECKOUT, &REPORT]);
    assert_eq!(state.key(Key::Char('+')), None);
    assert!(shown(&state).contains("choose a running workflow first"));
    state.key(Key::Next);
    state.key(Key::Next);
    let rate = Command::SetRate { workflow: Some(name("Checkout")), rate: Rate::per_second(220.0) };
    assert_eq!(state.key(Key::Char('+')), Some(Wish::Command(rate)));
    state.key(Key::Next);
    assert_eq!(state.key(Key::Char('+')), None, "one that has not begun has no load to change");
}

#[test]
fn tab_goes_round_in_both_directions() {
    let mut state = running(&[&BROWSE, &CHECKOUT]);
    let all = shown(&state);
    assert!(all.contains("Browse.home") && all.contains("Checkout.pay"));
    state.key(Key::Next);
    assert!(shown(&state).contains(" home") && !shown(&state).contains(" pay"));
    state.key(Key::Previous);
    assert_eq!(shown(&state), all);
    state.key(Key::Previous);
    assert!(shown(&state).contains(" pay") && !shown(&state).contains(" home"));
    state.key(Key::Next);
    assert_eq!(shown(&state), all);
}

#[test]
fn frozen_screen_stands_still_and_catches_up() {
    for key in [' ', 'f'] {
        let mut state = running(&[&BROWSE]);
        state.key(Key::Char(key));
        let before = shown(&state);
        assert!(before.contains("frozen"));
        let mut newer = snapshot(&[&BROWSE], 25);
        newer.paused = true;
        state.event(&Event::Snapshot(Box::new(newer)));
        assert_eq!(shown(&state), before, "charts, header and numbers");
        state.key(Key::Char(key));
        let after = shown(&state);
        assert!(
            after.contains("25.0s of") && after.contains("paused") && !after.contains("frozen"),
            "{after}"
        );
        let requests = |text: &str| text.lines().find(|line| line.contains(" home ")).unwrap().to_owned();
        assert_ne!(requests(&after), requests(&before));
    }
}

fn finished() -> Event {
    let mut result = snapshot(&[&BROWSE], 21).result;
    (result.status, result.is_final) = (Status::Completed, true);
    Event::Finished(Box::new(result))
}

#[test]
fn frozen_screen_stays_when_the_run_ends_until_a_key_leaves_it() {
    let mut state = running(&[&BROWSE]);
    state.key(Key::Char(' '));
    let without_keys = |text: String| text.lines().rev().skip(1).map(str::to_owned).collect::<Vec<_>>();
    let before = without_keys(shown(&state));
    state.event(&finished());
    assert_eq!(without_keys(shown(&state)), before);
    assert!(shown(&state).contains("the run is over"));
    for look in [Key::Next, Key::Previous, Key::Up, Key::Down, Key::Char('s')] {
        assert_eq!(state.key(look), None);
    }
    for leave in [Key::Char('q'), Key::Char(' '), Key::Enter, Key::Escape, Key::Interrupt] {
        assert_eq!(state.key(leave), Some(Wish::Leave));
    }
}

#[test]
fn replay_shows_its_end_until_a_key_leaves_it() {
    let mut state = State::new(Mode::Replay);
    for event in &events(&[&BROWSE], 5) {
        state.event(event);
    }
    state.event(&finished());
    assert!(shown(&state).contains("completed") && shown(&state).contains("the run is over"));
    assert_eq!(state.key(Key::Char('?')), None);
    assert_eq!(state.key(Key::Escape), None, "closes the help");
    assert_eq!(state.key(Key::Escape), Some(Wish::Leave));
}

#[test]
fn s_sorts_by_count_then_failed_then_p99_then_as_planned() {
    let mut state = running(&[&CHECKOUT]);
    let order = |state: &State| {
        let text = shown(state);
        text.find(" cart").unwrap() < text.find(" pay").unwrap()
    };
    assert!(order(&state));
    state.key(Key::Char('s'));
    assert!(shown(&state).contains("by count") && order(&state), "cart was called more often: it failed too");
    state.key(Key::Char('s'));
    assert!(shown(&state).contains("by failed") && order(&state));
    state.key(Key::Char('s'));
    assert!(shown(&state).contains("by p99") && !order(&state), "pay is slower");
    state.key(Key::Char('s'));
    assert!(!shown(&state).contains(" by ") && order(&state));
}

#[test]
fn arrows_scroll_steps_that_do_not_fit() {
    let mut state = running(&[&BROWSE, &CHECKOUT, &REPORT]);
    state.resized(80, 20);
    let small = |state: &State| text(&frame(state, Theme::new(false), 80, 20));
    let before = small(&state);
    assert!(before.contains("(↑↓)"), "{before}");
    state.key(Key::Down);
    assert_ne!(small(&state), before);
    state.key(Key::Up);
    assert_eq!(small(&state), before);
}

#[test]
fn up_goes_up_however_often_down_was_pressed() {
    let mut state = running(&[&BROWSE, &CHECKOUT, &REPORT]);
    state.resized(80, 20);
    let small = |state: &State| text(&frame(state, Theme::new(false), 80, 20));
    (0..20).for_each(|_| drop(state.key(Key::Down)));
    let end = small(&state);
    assert!(end.contains("of 6 (↑↓)") && end.contains("NightlyReport.export"), "{end}");
    state.key(Key::Up);
    assert_ne!(small(&state), end);
    state.resized(80, 60);
    state.resized(80, 20);
    assert!(small(&state).contains("plan, 1–"), "what fits is not scrolled");
}

#[test]
fn any_key_closes_the_help() {
    for key in [Key::Char('x'), Key::Escape, Key::Char('?')] {
        let mut state = running(&[&BROWSE]);
        state.key(Key::Char('?'));
        assert!(shown(&state).contains("this help"));
        assert_eq!(state.key(key), None);
        assert!(!shown(&state).contains("this help"));
    }
}

#[test]
fn replay_can_be_left_but_not_changed() {
    let mut state = State::new(Mode::Replay);
    for event in &events(&[&BROWSE], 5) {
        state.event(event);
    }
    for key in ['+', '-', 'p'] {
        assert_eq!(state.key(Key::Char(key)), None);
        assert!(shown(&state).contains("cannot be changed"));
    }
    assert_eq!(state.key(Key::Char('q')), Some(Wish::Leave));
    assert_eq!(state.key(Key::Interrupt), Some(Wish::Leave));
}
