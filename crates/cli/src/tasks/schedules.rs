//! `schedules.*`.

use hyperscale_api::RpcError;
use hyperscale_api::server::to_result;
use hyperscale_tasks::domain::{Schedule, ScheduleSpec, TreeSpec};
use hyperscale_tasks::runtime::new_schedule_id;
use serde_json::{Map, Value};

use super::backend::{Plane, TaskBackend};
use super::refusals::{self, params};
use super::trees::checked_limit;
use super::view::{
    Deleted, Nothing, OfSchedule, RunList, ScheduleList, ScheduleRuns, TriggerSchedule, Triggered,
};

type Params = Map<String, Value>;

pub(super) async fn create(backend: &TaskBackend, plane: &Plane, given: Params) -> Result<Value, RpcError> {
    plane.worker()?;
    let spec: ScheduleSpec = params(given)?;
    spec.trigger.check().map_err(|error| refusals::schedule(&error))?;
    // Whatever would be wrong at a fire is wrong now.
    backend.executors.prepare(spec.tree.clone()).map_err(|error| refusals::tree(&error))?;
    to_result(&plane.store.put_schedule(new_schedule_id(), &spec).await.map_err(refusals::store)?)
}

pub(super) async fn list(plane: &Plane, given: Params) -> Result<Value, RpcError> {
    let Nothing {} = params(given)?;
    let schedules = plane.store.schedules().await.map_err(refusals::store)?;
    to_result(&ScheduleList { schedules, next: None })
}

pub(super) async fn pause(plane: &Plane, given: Params, paused: bool) -> Result<Value, RpcError> {
    plane.worker()?;
    let OfSchedule { schedule } = params(given)?;
    let schedule = find(plane, &schedule).await?;
    to_result(&plane.store.pause_schedule(schedule.id, paused).await.map_err(refusals::store)?)
}

pub(super) async fn delete(plane: &Plane, given: Params) -> Result<Value, RpcError> {
    plane.worker()?;
    let OfSchedule { schedule } = params(given)?;
    let found = find(plane, &schedule).await?;
    if !plane.store.remove_schedule(found.id).await.map_err(refusals::store)? {
        return Err(refusals::unknown_schedule(&schedule));
    }
    to_result(&Deleted { deleted: true })
}

pub(super) async fn trigger(backend: &TaskBackend, plane: &Plane, given: Params) -> Result<Value, RpcError> {
    plane.worker()?;
    let TriggerSchedule { schedule, idempotency_key } = params(given)?;
    let found = find(plane, &schedule).await?;
    let spec = TreeSpec { idempotency_key, ..found.spec.tree };
    let tree = backend.executors.prepare(spec).map_err(|error| refusals::tree(&error))?;
    let submitted = plane.store.trigger_schedule(found.id, tree).await.map_err(refusals::store)?;
    to_result(&Triggered { tree: submitted.tree })
}

pub(super) async fn runs(plane: &Plane, given: Params) -> Result<Value, RpcError> {
    let ScheduleRuns { schedule, limit } = params(given)?;
    let (limit, schedule) = (checked_limit(limit)?, find(plane, &schedule).await?);
    let runs = plane.store.runs(schedule.id, limit).await.map_err(refusals::store)?;
    to_result(&RunList { runs, next: None })
}

/// The schedule of that id or name.
async fn find(plane: &Plane, text: &str) -> Result<Schedule, RpcError> {
    let schedules = plane.store.schedules().await.map_err(refusals::store)?;
    let is_it = |schedule: &Schedule| schedule.spec.name == text || schedule.id.to_string() == text;
    schedules.into_iter().find(is_it).ok_or_else(|| refusals::unknown_schedule(text))
}
