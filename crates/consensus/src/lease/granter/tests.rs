use super::*;
#[cfg(feature = "bugs")]
use crate::bugs::Bug;

const TTL: Duration = Duration::from_secs(15);

fn at(seconds: u64) -> Now {
    Now::after_start(Duration::from_secs(seconds))
}

fn leader() -> Granter<&'static str> {
    let mut granter = Granter::default();
    granter.granted(at(0), "w", Token(5), TTL);
    granter.lead(at(0));
    granter
}

fn claim(token: u64) -> Vec<Claim<&'static str>> {
    vec![Claim { key: "w", token: Token(token) }]
}

#[test]
fn only_the_leaders_clock_proposes_an_expiry() {
    let mut granter = leader();
    assert_eq!(granter.tick(at(14)), []);
    assert_eq!(granter.tick(at(15)), [Expiry { key: "w", token: Token(5) }]);
    let mut follower = leader();
    follower.follow();
    assert_eq!(follower.tick(at(1000)), []);
}

#[test]
fn leases_get_a_full_ttl_again_after_a_change_of_leader() {
    let mut granter = leader();
    granter.follow();
    granter.lead(at(14));
    assert_eq!(granter.tick(at(28)), []);
    assert_eq!(granter.tick(at(29)).len(), 1);
}

#[cfg(feature = "bugs")]
#[test]
fn bug_of_a_followers_clock_ends_a_lease_without_a_full_ttl() {
    let mut granter = Granter::with_bugs([Bug::LeaseExpiryOnFollowersClock].into_iter().collect());
    granter.granted(at(0), "w", Token(5), TTL);
    granter.lead(at(14));
    assert_eq!(granter.tick(at(15)).len(), 1);
}

#[test]
fn granter_counts_from_when_the_renewal_arrived() {
    let mut granter = leader();
    granter.renew(at(10), ReadId(1), claim(5)).unwrap();
    assert_eq!(granter.tick(at(24)), []);
    assert_eq!(granter.answer(ReadId(1)), [("w", Ok(TTL))]);
    assert_eq!(granter.tick(at(25)).len(), 1, "not from when it was answered");
}

#[test]
fn batch_is_answered_only_after_its_round() {
    let mut granter = leader();
    granter.renew(at(1), ReadId(1), claim(5)).unwrap();
    assert_eq!(granter.answer(ReadId(2)), [], "another round says nothing about it");
    granter.follow();
    assert_eq!(granter.answer(ReadId(1)), [], "nor does a round after a change of leader");
}

#[test]
fn claims_that_the_log_does_not_know_are_refused() {
    let mut granter = leader();
    granter.granted(at(0), "v", Token(9), TTL);
    let claims = vec![
        Claim { key: "nobody", token: Token(1) },
        Claim { key: "w", token: Token(4) },
        Claim { key: "v", token: Token(9) },
    ];
    granter.renew(at(1), ReadId(1), claims).unwrap();
    assert_eq!(
        granter.answer(ReadId(1)),
        [
            ("nobody", Err(LeaseError::NotHeld)),
            ("w", Err(LeaseError::Stale { current: Token(5) })),
            ("v", Ok(TTL)),
        ]
    );
    assert_eq!(granter.tick(at(15)), [Expiry { key: "w", token: Token(5) }], "a stale claim renews nothing");
}

#[test]
fn renewal_after_the_expiry_was_proposed_is_refused() {
    let mut granter = leader();
    granter.renew(at(1), ReadId(1), claim(5)).unwrap();
    granter.tick(at(16));
    granter.renew(at(16), ReadId(2), claim(5)).unwrap();
    assert_eq!(granter.answer(ReadId(1)), [("w", Err(LeaseError::Ending))]);
    assert_eq!(granter.answer(ReadId(2)), [("w", Err(LeaseError::Ending))]);
    assert_eq!(granter.tick(at(17)).len(), 1, "proposed again until it is applied");
    granter.ended(&"w", Token(5));
    assert_eq!(granter.tick(at(30)), []);
}

#[test]
fn former_lease_runs_to_its_end_and_is_not_renewed() {
    let mut granter = leader();
    granter.granted(at(4), "w", Token(8), TTL);
    granter.renew(at(10), ReadId(1), [claim(5), claim(8)].concat()).unwrap();
    let stale = LeaseError::Stale { current: Token(8) };
    assert_eq!(granter.answer(ReadId(1)), [("w", Err(stale)), ("w", Ok(TTL))]);
    assert_eq!(granter.tick(at(14)), []);
    assert_eq!(granter.tick(at(15)), [Expiry { key: "w", token: Token(5) }]);
    granter.ended(&"w", Token(5));
    assert_eq!(granter.tick(at(24)), []);
    assert_eq!(granter.tick(at(25)), [Expiry { key: "w", token: Token(8) }], "and so does the new one");
    granter.follow();
    granter.lead(at(30));
    assert_eq!(granter.tick(at(45)).len(), 1, "former ones that ended do not come back");
}

#[test]
fn former_lease_of_a_snapshot_gets_a_full_ttl() {
    let mut granter = Granter::default();
    granter.superseded(at(0), "w", Token(5), TTL);
    granter.granted(at(0), "w", Token(8), TTL);
    granter.lead(at(10));
    assert_eq!(granter.tick(at(24)), []);
    assert_eq!(granter.tick(at(25)).len(), 2);
}

#[test]
fn follower_renews_nothing() {
    let mut granter: Granter<&str> = Granter::default();
    assert_eq!(granter.renew(at(0), ReadId(1), claim(5)), Err(LeaseError::NotLeader));
}

#[test]
fn batches_are_bounded() {
    let mut granter = leader();
    for number in 0..BATCHES_MAX as u64 {
        granter.renew(at(1), ReadId(number), Vec::new()).unwrap();
    }
    assert_eq!(granter.renew(at(1), ReadId(1 << 40), Vec::new()), Err(LeaseError::Overloaded));
}
