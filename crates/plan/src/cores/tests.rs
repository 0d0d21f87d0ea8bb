use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// `name priority vus [setup]`, one claim per line.
fn claims(table: &str) -> Vec<Claim> {
    let claim = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (_, priority) = Priority::WORDS.into_iter().find(|(word, _)| *word == words[1]).unwrap();
        Claim {
            name: words[0].parse().unwrap(),
            priority,
            test: words.get(3).is_none(),
            vus: words[2].parse().unwrap(),
        }
    };
    table.lines().map(str::trim).filter(|line| !line.is_empty()).map(claim).collect()
}

/// `name:cores` of a batch, in the order of rank.
fn batch(table: &str, total: u32, free: u32) -> String {
    let claims = claims(table);
    let grant = |grant: &Grant| format!("{}:{}", claims[grant.index].name, grant.cores);
    plan_batch(&claims, total, free).iter().map(grant).collect::<Vec<_>>().join(" ")
}

#[test]
fn least_and_most_cores_by_priority() {
    for (total, rows) in [
        (1, [("low", 1, 1), ("auto", 1, 1), ("normal", 1, 1), ("high", 1, 1), ("exclusive", 1, 1)]),
        (2, [("low", 1, 1), ("auto", 1, 2), ("normal", 1, 2), ("high", 2, 2), ("exclusive", 2, 2)]),
        (6, [("low", 1, 2), ("auto", 1, 6), ("normal", 2, 5), ("high", 5, 6), ("exclusive", 6, 6)]),
        (8, [("low", 1, 2), ("auto", 1, 8), ("normal", 2, 6), ("high", 6, 8), ("exclusive", 8, 8)]),
        (
            100,
            [
                ("low", 1, 25),
                ("auto", 1, 100),
                ("normal", 25, 75),
                ("high", 75, 100),
                ("exclusive", 100, 100),
            ],
        ),
    ] {
        for (word, least, most) in rows {
            let claim = &claims(&format!("A {word} 50000"))[0];
            assert_eq!(claim.bounds(total), Bounds { least, most }, "{word} of {total}");
        }
    }
}

#[test]
fn cores_are_capped_by_vus_and_non_test_gets_one() {
    assert_eq!(claims("A high 3")[0].bounds(8), Bounds { least: 3, most: 3 });
    assert_eq!(claims("A exclusive 5000 setup")[0].bounds(8), Bounds { least: 1, most: 1 });
}

#[test]
fn left_over_cores_go_to_higher_priorities_first() {
    let table = "
        Low     low     1000
        Auto    auto    1000
        Normal  normal  1000";
    assert_eq!(batch(table, 8, 8), "Normal:6 Auto:1 Low:1");
    assert_eq!(batch(table, 8, 5), "Normal:3 Auto:1 Low:1");
    assert_eq!(batch(table, 8, 4), "Normal:2 Auto:1 Low:1");
    assert_eq!(batch(table, 8, 3), "", "waits until its least cores are free");
}

#[test]
fn equals_share_left_over_cores() {
    assert_eq!(batch("B auto 100\nA auto 100\nC auto 2", 8, 8), "A:3 B:3 C:2");
}

#[test]
fn rank_is_priority_then_test_then_name() {
    let table = "
        Zoo    high    2
        Setup  normal  5    setup
        Beta   normal  2
        Alpha  normal  2";
    assert_eq!(batch(table, 16, 16), "Zoo:2 Alpha:2 Beta:2 Setup:1");
}

#[test]
fn exclusive_runs_alone_and_reserves_everything() {
    let table = "Only exclusive 3\nOther high 100";
    let grants = plan_batch(&claims(table), 8, 8);
    assert_eq!(grants, [Grant { index: 0, cores: 3, reserved: 8 }]);
    assert_eq!(batch(table, 8, 7), "", "waits for the whole machine, and is not overtaken");
}

#[test]
fn a_waiting_high_workflow_is_not_overtaken() {
    assert_eq!(batch("A high 100\nB high 100\nC low 100", 8, 8), "A:8");
    assert_eq!(batch("A high 100\nB auto 100", 8, 4), "");
}

#[test]
fn what_does_not_fit_waits_for_the_next_batch() {
    let table = "A normal 99\nB normal 99\nC normal 99\nD normal 99\nE normal 99\nF low 99";
    assert_eq!(batch(table, 8, 8), "A:2 B:2 C:2 D:2");
    assert_eq!(batch(table, 9, 9), "A:3 B:3 C:3", "9 cores: a quarter is 3");
    assert_eq!(
        batch("A high 99\nB normal 99\nC low 99", 10, 10),
        "A:9 C:1",
        "8 + 3 is too much, 8 + 1 is not"
    );
}

fn claim() -> impl Strategy<Value = Claim> {
    let priority = (0..Priority::WORDS.len()).prop_map(|i| Priority::WORDS[i].1);
    ("[A-Z][a-z]{0,3}", priority, any::<bool>(), 0u32..40).prop_map(|(name, priority, test, vus)| Claim {
        name: name.parse().unwrap(),
        priority,
        test,
        vus,
    })
}

proptest! {
    #[test]
    fn a_batch_stays_within_what_is_free_and_each_within_its_bounds(
        ready in vec(claim(), 0..12), total in 0u32..40, used in 0u32..40,
    ) {
        let free = total.saturating_sub(used);
        let grants = plan_batch(&ready, total, free);
        prop_assert!(grants.iter().map(|grant| grant.reserved).sum::<u32>() <= free);
        for grant in &grants {
            let bounds = ready[grant.index].bounds(total);
            prop_assert!(bounds.least <= grant.cores && grant.cores <= bounds.most);
            prop_assert!(grant.cores <= grant.reserved);
        }
        let mut indices: Vec<_> = grants.iter().map(|grant| grant.index).collect();
        indices.sort_unstable();
        indices.dedup();
        prop_assert_eq!(indices.len(), grants.len(), "nobody is started twice");
    }

    #[test]
    fn the_highest_rank_always_starts_on_an_idle_machine(ready in vec(claim(), 1..12), total in 1u32..40) {
        let grants = plan_batch(&ready, total, total);
        let highest = ready.iter().map(|claim| claim.priority).max().unwrap();
        prop_assert!(!grants.is_empty());
        prop_assert_eq!(ready[grants[0].index].priority, highest);
    }

    #[test]
    fn batch_after_batch_everything_runs(mut ready in vec(claim(), 0..12), total in 1u32..40) {
        while !ready.is_empty() {
            let grants = plan_batch(&ready, total, total);
            prop_assert!(!grants.is_empty());
            let mut indices: Vec<_> = grants.iter().map(|grant| grant.index).collect();
            indices.sort_unstable();
            for index in indices.into_iter().rev() {
                ready.swap_remove(index);
            }
        }
    }

    #[test]
    fn left_over_cores_are_not_wasted(ready in vec(claim(), 1..8), total in 1u32..40) {
        let grants = plan_batch(&ready, total, total);
        let used: u32 = grants.iter().map(|grant| grant.reserved).sum();
        let wants_more = |grant: &Grant| grant.cores < ready[grant.index].bounds(total).most;
        prop_assert!(used == total || !grants.iter().any(wants_more));
    }
}
