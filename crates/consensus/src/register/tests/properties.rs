//! What holds for any sequence of commands.

use proptest::prelude::*;

use super::*;

fn change(number: u64) -> LoadChange {
    match number % 4 {
        0 => LoadChange::Vus(number as u32),
        1 => LoadChange::RateMilli(number),
        2 => LoadChange::Pause,
        _ => LoadChange::Resume,
    }
}

fn class(number: u32) -> DatacenterClass {
    if number == 1 { DatacenterClass::Busy } else { DatacenterClass::Healthy }
}

fn any_group() -> impl Strategy<Value = Group> {
    prop_oneof![Just(Group::Managers), Just(Group::Gates)]
}

/// Commands that meet each other often: few jobs, few workers, tokens from the recent past.
fn any_command() -> impl Strategy<Value = Command> {
    let status = prop_oneof![Just(EndStatus::Completed), Just(EndStatus::Failed), Just(EndStatus::Lost)];
    let body = (0u8..15, 1u8..4, 0u32..3, 1u32..4, 1u64..4, 0u64..60, status).prop_map(
        |(kind, number, place, attempt, worker, grant, status)| {
            let segment = Segment { job: job(number), workflow: format!("w{place}"), number: place };
            let (worker, job, workflow) = (node(worker), job(number), format!("w{place}"));
            match kind {
                0 => accept(number, &format!("key{number}"), b"plan"),
                1 => Body::JobLeader { job, leader: worker },
                2 => Body::WorkerGrant { worker, boot: BootEpoch(grant / 20), cores: 3, lease_ms: 1 },
                3 => Body::WorkerGone { worker, grant: Token(grant) },
                4 | 5 => Body::Assign(Assign {
                    segment,
                    attempt,
                    worker,
                    boot: BootEpoch(grant / 20),
                    grant: Token(grant),
                    cores: attempt,
                    vus: 1,
                }),
                6 => Body::AttemptEnd { segment, attempt, status, result: None },
                7 => Body::WorkflowEnd { job, workflow, status },
                8 => cancel(&["w1"], number),
                9 => Body::JobEnd { job, status, result: None },
                10 => Body::Control {
                    job,
                    workflow,
                    change: change(grant),
                    request: RequestId([worker.get() as u8; 16]),
                },
                11 => Body::DcAssign { job, datacenter: workflow, try_number: attempt, share_ppm: 1 },
                12 => {
                    let part = PartId { job, datacenter: workflow, token: Token(grant) };
                    Body::DcEnd { part, status, result: None, is_late: attempt == 1 }
                }
                13 => Body::DcState { datacenter: workflow, class: class(attempt), proposer: worker },
                _ => Body::JobForget { job },
            }
        },
    );
    (0u64..60, body).prop_map(|(token, body)| Command { token: Token(token), body })
}

proptest! {
    #[test]
    fn commands_are_read_back(command in any_command()) {
        prop_assert_eq!(Command::decode(&command.encode()), Ok(command));
    }

    #[test]
    fn applying_is_deterministic_and_survives_a_snapshot_anywhere(
        group in any_group(),
        commands in proptest::collection::vec(any_command(), 1..60),
        cut in 0usize..60,
    ) {
        let (mut straight, mut cutting) = (Log::of(group), Log::of(group));
        for (place, command) in commands.into_iter().enumerate() {
            if place == cut {
                let state = cutting.applier.snapshot();
                cutting.applier = Applier::new(Register::new(group));
                cutting.applier.restore(cutting.index, state).unwrap();
            }
            let outcome = straight.apply(command.token, command.body.clone());
            prop_assert_eq!(outcome, cutting.apply(command.token, command.body));
            prop_assert_eq!(straight.applier.proof(), cutting.applier.proof());
        }
        prop_assert_eq!(straight.register(), cutting.register());
    }

    #[test]
    fn tokens_of_parts_only_grow_and_a_part_runs_once(
        commands in proptest::collection::vec(any_command(), 1..80),
    ) {
        let mut log = Log::of(Group::Gates);
        let mut tokens = BTreeMap::new();
        for command in commands {
            let outcome = log.apply(command.token, command.body.clone());
            if let (Body::DcAssign { job, datacenter, .. }, Outcome::Granted(token)) = (&command.body, &outcome) {
                let before = tokens.insert((*job, datacenter.clone()), *token);
                prop_assert!(before.is_none_or(|before| before <= *token));
            }
            for (_, job) in log.register().jobs() {
                let running: Vec<_> = job.parts().filter(|(.., part)| part.state == PartState::Running).collect();
                let datacenters: std::collections::BTreeSet<_> = running.iter().map(|(name, ..)| *name).collect();
                prop_assert_eq!(datacenters.len(), running.len());
                prop_assert!(job.end.is_none() || running.is_empty());
            }
        }
    }

    #[test]
    fn tokens_of_a_job_only_grow_and_no_core_is_promised_twice(
        commands in proptest::collection::vec(any_command(), 1..80),
    ) {
        let mut log = Log::new();
        let mut tokens = BTreeMap::new();
        for command in commands {
            let outcome = log.apply(command.token, command.body.clone());
            if let (Body::JobLeader { job, .. }, Outcome::Granted(token)) = (&command.body, &outcome) {
                prop_assert!(tokens.insert(*job, *token).is_none_or(|before| before < *token));
            }
            for (_, worker) in log.register().workers() {
                let promised: u32 = worker.promised().map(|(_, cores)| cores).sum();
                prop_assert!(promised <= worker.cores);
            }
        }
    }
}
