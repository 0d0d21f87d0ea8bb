//! A batch of attempts. Workers are listed once and named by their place, so that the largest batch fits into one entry.

use std::collections::BTreeMap;

use hyperscale_types::{BootEpoch, NodeId, Token};
use hyperscale_wire::messages as wire;

use super::{Read, id_out, job_in, node_in, text_in};
use crate::register::assign::{Assign, AssignSegment};
use crate::register::command::CommandError;
use crate::register::words::{word_in, word_out};

type Holder = (NodeId, BootEpoch, Token);

pub(super) fn assign_out(assign: &Assign) -> wire::Assign {
    let (mut workers, mut places) = (Vec::new(), BTreeMap::new());
    let mut workflows: Vec<wire::AssignWorkflow> = Vec::new();
    for it in &assign.segments {
        let holder: Holder = (it.worker, it.boot, it.grant);
        let place = *places.entry(holder).or_insert_with(|| {
            workers.push(wire::AssignWorker {
                worker: it.worker.get(),
                boot: it.boot.0,
                grant_token: it.grant.0,
            });
            workers.len() as u32 - 1
        });
        if workflows.last().is_none_or(|last| last.workflow != it.workflow) {
            workflows.push(wire::AssignWorkflow { workflow: it.workflow.clone(), segments: Vec::new() });
        }
        let workflow = workflows.last_mut().expect("just added");
        workflow.segments.push(segment_out(it, place));
    }
    wire::Assign { job_id: id_out(assign.job.0), workers, workflows }
}

fn segment_out(it: &AssignSegment, worker: u32) -> wire::AssignSegment {
    wire::AssignSegment {
        segment: it.number,
        kind: word_out(it.kind),
        attempt: it.attempt,
        worker,
        group: it.group,
        cores: it.cores,
        vus: it.vus,
        elapsed_ms: it.elapsed_ms,
        iterations_left: it.iterations_left,
    }
}

pub(super) fn assign_in(assign: wire::Assign) -> Read<Assign> {
    let job = job_in(&assign.job_id)?;
    let holder =
        |it: wire::AssignWorker| Ok((node_in(it.worker)?, BootEpoch(it.boot), Token(it.grant_token)));
    let workers = assign.workers.into_iter().map(holder).collect::<Read<Vec<Holder>>>()?;
    let mut segments = Vec::new();
    for workflow in assign.workflows {
        let name = text_in(workflow.workflow)?;
        for it in workflow.segments {
            segments.push(segment_in(&name, &workers, &it)?);
        }
    }
    Ok(Assign { job, segments })
}

fn segment_in(workflow: &str, workers: &[Holder], it: &wire::AssignSegment) -> Read<AssignSegment> {
    let (worker, boot, grant) = *workers.get(it.worker as usize).ok_or(CommandError("no worker"))?;
    Ok(AssignSegment {
        workflow: workflow.to_owned(),
        number: it.segment,
        kind: word_in(it.kind)?,
        attempt: it.attempt,
        worker,
        boot,
        grant,
        group: it.group,
        cores: it.cores,
        vus: it.vus,
        elapsed_ms: it.elapsed_ms,
        iterations_left: it.iterations_left,
    })
}
