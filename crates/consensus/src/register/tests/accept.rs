//! Accepting: the table of `accept`.

use super::*;

fn part(number: u8, part: u64, gate_token: u64) -> Body {
    let (part, gate_token) = (Token(part), Token(gate_token));
    let origin = Some(Origin { datacenter: "eu-1".to_owned(), part, gate_token });
    Body::JobAccept(Box::new(Accept { origin, ..accepted(number, "key", b"plan") }))
}

fn first(number: u8) -> Outcome {
    Outcome::Accepted { job: job(number), is_repeat: false }
}

fn again(number: u8) -> Outcome {
    Outcome::Accepted { job: job(number), is_repeat: true }
}

fn gate_token(log: &Log) -> Option<Token> {
    log.register().job(job(1)).unwrap().gate_token()
}

#[test]
fn managers_log_the_token_of_the_gate_beside_their_own() {
    let mut log = Log::new();
    log.apply(Token(0), part(1, 399, 400));
    let own = log.lead(1, Token(0), 1);
    let job = log.register().job(job(1)).unwrap();
    assert_eq!((job.gate_token(), job.token()), (Some(Token(400)), own));
    assert!(own < Token(400), "tokens of two groups are not compared");
}

#[test]
fn lower_gate_token_is_refused_with_the_current_one_and_a_higher_one_is_in_force_from_then_on() {
    let mut log = Log::new();
    assert_eq!(log.apply(Token(0), part(1, 30, 40)), first(1));
    assert_eq!(log.apply(Token(0), part(1, 30, 40)), again(1));
    assert_eq!(log.apply(Token(0), part(1, 30, 50)), again(1));
    assert_eq!(gate_token(&log), Some(Token(50)));
    for token in [40, 49] {
        let refused = Outcome::Refused(CommandRefusal::StaleGateToken { current: Token(50) });
        assert_eq!(log.apply(Token(0), part(1, 30, token)), refused);
        assert_eq!(log.apply(Token(0), part(1, 60, token)), refused, "for a newer part too");
    }
    assert_eq!(gate_token(&log), Some(Token(50)));
}

#[test]
fn part_is_accepted_once_per_token_and_a_stale_one_is_refused() {
    let mut log = Log::new();
    log.apply(Token(0), part(1, 30, 40));
    let token = log.lead(1, Token(0), 1);
    let stale = Outcome::Refused(CommandRefusal::StalePart { current: Token(30) });
    assert_eq!(log.apply(Token(0), part(1, 29, 41)), stale);
    assert_eq!(gate_token(&log), Some(Token(40)), "what is refused changes nothing");
    let open = Outcome::Refused(CommandRefusal::NotEnded);
    assert_eq!(log.apply(Token(0), part(1, 35, 41)), open, "the older try has to end first");
    log.apply(token, job_end(EndStatus::Failed));
    assert_eq!(log.apply(Token(0), part(1, 30, 40)), again(1), "an ended part stays ended");
    assert_eq!(log.apply(Token(0), part(1, 35, 41)), first(1));
    let job = log.register().job(job(1)).unwrap();
    assert_eq!((job.end.is_some(), job.token()), (false, Token(0)), "it begins anew");
    let stale = Outcome::Refused(CommandRefusal::StalePart { current: Token(35) });
    assert_eq!(log.apply(Token(0), part(1, 30, 41)), stale);
    assert_eq!(log.register().jobs().len(), 1);
}

#[test]
fn key_that_comes_again_with_another_job_of_the_gates_takes_the_place_of_the_ended_one() {
    let mut log = Log::new();
    log.apply(Token(0), part(1, 30, 40));
    let conflict = Outcome::Refused(CommandRefusal::KeyConflict);
    assert_eq!(log.apply(Token(0), part(2, 30, 40)), conflict, "a part is of one job");
    let token = log.lead(1, Token(0), 1);
    log.apply(token, job_end(EndStatus::Completed));
    assert_eq!(log.apply(Token(0), part(2, 70, 80)), first(2));
    assert_eq!(log.register().job(job(1)), None);
    assert_eq!(log.register().job_of_key("key"), Some(job(2)));
}

#[test]
fn key_is_not_used_with_gates_and_without_or_for_two_datacenters() {
    let conflict = Outcome::Refused(CommandRefusal::KeyConflict);
    let mut log = Log::new();
    log.apply(Token(0), accept(1, "key", b"plan"));
    assert_eq!(log.apply(Token(0), part(1, 30, 40)), conflict);
    let mut log = Log::new();
    log.apply(Token(0), part(1, 30, 40));
    assert_eq!(log.apply(Token(0), accept(1, "key", b"plan")), conflict);
    let origin = Some(Origin { datacenter: "us-1".to_owned(), part: Token(31), gate_token: Token(40) });
    let other = Accept { origin, ..accepted(1, "key", b"plan") };
    assert_eq!(log.apply(Token(0), Body::JobAccept(Box::new(other))), conflict);
}

#[test]
fn gates_do_not_accept_parts() {
    let mut log = Log::of(Group::Gates);
    assert_eq!(log.apply(Token(0), part(1, 30, 40)), Outcome::Refused(CommandRefusal::WrongGroup));
}

#[test]
fn half_a_part_of_the_gates_job_cannot_be_read() {
    for (datacenter, part, gate_token) in
        [("", 30, 40), ("eu-1", 0, 40), ("eu-1", 30, 0), ("", 0, 40), ("", 30, 0), ("eu-1", 0, 0)]
    {
        let origin =
            Origin { datacenter: datacenter.to_owned(), part: Token(part), gate_token: Token(gate_token) };
        let accept = Accept { origin: Some(origin), ..accepted(1, "key", b"plan") };
        let command = Command { token: Token(0), body: Body::JobAccept(Box::new(accept)) };
        assert_eq!(Command::decode(&command.encode()), Err(CommandError("half a part of the gates' job")));
    }
}
