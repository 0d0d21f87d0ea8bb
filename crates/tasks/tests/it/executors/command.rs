//! `command` with real programs.

use hyperscale_tasks::domain::Status;
use hyperscale_tasks::runtime::executors::Command;
use hyperscale_tasks::runtime::{Executor as _, Executors};
use rustix::process::{Pid, test_kill_process};
use serde_json::json;

use super::Node;

async fn node() -> Node {
    Node::start(Executors::default().with(Command::new(["echo", "env", "sh", "sleep"]))).await
}

#[test]
fn program_that_is_not_allowed_is_refused_at_submission() {
    let none = Command::new(Vec::<String>::new());
    assert_eq!(
        none.check(&json!({"argv": ["rm", "-r"]})),
        Err("`argv[0]` is `rm`, but no program is allowed on this node; the operator allows it with --allow-command rm".to_owned())
    );
    let some = Command::new(["echo"]);
    assert_eq!(some.check(&json!({"argv": ["echo", "rm"]})), Ok(()));
    assert!(some.check(&json!({"argv": ["/bin/echo"]})).unwrap_err().contains("allowed are: echo"));
}

#[tokio::test]
async fn output_is_the_result_and_no_shell_reads_the_arguments() {
    let node = node().await;
    let task = node.run("command", json!({"argv": ["echo", "$HOME; ls"]})).await;
    assert_eq!(task.result, Some(json!({"exit_code": 0, "stdout": "$HOME; ls\n", "stderr": ""})));
    let script = "head -c 100000 /dev/zero | tr '\\0' x; echo end";
    let result = node.run("command", json!({"argv": ["sh", "-c", script]})).await.result.unwrap();
    let stdout = result["stdout"].as_str().unwrap();
    assert_eq!(
        (stdout.len(), stdout.ends_with("xend\n"), &result["truncated"]),
        (64 << 10, true, &json!(true))
    );
}

#[tokio::test]
async fn environment_is_that_of_the_task_and_not_of_the_node() {
    let node = node().await;
    let inputs = json!({"argv": ["env"], "env": {"MODE": "x", "MY_TOKEN": "hidden"}, "cwd": "/tmp"});
    let task = node.run("command", inputs).await;
    let result = task.result.as_ref().unwrap()["stdout"].as_str().unwrap().to_owned();
    assert!(
        result.contains("MODE=x") && result.contains(&format!("HYPERSCALE_TASK_ID={}", task.id)),
        "{result}"
    );
    // Cargo sets it for tests; it stands for whatever a node has in its environment.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some() && !result.contains("CARGO_MANIFEST_DIR"));
    assert!(
        result.contains("MY_TOKEN=***") && !node.everything(task.id).await.contains("hidden"),
        "{result}"
    );
}

#[tokio::test]
async fn exit_code_other_than_zero_fails_with_the_end_of_stderr() {
    let task = node().await.run("command", json!({"argv": ["sh", "-c", "echo broken >&2; exit 3"]})).await;
    assert_eq!((task.status, task.failures), (Status::Failed, 3));
    assert_eq!(task.error.as_deref(), Some("`sh`: exit code 3: broken"));
}

/// The shell writes its number and that of a child of its own, and ignores the request to end.
const STUBBORN: &str = "trap '' TERM; sleep 1000 & echo $$ $! > \"$0\"; wait; sleep 1000";

async fn numbers(path: &std::path::Path) -> Vec<Pid> {
    loop {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        if text.ends_with('\n') {
            return text.split_whitespace().map(|pid| Pid::from_raw(pid.parse().unwrap()).unwrap()).collect();
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

async fn are_gone(pids: &[Pid]) {
    for pid in pids {
        // A child that nobody has waited for counts as gone.
        let state =
            || std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
        while test_kill_process(*pid).is_ok() && !state().contains(") Z ") {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    }
}

#[tokio::test]
async fn cancelled_program_is_killed_with_its_children() {
    let (node, folder) = (node().await, tempfile::tempdir().unwrap());
    let path = folder.path().join("pids");
    let task = node.submit("command", json!({"argv": ["sh", "-c", STUBBORN, path]})).await;
    let pids = numbers(&path).await;
    assert!(node.world.store.cancel(task).await.unwrap());
    assert_eq!(node.ended(task).await.status, Status::Cancelled);
    are_gone(&pids).await;
}

#[tokio::test]
async fn program_beyond_its_timeout_is_ended_and_the_attempt_fails() {
    let task = node().await.run("command", json!({"argv": ["sleep", "1000"], "timeout": "100ms"})).await;
    assert_eq!(task.error.as_deref(), Some("`sleep`: it did not end within 100ms"));
}

#[tokio::test]
async fn program_that_ended_leaves_nothing_running() {
    let (node, folder) = (node().await, tempfile::tempdir().unwrap());
    let path = folder.path().join("pids");
    let script = "sleep 1000 & echo $! > \"$0\"";
    let task = node.run("command", json!({"argv": ["sh", "-c", script, path]})).await;
    assert_eq!(task.status, Status::Completed);
    are_gone(&numbers(&path).await).await;
}
