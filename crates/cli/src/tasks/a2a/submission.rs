//! From a message to a tree.
//!
//! | part | becomes |
//! | --- | --- |
//! | data with `executor` (a skill of the card), `inputs`, and what else a task has | one task |
//! | data with `tasks`, by name as in files or a list as in `tasks.create` | a tree |
//! | text that is the name of a skill | one task without inputs |
//! | text that is YAML or JSON of any of the above | the same |
//!
//! Data wins: texts beside it are kept and not read. Paths are not followed: a node reads no files for others.

use std::collections::BTreeSet;

use hyperscale_api::RpcError;
use hyperscale_plan::Problem;
use hyperscale_tasks::domain::{TaskSpec, TreeSpec};
use serde_json::{Map, Value, json};

use super::errors;
use super::message::{Content, Message};
use crate::errors::CommandError;
use crate::tasks::file::TreeFile;

/// Problems of a text that an error tells.
const PROBLEMS_MAX: usize = 3;
/// Bytes of a message's id: it is a part of the idempotency key, which has 256.
const ID_MAX: usize = 200;

/// What a message may ask for.
const EXPECTED: &str = "send data such as {\"executor\": \"wait\", \"inputs\": {\"duration\": 1}}, data with a tree in `tasks`, or the same \
                        as YAML in a text";

/// The tree that a message asks for. Sending the message again is the same submission.
pub(super) fn tree(message: &Message, skills: &BTreeSet<String>) -> Result<TreeSpec, RpcError> {
    if message.id.len() > ID_MAX {
        return Err(errors::invalid(format!("`message.messageId` must have at most {ID_MAX} bytes")));
    }
    let data = message.parts.iter().filter_map(|part| match &part.content {
        Content::Data(data) => Some(data),
        Content::Text(_) => None,
    });
    let tasks = match data.collect::<Vec<_>>()[..] {
        [] => of_text(&texts(message), skills)?,
        [data] => of_data(data, skills)?,
        _ => return Err(errors::invalid("a message has one data part: one task, or a tree in `tasks`")),
    };
    Ok(TreeSpec { tasks, idempotency_key: Some(format!("a2a:{}", message.id)) })
}

