//! What a job is submitted with, and from where.

use hyperscale_types::Token;
use hyperscale_wire::messages as wire;

use super::{Read, blob_in, blob_out, id_out, job_in, text_in};
use crate::register::command::{Accept, CommandError, Origin};
use crate::register::options::{JobOptions, Routing};
use crate::register::words::{word_in, word_out};

pub(super) fn accept_out(accept: &Accept) -> wire::JobAccept {
    let origin = accept.origin.as_ref();
    let part = wire::JobRef {
        job_id: id_out(accept.job.0),
        datacenter: origin.map_or_else(String::new, |origin| origin.datacenter.clone()),
        dc_token: origin.map_or(0, |origin| origin.part.0),
    };
    wire::JobAccept {
        job: Some(part),
        idempotency_key: accept.key.clone(),
        plan: Some(blob_out(accept.plan)),
        options: Some(options_out(&accept.options)),
        gate_token: origin.map_or(0, |origin| origin.gate_token.0),
        caller: accept.caller.clone(),
        name: accept.name.clone(),
        submitted_at_ms: accept.submitted_at_ms,
    }
}

pub(super) fn accept_in(accept: wire::JobAccept) -> Read<Accept> {
    let part = accept.job.ok_or(CommandError("no job"))?;
    let job = job_in(&part.job_id)?;
    Ok(Accept {
        job,
        key: text_in(accept.idempotency_key)?,
        plan: blob_in(&accept.plan.ok_or(CommandError("no plan"))?)?,
        options: options_in(accept.options.ok_or(CommandError("no options"))?)?,
        origin: origin_in(part, Token(accept.gate_token))?,
        caller: accept.caller,
        name: accept.name,
        submitted_at_ms: accept.submitted_at_ms,
    })
}

/// Gates name datacenter, part and their own token; without gates there is none of them.
fn origin_in(part: wire::JobRef, gate_token: Token) -> Read<Option<Origin>> {
    match (part.datacenter.is_empty(), Token(part.dc_token), gate_token) {
        (true, Token(0), Token(0)) => Ok(None),
        (true, ..) | (_, Token(0), _) | (.., Token(0)) => Err(CommandError("half a part of the gates' job")),
        (false, token, gate_token) => {
            Ok(Some(Origin { datacenter: part.datacenter, part: token, gate_token }))
        }
    }
}

fn options_out(options: &JobOptions) -> wire::JobOptions {
    wire::JobOptions {
        on_isolation: word_out(options.on_isolation),
        on_worker_loss: word_out(options.on_worker_loss),
        timeout_ms: options.timeout_ms,
        queue_timeout_ms: options.queue_timeout_ms,
        max_retries: options.max_retries,
        retry_budget: options.retry_budget,
        spread: options.spread,
        datacenters: options.routing.datacenters.clone(),
        datacenter_count: options.routing.datacenter_count,
        prefer: options.routing.prefer.clone(),
        fallback: options.routing.fallback,
        datacenter_retries: options.routing.datacenter_retries,
        split: word_out(options.routing.split),
        callback: options.callback.clone(),
        priority: options.priority.clone(),
        retain_ms: options.retain_ms,
        share_ppm: options.share_ppm,
    }
}

fn options_in(options: wire::JobOptions) -> Read<JobOptions> {
    Ok(JobOptions {
        on_isolation: word_in(options.on_isolation)?,
        on_worker_loss: word_in(options.on_worker_loss)?,
        timeout_ms: options.timeout_ms,
        queue_timeout_ms: options.queue_timeout_ms,
        max_retries: options.max_retries,
        retry_budget: options.retry_budget,
        spread: options.spread,
        routing: Routing {
            datacenters: options.datacenters,
            datacenter_count: options.datacenter_count,
            prefer: options.prefer,
            fallback: options.fallback,
            datacenter_retries: options.datacenter_retries,
            split: word_in(options.split)?,
        },
        callback: options.callback,
        priority: options.priority,
        retain_ms: options.retain_ms,
        share_ppm: options.share_ppm,
    })
}
