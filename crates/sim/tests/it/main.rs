//! Whole seeds: the same one gives the same run, and a broken rule is noticed.

use hyperscale_consensus::register::Group;
use hyperscale_sim::faults::FaultKind;
use hyperscale_sim::log::journal::NEWER;
use hyperscale_sim::{Bug, Options, run, teeth};

#[test]
fn same_seed_gives_the_same_trace_and_another_seed_another() {
    for seed in [3, 1000] {
        let [first, second, other] = [seed, seed, seed + 1].map(|seed| run(seed, Options::small()));
        assert_eq!((first.trace, first.events), (second.trace, second.events), "seed {seed}");
        assert_ne!(first.trace, other.trace, "seed {seed}");
    }
}

#[test]
fn keeping_events_does_not_change_the_run() {
    let plain = run(5, Options::small());
    let recorded = run(5, Options { record: true, ..Options::small() });
    assert_eq!(plain.trace, recorded.trace);
}

#[test]
fn broken_rule_is_noticed_and_the_report_repeats_it() {
    let bug: Bug = "swim:LeftFiresDied".parse().unwrap();
    let caught = teeth::recorded().unwrap().into_iter().find(|it| it.bug == bug).unwrap();
    let options = Options { bug: Some(bug), ..Options::small() };
    let report = hyperscale_sim::report::failure(caught.seed, options);
    assert!(report.contains("BROKE death_events"), "{report}");
    assert!(report.contains(&format!("cargo xtask sim --seed {} --bug swim:LeftFiresDied", caught.seed)));
    assert!(report.contains("last events of"));
}

#[test]
fn jobs_are_accepted_cancelled_tried_again_and_ended() {
    let worlds: Vec<_> = (0..4).map(|seed| run(seed, Options::small()).world).collect();
    let client_jobs = || worlds.iter().flat_map(|world| &world.clients.client_jobs);
    assert!(client_jobs().all(|client_job| client_job.accepted.is_some() && client_job.ended.is_some()));
    assert!(
        client_jobs().any(|client_job| client_job.cancelled)
            && client_jobs().any(|client_job| !client_job.cancelled)
    );
    let managers =
        worlds.iter().flat_map(|world| &world.nodes).filter_map(|node| node.host.as_ref()?.manager());
    let jobs = managers.flat_map(|manager| manager.group().machine().jobs());
    let attempts =
        jobs.flat_map(|job| job.segments().map(|(_, _, attempt)| attempt.number).collect::<Vec<_>>());
    assert!(attempts.max() > Some(1), "workers are lost and their segments run again");
}

#[test]
fn every_group_applies_the_commands_of_its_kind() {
    let worlds: Vec<_> = (0..3).map(|seed| run(seed, Options::small()).world).collect();
    let managers =
        worlds.iter().flat_map(|world| &world.nodes).filter_map(|node| node.host.as_ref()?.manager());
    let (gates, managers): (Vec<_>, Vec<_>) = managers
        .map(|manager| manager.group().machine())
        .partition(|machine| machine.register().group() == Group::Gates);
    let parts = gates.iter().flat_map(|gates| gates.jobs()).map(|job| job.parts().len()).max();
    assert!(parts > Some(0) && gates.iter().any(|gates| gates.register().datacenters().len() > 0));
    let known: Vec<_> = managers.iter().flat_map(|managers| managers.jobs()).collect();
    let jobs = || known.iter();
    assert!(jobs().any(|job| job.workflow_end("W0").is_some()));
    assert!(jobs().any(|job| job.is_cancelled("W0") && !job.is_wholly_cancelled()));
    assert!(jobs().any(|job| job.segments().any(|(_, number, _)| number % 3 == 2)), "tear-downs run");
    assert!(
        [gates, managers].iter().all(|group| group.iter().any(|machine| machine.register().version() >= 1))
    );
}

#[test]
fn builds_of_two_versions_meet_on_real_connections_and_agree_on_the_newer_version_in_the_end() {
    let upgrades =
        (0..40).map(|seed| run(seed, Options::small())).filter(|it| it.kinds.has(FaultKind::Upgrade));
    let worlds: Vec<_> = upgrades.take(3).map(|outcome| outcome.world).collect();
    assert_eq!(worlds.len(), 3);
    for world in &worlds {
        assert!(world.links_opened() > 10, "replicas talk over connections");
        let managers = world.nodes.iter().filter_map(|node| node.host.as_ref()?.manager());
        let versions: Vec<u32> =
            managers.map(|manager| manager.group().machine().register().version()).collect();
        assert!(versions.contains(&NEWER), "{versions:?}");
    }
}