fn texts(message: &Message) -> String {
    let texts = message.parts.iter().filter_map(|part| match &part.content {
        Content::Text(text) => Some(text.as_str()),
        Content::Data(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn of_text(text: &str, skills: &BTreeSet<String>) -> Result<Vec<TaskSpec>, RpcError> {
    if text.trim().is_empty() {
        return Err(asks_for_nothing(skills));
    }
    if skills.contains(text.trim()) {
        return Ok(vec![TaskSpec::new(text.trim(), text.trim(), json!({}))]);
    }
    let mut file = TreeFile::of_message(text).map_err(|error| unreadable(&error))?;
    match file.value() {
        Value::Object(members) if members.contains_key("tasks") => {
            Ok(file.tree().map_err(|error| unreadable(&error))?.tasks)
        }
        data => of_data(&data, skills),
    }
}

fn of_data(data: &Value, skills: &BTreeSet<String>) -> Result<Vec<TaskSpec>, RpcError> {
    let Value::Object(members) = data else { return Err(asks_for_nothing(skills)) };
    match (members.get("executor"), members.get("tasks")) {
        (Some(_), None) => Ok(vec![single(members.clone())?]),
        (None, Some(Value::Array(_))) => listed(members.clone()),
        (None, Some(_)) => {
            let mut file = TreeFile::of_message(&data.to_string()).map_err(|error| unreadable(&error))?;
            Ok(file.tree().map_err(|error| unreadable(&error))?.tasks)
        }
        _ => Err(asks_for_nothing(skills)),
    }
}

/// One task; without a name it has that of its executor.
fn single(mut members: Map<String, Value>) -> Result<TaskSpec, RpcError> {
    let name = members["executor"].clone();
    members.entry("name").or_insert(name);
    let wrong = |error| errors::invalid(format!("the task of the message: {error}"));
    serde_json::from_value(members.into()).map_err(wrong)
}

fn listed(members: Map<String, Value>) -> Result<Vec<TaskSpec>, RpcError> {
    let wrong = |error| errors::invalid(format!("the tree of the message: {error}"));
    let tree: TreeSpec = serde_json::from_value(members.into()).map_err(wrong)?;
    Ok(tree.tasks)
}

fn asks_for_nothing(skills: &BTreeSet<String>) -> RpcError {
    let known: Vec<&str> = skills.iter().map(String::as_str).collect();
    errors::invalid(format!("the message asks for no task; skills: {}", known.join(", "))).fix(EXPECTED)
}

fn unreadable(error: &CommandError) -> RpcError {
    let CommandError::Plan(problems) = error else { return errors::invalid(error.to_string()) };
    let tell = |problem: &Problem| {
        let hint = problem.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("line {}: {}{hint}", problem.line, problem.message)
    };
    let told: Vec<String> = problems.iter().take(PROBLEMS_MAX).map(tell).collect();
    let more = problems.len().saturating_sub(PROBLEMS_MAX);
    let more = if more > 0 { format!("; {more} more") } else { String::new() };
    errors::invalid(format!("the tree of the message: {}{more}", told.join("; "))).fix(EXPECTED)
}

#[cfg(test)]
mod tests {
    use hyperscale_api::A2aVersion;

    use super::*;

    fn ask(parts: &Value) -> Result<Vec<(String, String)>, String> {
        let message = json!({ "messageId": "m1", "role": "ROLE_USER", "parts": parts });
        let skills = ["http", "wait"].map(str::to_owned).into();
        let message = Message::read(A2aVersion::V1_0, message).unwrap();
        let tree = tree(&message, &skills).map_err(|error| error.message)?;
        assert_eq!(tree.idempotency_key.as_deref(), Some("a2a:m1"));
        Ok(tree.tasks.into_iter().map(|task| (task.name, task.executor)).collect())
    }

    fn one(name: &str, executor: &str) -> Vec<(String, String)> {
        vec![(name.to_owned(), executor.to_owned())]
    }

    #[test]
    fn data_and_text_become_tasks() {
        let wait = json!({ "executor": "wait", "inputs": { "duration": 1 }, "max_attempts": 1 });
        assert_eq!(ask(&json!([{ "data": wait }])), Ok(one("wait", "wait")));
        let named = json!({ "executor": "wait", "name": "pause", "inputs": { "duration": 1 } });
        assert_eq!(ask(&json!([{ "text": "please" }, { "data": named }])), Ok(one("pause", "wait")));
        assert_eq!(ask(&json!([{ "text": " wait\n" }])), Ok(one("wait", "wait")));
        assert_eq!(
            ask(&json!([{ "text": "executor: wait\ninputs: { duration: 1 }" }])),
            Ok(one("wait", "wait"))
        );
        assert_eq!(ask(&json!([{ "text": "{\"executor\": \"wait\"}" }])), Ok(one("wait", "wait")));
        let two = Ok(vec![("a".to_owned(), "wait".to_owned()), ("b".to_owned(), "http".to_owned())]);
        let text = "tasks:\n  a: { executor: wait }\n  b: { executor: http, depends: [a] }\n";
        assert_eq!(ask(&json!([{ "text": text }])), two);
        let by_name = json!({ "tasks": { "a": { "executor": "wait" }, "b": { "executor": "http", "depends": ["a"] } } });
        assert_eq!(ask(&json!([{ "data": by_name }])), two);
        let list =
            json!({ "tasks": [{ "name": "a", "executor": "wait" }, { "name": "b", "executor": "http" }] });
        assert_eq!(ask(&json!([{ "data": list }])), two);
    }

    #[test]
    fn messages_that_ask_for_no_task_say_what_they_could_ask_for() {
        for parts in [
            json!([{ "text": "please test my shop" }]),
            json!([{ "text": "" }]),
            json!([{ "data": { "skill": "wait" } }]),
            json!([{ "data": [1] }]),
            json!([{ "data": { "executor": "wait", "tasks": [] } }]),
        ] {
            let told = ask(&parts).unwrap_err();
            assert_eq!(told, "the message asks for no task; skills: http, wait", "{parts}");
        }
        let twice = json!([{ "data": { "executor": "wait" } }, { "data": { "executor": "wait" } }]);
        assert!(ask(&twice).unwrap_err().contains("one data part"));
        let misspelled = json!([{ "data": { "executor": "wait", "inptus": {} } }]);
        assert!(ask(&misspelled).unwrap_err().contains("unknown field `inptus`"));
        let told = ask(&json!([{ "text": "tasks:\n  a: { excutor: wait }" }])).unwrap_err();
        assert!(told.starts_with("the tree of the message: line 2: "), "{told}");
        assert!(told.contains("`excutor` is not known here (did you mean `executor`?)"), "{told}");
    }

    #[test]
    fn paths_of_plans_are_not_followed() {
        let text = "tasks: { a: { executor: load_test, inputs: { plan: Cargo.toml } } }";
        let message = Message::from_agent("m1".to_owned(), text.to_owned());
        let tree = tree(&message, &BTreeSet::new()).unwrap();
        assert_eq!(tree.tasks[0].inputs["plan"], "Cargo.toml", "the executor refuses it");
    }
}
