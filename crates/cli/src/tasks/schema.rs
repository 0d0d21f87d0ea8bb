//! JSON Schemas of the parameters of all methods, for `system.methods`.

use serde_json::{Map, Value, json};

/// The schema of each method, by its name.
pub(super) fn methods() -> Map<String, Value> {
    let task = json!({ "type": "string", "format": "uuid" });
    let name = json!({ "type": "string", "minLength": 1 });
    let limit = json!({ "type": "integer", "minimum": 1, "maximum": super::view::LIMIT_MAX });
    let key = json!({ "type": "string", "minLength": 1, "maxLength": 256 });
    let nothing = object(&[], &json!({}));
    let of_task = object(&["task"], &json!({ "task": task }));
    let of_schedule = object(&["schedule"], &json!({ "schedule": name }));
    let of_worker = object(&["node", "boot"], &json!({ "node": name, "boot": task }));
    let wanted = json!({ "node": name, "boot": task, "limit": limit });
    let token = json!({ "type": "string", "description": "<task>.<fence>.<mac>" });
    let all = json!({
        "tasks.create": object(&[], &json!({
            "tasks": { "type": "array", "minItems": 1, "items": task_spec() },
            "task": task_spec(),
            "idempotency_key": key,
        })),
        "tasks.get": of_task,
        "tasks.tree": of_task,
        "tasks.retry": of_task,
        "tasks.subscribe": of_task,
        "tasks.cancel": object(&["task"], &json!({ "task": task, "tree": { "type": "boolean" } })),
        "tasks.list": object(&[], &json!({
            "status": { "enum": ["pending", "in_progress", "completed", "failed", "cancelled"] },
            "executor": name,
            "name": { "type": "string", "description": "a prefix" },
            "tree": task,
            "roots": { "type": "boolean" },
            "limit": limit,
            "after": task,
        })),
        "tasks.events": object(&[], &json!({ "task": task, "after": position(), "limit": limit })),
        "tasks.counts": nothing,
        "schedules.create": schedule_spec(),
        "schedules.list": nothing,
        "schedules.pause": of_schedule,
        "schedules.resume": of_schedule,
        "schedules.delete": of_schedule,
        "schedules.trigger": object(&["schedule"], &json!({ "schedule": name, "idempotency_key": key })),
        "schedules.runs": object(&["schedule"], &json!({ "schedule": name, "limit": limit })),
        "nodes.list": nothing,
        "nodes.set_role": object(&["role"], &json!({
            "role": { "enum": ["auto", "leader", "worker", "observer"] },
        })),
        "register_node": object(&["node", "executors"], &json!({
            "node": name,
            "executors": { "type": "array", "items": { "type": "string" } },
            "capabilities": { "type": "object" },
            "address": { "type": "string" },
            "version": { "type": "string" },
            "boot": task,
        })),
        "heartbeat": of_worker,
        "deregister_node": of_worker,
        "find_executable_tasks": object(&["node", "boot"], &wanted),
        "claim_tasks": object(&["node", "boot"], &wanted),
        "acquire_lease": object(&["node", "boot", "task"], &json!({ "node": name, "boot": task, "task": task })),
        "renew_lease": object(&[], &json!({
            "token": token,
            "tokens": { "type": "array", "items": token },
            "progress": { "type": "number", "minimum": 0, "maximum": 1 },
        })),
        "release_lease": object(&["token"], &json!({ "token": token })),
        "report_completion": object(&["token"], &json!({ "token": token, "result": true })),
        "report_failure": object(&["token", "error"], &json!({
            "token": token,
            "error": { "type": "string" },
            "retry": { "type": "boolean" },
            "cancelled": { "type": "boolean" },
        })),
        "recover_stale_leases": nothing,
    });
    let Value::Object(all) = all else { unreachable!("it is written as an object") };
    all
}

fn object(required: &[&str], properties: &Value) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn position() -> Value {
    let number = json!({ "type": "integer" });
    object(&["transaction", "event"], &json!({ "transaction": number, "event": number }))
}

