//! Tasks page by page, those that changed last first.

use hyperscale_api::{A2aVersion, RpcError};
use hyperscale_tasks::domain::{Status, TaskId, Timestamp, TreeOverview};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::task::{ARTIFACT_BYTES_MAX, AgentTask};
use super::tasks::{history, params};
use super::{errors, shape};
use crate::tasks::backend::Plane;
use crate::tasks::refusals;

/// Tasks that a list is made of, the newest of those that messages made. Older ones are not listed.
const LISTED_MAX: usize = 10_000;
/// Tasks of a page, unless the request says otherwise, and at most.
const PAGE_DEFAULT: i64 = 50;
const PAGE_MAX: i64 = 100;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wanted {
    context_id: Option<String>,
    status: Option<String>,
    page_size: Option<i64>,
    page_token: Option<String>,
    history_length: Option<i64>,
    status_timestamp_after: Option<String>,
    include_artifacts: Option<bool>,
}

/// Place of a task in the list: when it changed, and its id.
type Place = (Timestamp, TaskId);

pub(super) async fn list(
    plane: &Plane,
    version: A2aVersion,
    given: Map<String, Value>,
) -> Result<Value, RpcError> {
    let wanted: Wanted = params(given)?;
    let size = wanted.page_size.unwrap_or(PAGE_DEFAULT);
    if !(1..=PAGE_MAX).contains(&size) {
        return Err(errors::invalid(format!("`pageSize` must be 1 to {PAGE_MAX}, not {size}")));
    }
    let messages = history(wanted.history_length)?.unwrap_or(0);
    let after = wanted.page_token.as_deref().filter(|token| !token.is_empty()).map(place).transpose()?;
    let context = wanted.context_id.as_deref().filter(|context| !context.is_empty());
    let mut found = plane.store.overviews(context, LISTED_MAX).await.map_err(refusals::store)?;
    let filter = Filter::read(&wanted)?;
    found.retain(|tree| filter.has(tree));
    found.sort_unstable_by_key(|tree| std::cmp::Reverse(place_of(tree)));
    let total = found.len();
    let begin = after.map_or(0, |after| found.partition_point(|tree| place_of(tree) >= after));
    let end = total.min(begin.saturating_add(usize::try_from(size).unwrap_or_default()));
    let mut tasks = Vec::new();
    let mut budget = ARTIFACT_BYTES_MAX;
    for tree in &found[begin..end] {
        let task = if wanted.include_artifacts == Some(true) {
            AgentTask::read_within(&*plane.store, tree.tree, Some(&mut budget))
                .await?
                .with_history(Some(messages))
        } else {
            let message = if messages > 0 { plane.store.message(tree.tree).await } else { Ok(None) };
            AgentTask::of_overview(tree, message.map_err(refusals::store)?.as_ref())
        };
        tasks.push(shape::task(version, &task));
    }
    let next = found[begin..end].last().filter(|_| end < total).map(|tree| token(place_of(tree)));
    Ok(json!({
        "tasks": tasks, "nextPageToken": next.unwrap_or_default(), "pageSize": size, "totalSize": total,
    }))
}

/// Which tasks a list has.
struct Filter {
    status: Wish,
    since: Option<Timestamp>,
}

/// Which states.
enum Wish {
    All,
    Only(Status),
    None,
}

impl Filter {
    fn read(wanted: &Wanted) -> Result<Self, RpcError> {
        let status = match wanted.status.as_deref() {
            None | Some("" | "TASK_STATE_UNSPECIFIED") => Wish::All,
            Some(text) if shape::STATES_NEVER_HAD.contains(&text) => Wish::None,
            Some(text) => Wish::Only(status(text)?),
        };
        let time =
            |text: &String| text.parse::<jiff::Timestamp>().map(|time| Timestamp(time.as_millisecond()));
        let since = wanted.status_timestamp_after.as_ref().map(time).transpose();
        let wrong = |_| errors::invalid("`statusTimestampAfter` must be a time such as 2027-01-01T00:00:00Z");
        Ok(Self { status, since: since.map_err(wrong)? })
    }

    fn has(&self, tree: &TreeOverview) -> bool {
        let fits = match self.status {
            Wish::All => true,
            Wish::Only(status) => tree.counts.status() == status,
            Wish::None => false,
        };
        fits && self.since.is_none_or(|since| tree.updated_at >= since)
    }
}

fn status(text: &str) -> Result<Status, RpcError> {
    let written = |status: Status| shape::state(A2aVersion::V1_0, status);
    Status::ALL.into_iter().find(|status| written(*status) == text).ok_or_else(|| {
        let known = Status::ALL.map(written).into_iter().chain(shape::STATES_NEVER_HAD).collect::<Vec<_>>();
        errors::invalid(format!("`status` must be one of {}", known.join(", ")))
    })
}

fn place_of(tree: &TreeOverview) -> Place {
    (tree.updated_at, tree.tree)
}

fn token((time, task): Place) -> String {
    format!("{}.{task}", time.0)
}

fn place(token: &str) -> Result<Place, RpcError> {
    let read = || {
        let (time, task) = token.split_once('.')?;
        Some((Timestamp(time.parse().ok()?), task.parse().ok()?))
    };
    read().ok_or_else(|| errors::invalid("`pageToken` must be the `nextPageToken` of the page before"))
}
