//! Submissions: files inline and as blobs, always at the server that gets the submission.

use hyperscale_api::error::PlanProblem;
use hyperscale_api::method::{BlobHash, Content, PlanFile, Submit};
use hyperscale_api::{CallError, ErrorCode, Method, RpcError};
use hyperscale_types::ExitCode;
use serde_json::{Value, json};

use crate::support::{Node, client};

fn submitted() -> Value {
    json!({"job": "j", "status": "queued", "token": null, "job_leader": null, "queue_position": 2,
        "datacenters": [], "warnings": ["no worker is registered"]})
}

fn submission(file: usize) -> Submit {
    let mut submit = Submit::new("plan.yaml", "workflows: {}");
    submit.variables.insert("user".into(), "ada".into());
    submit.options.insert("timeout".into(), json!("10m"));
    submit.files.push(PlanFile { path: "users.csv".into(), content: Content::Inline(vec![7; file].into()) });
    submit
}

fn received(node: &Node) -> Submit {
    let Some(Method::JobsSubmit(submit)) = node.backend.methods_called().pop() else {
        panic!("no submission")
    };
    *submit
}

#[tokio::test]
async fn small_files_travel_in_the_request() {
    let node = Node::start().await;
    node.backend.respond(Ok(submitted()));
    let response = client(&[node.url()]).submit(submission(1_000)).await.unwrap();
    assert_eq!((response.job.as_str(), response.queue_position), ("j", Some(2)));
    assert_eq!(response.warnings, ["no worker is registered"]);
    let mut wanted = submission(1_000);
    wanted.idempotency_key = received(&node).idempotency_key;
    assert!(wanted.idempotency_key.is_some());
    assert_eq!(received(&node), wanted);
    assert!(node.backend.blobs.lock().unwrap().is_empty());
}

#[tokio::test]
async fn large_files_are_uploaded_first() {
    let node = Node::start().await;
    node.backend.respond(Ok(submitted()));
    client(&[node.url()]).submit(submission(3 << 20)).await.unwrap();
    assert_eq!(received(&node).files[0].content, Content::Blobs(vec![BlobHash([0; 32])]));
    assert_eq!(node.backend.blobs.lock().unwrap()[0].len(), 3 << 20);
}

#[tokio::test]
async fn files_are_uploaded_again_to_the_server_that_takes_the_submission() {
    let (one, other) = (Node::start().await, Node::start().await);
    one.backend.respond(Err(RpcError::new(ErrorCode::QuorumUnavailable, "1 of 2 needed voters")));
    other.backend.respond(Ok(submitted()));
    client(&[one.url(), other.url()]).submit(submission(2 << 20)).await.unwrap();
    for node in [&one, &other] {
        assert_eq!(node.backend.blobs.lock().unwrap().len(), 1);
    }
    assert_eq!(received(&one).idempotency_key, received(&other).idempotency_key);
}

#[tokio::test]
async fn problems_of_a_plan_arrive_with_their_places() {
    let node = Node::start().await;
    let problem = PlanProblem {
        severity: "error".into(),
        file: "plan.yaml".into(),
        line: 3,
        column: 7,
        message: "unknown key `vuz`".into(),
        hint: Some("did you mean `vus`?".into()),
        snippet: None,
    };
    let error = RpcError::new(ErrorCode::PlanInvalid, "the plan has 1 problem")
        .problems(std::slice::from_ref(&problem));
    node.backend.respond(Err(error));
    let error = client(&[node.url()]).submit(submission(10)).await.unwrap_err();
    assert_eq!(error.exit_code(), ExitCode::PlanInvalid);
    let CallError::Refused(error) = error else { panic!("{error}") };
    assert_eq!(error.details().problems, [problem]);
}

#[tokio::test]
async fn plan_beyond_its_limit_is_refused_without_a_request() {
    let node = Node::start().await;
    let error = client(&[node.url()]).submit(Submit::new("p.yaml", vec![b'#'; (1 << 20) + 1])).await;
    assert!(matches!(error, Err(CallError::TooLarge { .. })));
    assert!(node.backend.methods_called().is_empty());
}

#[tokio::test]
async fn plan_of_the_largest_size_arrives_as_a_blob() {
    let node = Node::start().await;
    node.backend.respond(Ok(submitted()));
    client(&[node.url()]).submit(Submit::new("p.yaml", vec![b'#'; 1 << 20])).await.unwrap();
    assert!(matches!(received(&node).plan.content, Content::Blobs(blobs) if blobs.len() == 1));
}
