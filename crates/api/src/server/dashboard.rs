//! The files of the dashboard, which are part of the program. They hold nothing secret, so that they need no token: the page asks for it.

use hyper::StatusCode;
use hyper::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderValue, X_CONTENT_TYPE_OPTIONS};

use super::reply::{self, Reply};

/// Path, content type and text of each file.
const FILES: &[(&str, &str, &str)] = &[
    ("/", "text/html; charset=utf-8", include_str!("../dashboard/index.html")),
    ("/ui/app.js", "text/javascript; charset=utf-8", include_str!("../dashboard/app.js")),
    ("/ui/style.css", "text/css; charset=utf-8", include_str!("../dashboard/style.css")),
];

/// The page loads from its own server only, and is shown in no frame.
const POLICY: &str =
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'";

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
