use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// `name priority vus [setup]`, one claim per line.
fn claims(table: &str) -> Vec<Claim> {
    let claim = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        Claim {
            name: words[0].parse().unwrap(),
            priority: priority(words[1]),
            test: words.get(3).is_none(),
            vus: words[2].parse().unwrap(),
        }
    };
    table.lines().map(str::trim).filter(|line| !line.is_empty()).map(claim).collect()
}

fn priority(word: &str) -> Priority {
    Priority::WORDS.into_iter().find(|(known, _)| *known == word).unwrap().1
}

/// The batch with these groups (`priority:cores`) running: `name:cores`, a shared group as `[A:2@0 B:1@1]:2`.
fn batch_beside(running: &[(&str, u32)], table: &str, total: u32, free: u32) -> String {
    let claims = claims(table);
    let running: Vec<Claimed> =
        running.iter().map(|(word, cores)| Claimed { priority: priority(word), cores: *cores }).collect();
    let name = |member: &Member| &claims[member.index].name;
    let group = |group: &CoreGroup| match &*group.members {
        [member] => format!("{}:{}", name(member), member.cores),
        members => {
            let members = members.iter().map(|m| format!("{}:{}@{}", name(m), m.cores, m.first));
            format!("[{}]:{}", members.collect::<Vec<_>>().join(" "), group.cores)
        }
    };
    let batch = plan_batch(Pool { total, free }, &running, &claims);
    batch.groups.iter().map(group).collect::<Vec<_>>().join(" ")
}

