//! What holds for any sequence of commands.

use proptest::prelude::*;

use hyperscale_types::Priority;

use super::*;
use crate::register::weight::Tally;

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

fn end(status: EndStatus) -> End {
    let error = (status == EndStatus::Failed).then(|| why("it failed"));
    End { status, result: None, error }
}

/// Stands for the token in force, of a job, a worker's grant or a datacenter's newest part.
const IN_FORCE: Token = Token(u64::MAX);

impl Log {
    /// Applies a command with the tokens in force in place of those that stand for them.
    fn apply_in_force(&mut self, Command { mut token, mut body }: Command) -> (Body, Outcome) {
        let register = self.register();
        let granted = |worker: &NodeId| register.worker(*worker).map_or(Token(0), |known| known.grant);
        let job = match &mut body {
            Body::JobLeader { job, .. }
            | Body::Ready { job, .. }
            | Body::Context { job, .. }
            | Body::WorkflowEnd { job, .. }
            | Body::Control { job, .. }
            | Body::DcAssign { job, .. }
            | Body::JobEnd { job, .. } => Some(*job),
            Body::Decide(decide) => Some(decide.job),
            Body::Assign(assign) => {
                for it in assign.segments.iter_mut().filter(|it| it.grant == IN_FORCE) {
                    it.grant = granted(&it.worker);
                    it.boot = register.worker(it.worker).map_or(BootEpoch(0), |known| known.boot);
                }
                Some(assign.job)
            }
            Body::AttemptEnd { segment, .. } | Body::AttemptWindows { segment, .. } => Some(segment.job),
            Body::WorkerOwner { worker, grant, replaces, .. } => {
                if *grant == IN_FORCE {
                    *grant = granted(worker);
                    *replaces = register.worker(*worker).map_or(Token(0), Worker::owner_token);
                }
                None
            }
            Body::WorkerGone { worker, grant, .. } if *grant == IN_FORCE => {
                *grant = granted(worker);
                None
            }
            Body::DcEnd { part, .. } => {
                let newest = register.job(part.job).and_then(|job| job.part(&part.datacenter));
                if let Some((newest, _)) = newest.filter(|_| part.token == IN_FORCE) {
                    part.token = newest;
                }
                Some(part.job)
            }
            _ => None,
        };
        if token == IN_FORCE {
            token = job.and_then(|job| register.job(job)).map_or(Token(0), Job::token);
        }
        (body.clone(), self.apply(token, body))
    }
}

/// A token of the recent past, or the one in force.
fn any_token() -> impl Strategy<Value = u64> {
    prop_oneof![1 => 0u64..60, 4 => Just(IN_FORCE.0)]
}