/// One task of a submission.
fn task_spec() -> Value {
    let name = json!({ "type": "string", "minLength": 1, "maxLength": 256 });
    let names = json!({ "type": "array", "items": { "type": "string" } });
    let dependency = object(&["task"], &json!({ "task": name, "required": { "type": "boolean" } }));
    let count = json!({ "type": "integer", "minimum": 1 });
    let number = json!({ "type": "number", "minimum": 0 });
    object(
        &["name", "executor"],
        &json!({
            "name": name,
            "executor": { "type": "string" },
            "inputs": { "description": "as the schema of the executor says" },
            "parent": name,
            "depends_on": { "type": "array", "items": dependency },
            "priority": { "type": "integer", "minimum": 0, "maximum": 3 },
            "run_at": { "type": "integer", "description": "milliseconds since 1970" },
            "placement": object(&[], &json!({
                "requires_executors": names,
                "requires_capabilities": { "type": "object" },
                "allowed_nodes": names,
                "forbidden_nodes": names,
                "max_parallel_per_node": count,
            })),
            "max_attempts": count,
            "timeout_seconds": count,
            "backoff": object(&[], &json!({
                "initial_ms": number, "factor": number, "max_ms": number, "jitter": number,
            })),
        }),
    )
}

fn schedule_spec() -> Value {
    let text = json!({ "type": "string" });
    let cron = object(&["expression"], &json!({ "expression": text, "time_zone": text }));
    let interval = object(&["seconds"], &json!({ "seconds": { "type": "integer", "minimum": 1 } }));
    let once =
        object(&["at"], &json!({ "at": { "type": "integer", "description": "milliseconds since 1970" } }));
    object(
        &["name", "trigger", "tree"],
        &json!({
            "name": { "type": "string", "minLength": 1 },
            "trigger": { "oneOf": [
                object(&["cron"], &json!({ "cron": cron })),
                object(&["interval"], &json!({ "interval": interval })),
                object(&["once"], &json!({ "once": once })),
            ] },
            "missed": { "enum": ["coalesce", "catch_up", "skip"] },
            "tree": object(&["tasks"], &json!({
                "tasks": { "type": "array", "minItems": 1, "items": task_spec() },
                "idempotency_key": text,
            })),
        }),
    )
}

#[cfg(test)]
mod tests {
    use hyperscale_api::Method;
    use hyperscale_tasks::domain::{Placement, ScheduleSpec, TaskSpec};

    use super::*;

    #[test]
    fn every_method_is_described() {
        let described: Vec<String> = methods().keys().cloned().collect();
        let mut names = Method::TASK_NAMES.map(str::to_owned).to_vec();
        names.retain(|name| !described.contains(name));
        assert_eq!((described.len(), names), (Method::TASK_NAMES.len(), Vec::new()));
    }

    #[test]
    fn schemas_know_every_member_of_what_is_read() {
        let mut task = TaskSpec::new("a", "wait", json!({ "duration": 1 }));
        task.parent = Some("b".to_owned());
        task.run_at = Some(hyperscale_tasks::domain::Timestamp(1));
        task.timeout_seconds = Some(1);
        task.placement = Placement { max_parallel_per_node: Some(1), ..Placement::default() };
        let validator = jsonschema::validator_for(&methods()["tasks.create"]).unwrap();
        let created = json!({ "task": task, "idempotency_key": "k" });
        assert!(validator.is_valid(&created), "{:?}", validator.validate(&created).unwrap_err().to_string());
        assert!(!validator.is_valid(&json!({ "task": { "name": "a", "executor": "wait", "inptus": {} } })));
        let schedule = json!({
            "name": "s", "trigger": { "cron": { "expression": "* * * * *" } }, "tree": { "tasks": [task] },
        });
        assert!(serde_json::from_value::<ScheduleSpec>(schedule.clone()).is_ok());
        let validator = jsonschema::validator_for(&methods()["schedules.create"]).unwrap();
        assert!(
            validator.is_valid(&schedule),
            "{:?}",
            validator.validate(&schedule).unwrap_err().to_string()
        );
    }
}
