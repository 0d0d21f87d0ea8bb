//! What a small response does not show: large bodies in both directions, and a connection for every request.

use std::fs;

use anyhow::{Context, Result};

use super::{CONNECTIONS, Findings, HTTP2_CONNECTIONS, HTTP2_STREAMS, ratio_outcome};
use crate::bench::client::{self, Client, OURS, PATH_IS_NO_TEXT, Work};
use crate::bench::contest::{Contest, Sample};
use crate::bench::goal::Bound::AtMost;
use crate::bench::lab::Lab;
use crate::bench::server::{BODIES, CLOSING, Nginx, UPLOAD};

const UPLOAD_BYTES: usize = 1_000_000;
/// From this size on few connections with one request each are enough; those that the end of a run cuts off would count
/// too much otherwise.
const LARGE: usize = 1_000_000;
const LARGE_CONNECTIONS: u32 = 8;

/// How requests travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Http1,
    Https,
    Http2,
}

impl Way {
    const ALL: [Self; 3] = [Self::Http1, Self::Https, Self::Http2];

    fn name(self) -> &'static str {
        match self {
            Self::Http1 => "HTTP/1.1",
            Self::Https => "HTTPS",
            Self::Http2 => "HTTP/2",
        }
    }

    fn url(self, nginx: &Nginx, path: &str) -> String {
        let base = match self {
            Self::Http1 => &nginx.plain,
            Self::Https => &nginx.tls,
            Self::Http2 => &nginx.h2c,
        };
        format!("{}{path}", base.trim_end_matches('/'))
    }

    /// Connections, and streams on each.
    fn width(self, bytes: usize) -> (u32, u32) {
        match (self, bytes >= LARGE) {
            (_, true) => (LARGE_CONNECTIONS, 1),
            (Self::Http2, false) => (HTTP2_CONNECTIONS, HTTP2_STREAMS),
            (_, false) => (CONNECTIONS, 1),
        }
    }

    /// Our flags for this way and as many virtual users as streams.
    fn flags(self, (connections, streams): (u32, u32), seconds: u64) -> String {
        let load = client::closed(connections * streams, seconds);
        match self {
            Self::Http1 => load,
            Self::Https => format!("{load} --insecure"),
            Self::Http2 => format!("{load} --http2 --connections {connections}"),
        }
    }

    /// The most CPU per request that is good enough, and the peer it is compared with.
    fn goal(self) -> (f64, &'static str) {
        match self {
            Self::Http1 | Self::Https => (1.0, "× wrk"),
            Self::Http2 => (1.1, "× h2load"),
        }
    }

    /// Holds the contest and adds its goal.
    fn compare(
        self,
        (lab, findings): (&Lab, &mut Findings),
        what: &str,
        nginx: &Nginx,
        clients: &[Client],
    ) -> Result<()> {
        let contest = Contest::hold(lab, &format!("{what}, nginx"), &nginx.server, clients)?;
        let (must, unit) = self.goal();
        let outcome = ratio_outcome(contest.ratio(OURS, Sample::cpu_us));
        findings.add(&format!("CPU per request, {what}"), unit, AtMost(must), None, outcome);
        findings.contests.push(contest);
        Ok(())
    }
}

/// Responses with large bodies.
pub(super) fn bodies(lab: &Lab, findings: &mut Findings) -> Result<()> {
    let nginx = lab.nginx()?;
    for (name, bytes) in BODIES {
        for way in Way::ALL {
            let url = way.url(&nginx, &format!("/bodies/{bytes}"));
            let (connections, streams) = way.width(bytes);
            let work = Work { url: &url, connections, seconds: lab.seconds };
            let peer = if way == Way::Http2 { client::h2load(work, streams) } else { client::wrk(work) };
            let ours = lab.ours(OURS, &url, &way.flags((connections, streams), lab.seconds))?;
            let what = format!("{}, bodies of {name}", way.name());
            way.compare((lab, findings), &what, &nginx, &[peer, ours])?;
        }
    }
    Ok(())
}

/// Requests with large bodies.
pub(super) fn uploads(lab: &Lab, findings: &mut Findings) -> Result<()> {
    let (_upstream, upstream_url) = lab.minimal("stored")?;
    let nginx = lab.nginx_before(&upstream_url)?;
    let file = lab.folder.join("upload");
    fs::write(&file, vec![b'x'; UPLOAD_BYTES])?;
    let file = file.to_str().context(PATH_IS_NO_TEXT)?;
    for way in Way::ALL {
        let url = way.url(&nginx, UPLOAD);
        let (connections, streams) = way.width(UPLOAD_BYTES);
        let work = Work { url: &url, connections, seconds: lab.seconds };
        let peer = match way {
            Way::Http2 => client::h2load_upload(work, streams, file),
            Way::Http1 | Way::Https => client::wrk_upload(&lab.folder, work, UPLOAD_BYTES)?,
        };
        let flags = format!("{} --body @{file}", way.flags((connections, streams), lab.seconds));
        let what = format!("{}, uploads of 1 MB", way.name());
        way.compare((lab, findings), &what, &nginx, &[peer, lab.ours(OURS, &url, &flags)?])?;
    }
    Ok(())
}

/// A connection for every request; over TLS a full handshake each, as the server resumes no session.
pub(super) fn connections(lab: &Lab, findings: &mut Findings) -> Result<()> {
    let nginx = lab.nginx()?;
    for way in [Way::Http1, Way::Https] {
        let url = way.url(&nginx, CLOSING);
        let work = Work { url: &url, connections: CONNECTIONS, seconds: lab.seconds };
        let ours = lab.ours(OURS, &url, &way.flags((CONNECTIONS, 1), lab.seconds))?;
        let what = format!("{}, a new connection for every request", way.name());
        way.compare((lab, findings), &what, &nginx, &[client::wrk(work), ours])?;
    }
    Ok(())
}
