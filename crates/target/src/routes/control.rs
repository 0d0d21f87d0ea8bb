//! The `/__` routes: about the target itself, never counted.

use serde_json::json;

use crate::reply::Reply;
use crate::server::Shared;

/// Answers a `/__` route.
pub(crate) async fn control(method: &str, path: &str, shared: &Shared) -> Reply {
    match (path, method) {
        ("/__stats", "GET" | "HEAD") => {
            shared.settle().await;
            Reply::json(200, &json!(shared.books.snapshot())).header("cache-control", "no-store")
        }
        ("/__reset", "POST") => {
            shared.settle().await;
            shared.reset();
            Reply::json(200, &json!({"reset": true}))
        }
        ("/__stats", _) => Reply::text(405, "use GET\n").header("allow", "GET, HEAD"),
        ("/__reset", _) => Reply::text(405, "use POST\n").header("allow", "POST"),
        _ => Reply::text(404, "unknown control route; there are /__stats and /__reset\n"),
    }
}
