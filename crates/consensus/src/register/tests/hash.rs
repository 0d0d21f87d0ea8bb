//! The rolling hash covers everything that a command changes.

use super::*;
use crate::apply::StateHash;

/// Two registers with an attempt that runs; `differ` changes something in the second. The hashes after the command.
fn hashes(differ: impl Fn(&mut Register), command: impl Fn(Token, Token) -> (Token, Body)) -> [StateHash; 2] {
    [false, true].map(|differs| {
        let mut log = Log::new();
        let token = log.led(1);
        let worker = log.grant(9, 1);
        log.apply(token, assign(0, 1, worker, 1));
        if differs {
            differ(&mut log.applier.machine);
            log.applier.machine.recount();
        }
        let (token, body) = command(token, worker);
        log.apply(token, body);
        log.applier.proof().hash
    })
}

/// Something of the job that neither of the commands looks at.
fn attempt_of_other_vus(register: &mut Register) {
    let job = register.jobs.get_mut(&job(1)).unwrap();
    job.segment_mut("load", 0).unwrap().last_mut().vus = 11;
}

fn worker_with_other_promise(register: &mut Register) {
    register.workers.get_mut(&node(9)).unwrap().promised.add(segment(7), 0, 1);
}

#[test]
fn hash_covers_the_jobs_of_a_worker_that_is_gone_or_restarted() {
    let [one, other] = hashes(attempt_of_other_vus, |_, grant| (Token(0), worker_gone(9, grant)));
    assert_ne!(one, other, "gone");
    let [one, other] = hashes(worker_with_other_promise, |_, _| (Token(0), grant(9, 2)));
    assert_ne!(one, other, "restarted");
}

#[test]
fn hash_covers_the_worker_of_an_attempt_that_ends() {
    let [one, other] = hashes(worker_with_other_promise, |token, _| (token, attempt_end(0, 1)));
    assert_ne!(one, other);
}

#[test]
fn hash_covers_the_options_of_a_job() {
    let [one, other] = hashes(
        |register| register.jobs.get_mut(&job(1)).unwrap().options.on_isolation = OnIsolation::Finish,
        |token, _| (token, job_leader(1, 2)),
    );
    assert_ne!(one, other);
}

#[test]
fn equal_registers_have_equal_hashes() {
    let [one, other] = hashes(|_| {}, |_, grant| (Token(0), worker_gone(9, grant)));
    assert_eq!(one, other);
}