/// Commands that meet each other often: few jobs, few workers, tokens in force or from the recent past.
fn any_command() -> impl Strategy<Value = Command> {
    let status = prop_oneof![Just(EndStatus::Completed), Just(EndStatus::Failed), Just(EndStatus::Lost)];
    let body = (0u8..20, 1u8..4, 0u32..3, 1u32..4, 1u64..4, any_token(), status).prop_map(
        |(kind, number, place, attempt, worker, grant, status)| {
            let segment = Segment { job: job(number), workflow: format!("w{place}"), number: place };
            let (worker, job, workflow) = (node(worker), job(number), format!("w{place}"));
            match kind {
                0 => accept(number, &format!("key{number}"), b"plan"),
                1 => {
                    let elapsed =
                        Elapsed { job_ms: grant % 60, workflows_ms: [(workflow, grant % 60)].into() };
                    Body::JobLeader { job, leader: worker, elapsed, reason: String::new() }
                }
                2 => Body::WorkerGrant {
                    worker,
                    boot: BootEpoch(grant % 60 / 20),
                    cores: 3,
                    lease_ms: 1,
                    capabilities: BTreeSet::new(),
                },
                3 => Body::WorkerGone { worker, grant: Token(grant), reason: "lease".to_owned() },
                4 | 5 => {
                    let assigned = |number: u32| AssignSegment {
                        workflow: workflow.clone(),
                        number,
                        kind: if number == 2 { SegmentKind::TearDown } else { SegmentKind::Load },
                        attempt,
                        worker,
                        boot: BootEpoch(grant % 60 / 20),
                        grant: Token(grant),
                        group: (grant % 2) as u32,
                        cores: attempt.min(2),
                        vus: 1,
                        elapsed_ms: grant,
                        iterations_left: (grant > 30).then_some(grant),
                    };
                    let more = (kind == 5).then(|| assigned(place + 1));
                    Body::Assign(Assign {
                        job,
                        segments: [assigned(place)].into_iter().chain(more).collect(),
                    })
                }
                6 => Body::AttemptEnd { segment, attempt, end: end(status) },
                7 => Body::WorkflowEnd { job, workflow, status, error: end(status).error },
                8 => cancel(&["w1"], number),
                9 => Body::JobEnd { job, end: end(status), elapsed_ms: 0 },
                10 => Body::Control {
                    job,
                    workflow,
                    change: change(grant),
                    request: RequestId([worker.get() as u8; 16]),
                },
                11 => Body::DcAssign { job, datacenter: workflow, try_number: attempt, share_ppm: 1 },
                12 => {
                    let part = PartId { job, datacenter: workflow, token: Token(grant) };
                    Body::DcEnd { part, end: end(status), is_late: attempt == 1 }
                }
                13 => Body::DcState { datacenter: workflow, class: class(attempt), proposer: worker },
                14 => Body::Ready {
                    job,
                    workflows: [workflow].into(),
                    priority: if attempt == 1 { Priority::High } else { Priority::Auto },
                    least_cores: attempt,
                },
                15 if attempt == 1 => Body::WorkerDrain { worker, grant: Token(grant) },
                15 => Body::WorkerOwner { worker, grant: Token(grant), owner: worker, replaces: Token(0) },
                16 => Body::AttemptWindows { segment, attempt, windows: BlobId::of(b"windows") },
                17 => {
                    Body::Context { job, workflow, version: 1, values: Values::Blob(BlobId::of(b"values")) }
                }
                18 => {
                    let end = Body::WorkflowEnd { job, workflow, status, error: None };
                    let decision = Values::Inline(Bytes::from_static(b"decision"));
                    let effect = (attempt == 1).then_some(end);
                    Body::Decide(Box::new(Decide { job, decision, effect, closes: attempt == 2 }))
                }
                _ => Body::JobForget { first: grant % 60, last: grant % 60 + 3 },
            }
        },
    );
    (any_token(), body).prop_map(|(token, body)| Command { token: Token(token), body })
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
        let (mut straight, mut cutting) = (Log::small(group), Log::small(group));
        for (place, command) in commands.into_iter().enumerate() {
            if place == cut {
                let state = cutting.applier.view().encode();
                let chunks = std::mem::take(&mut cutting.chunks);
                cutting.applier = Applier::new(Register::new(group).with_sizes(SMALL));
                cutting.applier.restore(cutting.index, state).unwrap();
                for blob in cutting.applier.machine.missing() {
                    cutting.applier.machine.supply(blob, &chunks[&blob]).unwrap();
                }
            }
            let outcome = straight.apply_in_force(command.clone());
            prop_assert_eq!(outcome, cutting.apply_in_force(command));
            prop_assert_eq!(straight.applier.proof(), cutting.applier.proof());
        }
        prop_assert_eq!(straight.register(), cutting.register());
    }

    #[test]
    fn jobs_weigh_at_least_what_they_take_in_a_snapshot(
        group in any_group(),
        commands in proptest::collection::vec(any_command(), 1..80),
    ) {
        let mut log = Log::small(group);
        for command in commands {
            log.apply_in_force(command);
            let register = log.register();
            let bytes = limits::bound(register);
            prop_assert!(register.snapshot().len() <= bytes, "{bytes} for {}", register.snapshot().len());
        }
        let mut counted = log.register().clone();
        for job in counted.jobs.0.values_mut().map(std::sync::Arc::make_mut) {
            job.workflows.values_mut().for_each(Workflow::recount);
            job.tally = Tally::of(job);
        }
        counted.recount();
        prop_assert_eq!(&counted, log.register(), "the account follows from the jobs");
    }

    #[test]
    fn tokens_of_parts_only_grow_and_a_part_runs_once(
        commands in proptest::collection::vec(any_command(), 1..80),
    ) {
        let mut log = Log::of(Group::Gates);
        let mut tokens = BTreeMap::new();
        for command in commands {
            let decided = log.apply_in_force(command);
            if let (Body::DcAssign { job, datacenter, .. }, Outcome::Granted(token)) = &decided {
                let before = tokens.insert((*job, datacenter.clone()), *token);
                prop_assert!(before.is_none_or(|before| before <= *token));
            }
            for (_, job) in log.register().jobs() {
                let running: Vec<_> = job.parts().filter(|(.., part)| part.state == PartState::Running).collect();
                let datacenters: BTreeSet<_> = running.iter().map(|(name, ..)| *name).collect();
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
            let decided = log.apply_in_force(command);
            if let (Body::JobLeader { job, .. }, Outcome::Granted(token)) = &decided {
                prop_assert!(tokens.insert(*job, *token).is_none_or(|before| before < *token));
            }
            for (_, worker) in log.register().workers() {
                let promised = worker.promised.cores() + worker.held_back;
                prop_assert!(promised <= worker.cores);
            }
        }
    }
}