fn batch(table: &str, total: u32, free: u32) -> String {
    batch_beside(&[], table, total, free)
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
    for word in ["low", "auto", "normal", "high", "exclusive"] {
        let bounds = claims(&format!("A {word} 3"))[0].bounds(0);
        assert_eq!(bounds, Bounds { least: 1, most: 1 }, "nothing begins without a core: {word}");
    }
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
fn equals_divide_left_over_cores() {
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
    let batch = plan_batch(Pool { total: 8, free: 8 }, &[], &claims(table));
    let members = vec![Member { index: 0, first: 0, cores: 3 }];
    assert_eq!(batch.groups, [CoreGroup { cores: 8, release: Release::LastSegment, members }]);
    assert_eq!(batch.waiting, [Waiting { index: 1, least: 6 }]);
    let waits = plan_batch(Pool { total: 8, free: 7 }, &[], &claims(table));
    assert_eq!(waits.groups, [], "waits for all cores, and is not overtaken");
    assert_eq!(waits.waiting.len(), 2);
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

#[test]
fn more_auto_workflows_than_cores_share_them() {
    let four = "A auto 50\nB auto 50\nC auto 50\nD auto 50";
    assert_eq!(batch(four, 2, 2), "[A:2@0 B:2@0 C:2@0 D:2@0]:2", "they ran two by two once");
    assert_eq!(batch(four, 1, 1), "[A:1@0 B:1@0 C:1@0 D:1@0]:1");
    assert_eq!(batch(four, 4, 4), "A:1 B:1 C:1 D:1", "enough cores: no group");
    assert_eq!(batch(four, 4, 3), "", "by total, not by what is free: they wait and start together");
    assert_eq!(batch(four, 2, 1), "", "the size of a group does not depend on what happens to be free");
}

#[test]
fn members_that_need_fewer_cores_are_balanced_in_the_group() {
    let table = "A auto 50\nB auto 1\nC auto 1\nD auto 2\nE auto 9 setup";
    assert_eq!(batch(table, 4, 4), "[A:4@0 B:1@2 C:1@3 D:2@0 E:1@0]:4");
}

#[test]
fn explicit_priorities_keep_their_reservation_beside_a_group() {
    let autos = "A auto 9\nB auto 9\nC auto 9";
    assert_eq!(batch(&format!("{autos}\nN normal 9"), 4, 4), "N:1 A:1 B:1 C:1");
    assert_eq!(batch(&format!("{autos}\nN normal 9"), 3, 3), "N:1 [A:2@0 B:2@0 C:2@0]:2");
    assert_eq!(batch(&format!("{autos}\nL low 9"), 3, 3), "[A:2@0 B:2@0 C:2@0]:2 L:1");
    assert_eq!(batch(&format!("{autos}\nL low 9\nM low 9"), 2, 2), "[A:1@0 B:1@0 C:1@0]:1 L:1");
    assert_eq!(batch(&format!("{autos}\nL low 9"), 1, 1), "[A:1@0 B:1@0 C:1@0]:1", "low is below auto");
    assert_eq!(batch(&format!("{autos}\nH high 9"), 2, 2), "H:2", "nothing is left: they wait");
}

#[test]
fn running_explicit_priorities_are_not_part_of_a_group() {
    let autos = "A auto 9\nB auto 9";
    assert_eq!(batch_beside(&[("low", 1)], autos, 2, 1), "[A:1@0 B:1@0]:1");
    assert_eq!(batch_beside(&[("auto", 1)], autos, 2, 1), "", "waits for the other auto workflow");
    assert_eq!(batch_beside(&[("high", 2)], autos, 2, 0), "");
    assert_eq!(batch_beside(&[("normal", 2)], autos, 8, 6), "A:3 B:3");
}

#[test]
fn a_group_is_split_over_the_fewest_workers() {
    let of = |cores, free: &[u32]| {
        let parts = split_over_workers(cores, free, Placement::Fewest)?;
        Some(parts.iter().map(|part| (part.worker, part.cores)).collect::<Vec<_>>())
    };
    assert_eq!(of(4, &[2, 4, 8]), Some(vec![(1, 4)]), "the preferred one of those that have the cores");
    assert_eq!(of(5, &[2, 4, 8]), Some(vec![(2, 5)]));
    assert_eq!(of(10, &[2, 4, 8]), Some(vec![(2, 8), (0, 2)]));
    assert_eq!(of(13, &[2, 4, 8]), Some(vec![(2, 8), (1, 4), (0, 1)]));
    assert_eq!(of(15, &[2, 4, 8]), None);
    let spread = split_over_workers(7, &[2, 4, 0, 8], Placement::Spread).unwrap();
    let spread: Vec<_> = spread.iter().map(|part| (part.worker, part.first, part.cores)).collect();
    assert_eq!(spread, [(0, 0, 2), (1, 2, 3), (3, 5, 2)]);
}

#[test]
fn degraded_workers_get_what_healthy_ones_have_no_cores_for() {
    let of = |cores, workers: &[(u32, bool)], placement| {
        let mut tiers = Tiers::default();
        for (free, is_degraded) in workers {
            tiers.push(*free, *is_degraded);
        }
        let parts = split_over_tiers(cores, &tiers, placement)?;
        Some(parts.iter().map(|part| (part.worker, part.first, part.cores)).collect::<Vec<_>>())
    };
    let workers = [(8, true), (4, false), (2, false)];
    assert_eq!(of(4, &workers, Placement::Fewest), Some(vec![(1, 0, 4)]), "though another has more");
    assert_eq!(of(6, &workers, Placement::Fewest), Some(vec![(1, 0, 4), (2, 4, 2)]));
    assert_eq!(of(9, &workers, Placement::Fewest), Some(vec![(1, 0, 4), (2, 4, 2), (0, 6, 3)]));
    assert_eq!(of(4, &workers, Placement::Spread), Some(vec![(1, 0, 2), (2, 2, 2)]));
    assert_eq!(of(15, &workers, Placement::Fewest), None);
    assert_eq!(of(3, &[(4, true)], Placement::Fewest), Some(vec![(0, 0, 3)]));
}

#[test]
fn segments_of_a_member_say_where_its_cores_are() {
    let parts = split_over_workers(4, &[3, 1], Placement::Fewest).unwrap();
    let member = Member { index: 0, first: 1, cores: 3 };
    let segment = |segment: &Segment| {
        (
            segment.worker,
            segment.offset,
            segment.share.first_core,
            segment.share.cores,
            segment.share.own_vus(),
        )
    };
    let found: Vec<_> = segments(&member, &parts, 10).iter().map(segment).collect();
    assert_eq!(found, [(0, 1, 0, 2, 7), (1, 0, 2, 1, 3)]);
}

fn claim() -> impl Strategy<Value = Claim> {
    let priority = (0..Priority::WORDS.len()).prop_map(|i| Priority::WORDS[i].1);
    let often_auto = prop_oneof![priority, Just(Priority::Auto)];
    ("[A-Z][a-z]{0,3}", often_auto, any::<bool>(), 0u32..40).prop_map(|(name, priority, test, vus)| Claim {
        name: name.parse().unwrap(),
        priority,
        test,
        vus,
    })
}

fn indices(batch: &Batch) -> Vec<usize> {
    batch.groups.iter().flat_map(|group| &group.members).map(|member| member.index).collect()
}

fn idle(total: u32) -> Pool {
    Pool { total, free: total }
}

proptest! {
    #[test]
    fn a_batch_stays_within_what_is_free_and_each_within_its_bounds(
        ready in vec(claim(), 0..12), total in 0u32..40, used in 0u32..40,
    ) {
        let free = total.saturating_sub(used);
        let batch = plan_batch(Pool { total, free }, &[], &ready);
        prop_assert!(batch.groups.iter().map(|group| group.cores).sum::<u32>() <= free);
        for group in &batch.groups {
            for member in &group.members {
                let bounds = ready[member.index].bounds(total);
                prop_assert!(bounds.least <= member.cores && member.cores <= bounds.most);
                prop_assert!(member.first + member.cores <= group.cores);
            }
        }
        let mut all = indices(&batch);
        all.extend(batch.waiting.iter().map(|waiting| waiting.index));
        all.sort_unstable();
        prop_assert_eq!(all, (0..ready.len()).collect::<Vec<_>>(), "each starts once or waits");
    }

    #[test]
    fn auto_workflows_start_together(
        ready in vec(claim(), 0..12), total in 0u32..40, used in 0u32..40,
    ) {
        let batch = plan_batch(Pool { total, free: total.saturating_sub(used) }, &[], &ready);
        let auto = |index: &usize| ready[*index].priority == Priority::Auto;
        let (starting, waiting) = (indices(&batch), batch.waiting.iter().map(|waiting| waiting.index));
        prop_assert!(!(starting.iter().any(auto) && waiting.into_iter().any(|index| auto(&index))));
    }

    #[test]
    fn a_group_is_shared_by_all_auto_workflows_on_what_explicit_ones_leave(
        ready in vec(claim(), 0..12), total in 1u32..12,
    ) {
        let batch = plan_batch(idle(total), &[], &ready);
        let autos = ready.iter().filter(|claim| claim.priority == Priority::Auto).count();
        for group in batch.groups.iter().filter(|group| group.is_shared()) {
            prop_assert_eq!(group.members.len(), autos);
            prop_assert!((group.cores as usize) < autos);
            prop_assert_eq!(group.release, Release::LastSegment);
            let explicit = batch.groups.iter().filter(|group| !group.is_shared());
            let least: u32 = explicit.map(|group| ready[group.members[0].index].bounds(total).least).sum();
            prop_assert_eq!(group.cores, total - least);
            for core in 0..group.cores {
                let runs = |member: &Member| (member.first..member.first + member.cores).contains(&core);
                prop_assert!(group.members.iter().any(runs), "core {} is not used", core);
            }
        }
    }

    #[test]
    fn the_order_of_arrival_does_not_matter(mut ready in vec(claim(), 0..12), total in 1u32..12) {
        ready.sort_by(|a, b| a.name.cmp(&b.name));
        ready.dedup_by(|a, b| a.name == b.name);
        let named = |ready: &[Claim]| {
            let batch = plan_batch(idle(total), &[], ready);
            let member = |m: &Member| (ready[m.index].name.clone(), m.first, m.cores);
            batch.groups.iter().map(|g| g.members.iter().map(member).collect()).collect::<Vec<Vec<_>>>()
        };
        let before = named(&ready);
        ready.reverse();
        prop_assert_eq!(before, named(&ready));
    }

    #[test]
    fn the_highest_rank_always_starts_on_an_idle_machine(ready in vec(claim(), 1..12), total in 1u32..40) {
        let batch = plan_batch(idle(total), &[], &ready);
        let highest = ready.iter().map(|claim| claim.priority).max().unwrap();
        prop_assert!(!batch.groups.is_empty());
        prop_assert_eq!(ready[batch.groups[0].members[0].index].priority, highest);
    }

    #[test]
    fn batch_after_batch_everything_runs(mut ready in vec(claim(), 0..12), total in 1u32..40) {
        while !ready.is_empty() {
            let mut starting = indices(&plan_batch(idle(total), &[], &ready));
            prop_assert!(!starting.is_empty());
            starting.sort_unstable();
            for index in starting.into_iter().rev() {
                ready.swap_remove(index);
            }
        }
    }

    #[test]
    fn left_over_cores_are_not_wasted(ready in vec(claim(), 1..8), total in 1u32..40) {
        let batch = plan_batch(idle(total), &[], &ready);
        let used: u32 = batch.groups.iter().map(|group| group.cores).sum();
        let wants_more = |group: &CoreGroup| {
            group.members.iter().any(|member| member.cores < ready[member.index].bounds(total).most)
        };
        prop_assert!(used == total || !batch.groups.iter().any(wants_more));
    }

    #[test]
    fn segments_add_up_to_the_workflow(
        free in vec(0u32..9, 1..8), spread: bool, part in 0.0f64..1.0, vus in 1u32..200, n in 0u64..5_000,
    ) {
        let all: u32 = free.iter().sum();
        let cores = ((f64::from(all) * part) as u32).max(1);
        let placement = if spread { Placement::Spread } else { Placement::Fewest };
        prop_assert_eq!(split_over_workers(all + 1, &free, placement), None);
        prop_assume!(cores <= all);
        let parts = split_over_workers(cores, &free, placement).unwrap();
        prop_assert!(parts.iter().all(|part| 0 < part.cores && part.cores <= free[part.worker]));
        prop_assert_eq!(parts.iter().map(|part| part.cores).sum::<u32>(), cores);
        let first = cores / 3;
        let member = Member { index: 0, first, cores: cores - first };
        let segments = segments(&member, &parts, vus);
        prop_assert_eq!(segments.iter().map(|s| s.share.own_vus()).sum::<u32>(), vus);
        prop_assert_eq!(segments.iter().map(|s| s.share.count_of(n)).sum::<u64>(), n);
        let mut cores: Vec<u32> =
            segments.iter().flat_map(|s| s.share.shares()).map(|share| share.core).collect();
        cores.sort_unstable();
        prop_assert_eq!(cores, (0..member.cores).collect::<Vec<_>>());
    }

    #[test]
    fn no_fewer_workers_would_do(free in vec(0u32..9, 1..8), part in 0.0f64..1.0) {
        let cores = (f64::from(free.iter().sum::<u32>()) * part) as u32;
        let used = split_over_workers(cores, &free, Placement::Fewest).unwrap().len();
        let mut largest = free;
        largest.sort_unstable_by(|a, b| b.cmp(a));
        prop_assert!(used == 0 || largest[..used - 1].iter().sum::<u32>() < cores);
    }
}
