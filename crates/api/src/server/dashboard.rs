//! The files of the dashboard, which are part of the program. They hold nothing secret, so that they need no token: the page asks for it.

use hyper::StatusCode;
use hyper::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderValue, X_CONTENT_TYPE_OPTIONS};

use super::reply::{self, Reply};

const HTML: &str = "text/html; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
/// Path, content type and text of each file.
const FILES: &[(&str, &str, &str)] = &[
    ("/", HTML, include_str!("../dashboard/index.html")),
    ("/ui/style.css", "text/css; charset=utf-8", include_str!("../dashboard/style.css")),
    ("/ui/icon.svg", "image/svg+xml", include_str!("../dashboard/icon.svg")),
    ("/ui/app.js", JS, include_str!("../dashboard/app.js")),
    ("/ui/chart.js", JS, include_str!("../dashboard/chart.js")),
    ("/ui/counts.js", JS, include_str!("../dashboard/counts.js")),
    ("/ui/dialog.js", JS, include_str!("../dashboard/dialog.js")),
    ("/ui/dom.js", JS, include_str!("../dashboard/dom.js")),
    ("/ui/events.js", JS, include_str!("../dashboard/events.js")),
    ("/ui/format.js", JS, include_str!("../dashboard/format.js")),
    ("/ui/nodes.js", JS, include_str!("../dashboard/nodes.js")),
    ("/ui/pace.js", JS, include_str!("../dashboard/pace.js")),
    ("/ui/result.js", JS, include_str!("../dashboard/result.js")),
    ("/ui/rpc.js", JS, include_str!("../dashboard/rpc.js")),
    ("/ui/scale.js", JS, include_str!("../dashboard/scale.js")),
    ("/ui/schedule.js", JS, include_str!("../dashboard/schedule.js")),
    ("/ui/schedules.js", JS, include_str!("../dashboard/schedules.js")),
    ("/ui/stream.js", JS, include_str!("../dashboard/stream.js")),
    ("/ui/task.js", JS, include_str!("../dashboard/task.js")),
    ("/ui/tasks.js", JS, include_str!("../dashboard/tasks.js")),
    ("/ui/tree.js", JS, include_str!("../dashboard/tree.js")),
];

/// The page loads from its own server only, sends nothing elsewhere, and is shown in no frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The file at a path.
pub(super) fn file(path: &str) -> Option<Reply> {
    let (_, kind, text) = FILES.iter().find(|(known, ..)| *known == path)?;
    let mut reply = reply::text(StatusCode::OK, kind, *text);
    let headers = reply.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Another version of the program has other files at the same paths.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Some(reply)
}
