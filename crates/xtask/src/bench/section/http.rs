//! Plain requests: HTTP/1.1, HTTP/2, HTTPS, against the peers that speak the same.

use anyhow::Result;

use super::{CONNECTIONS, Findings, HTTP2_CONNECTIONS, HTTP2_STREAMS};
use crate::bench::client::{self, Client, OURS, Work};
use crate::bench::contest::{Contest, Sample};
use crate::bench::goal::Bound::{AtLeast, AtMost};
use crate::bench::lab::Lab;

/// The client is the limit.
pub(super) fn minimal(lab: &Lab, findings: &mut Findings) -> Result<()> {
    let (server, url) = lab.minimal("Hello, World!")?;
    let title = format!("HTTP/1.1 keep-alive, {CONNECTIONS} connections, minimal server");
    let contest = Contest::hold(lab, &title, &server, &http1_clients(lab, &url)?)?;
    findings.add_ratio(
        "CPU per request, HTTP/1.1 keep-alive, `run URL`, minimal server",
        "× wrk",
        (AtMost(0.88), AtMost(0.70)),
        (&contest, Sample::cpu_us),
    );
    findings.add_ratio(
        "requests/s on one core, minimal server",
        "× wrk",
        (AtLeast(1.12), AtLeast(1.35)),
        (&contest, Sample::rate),
    );
    findings.contests.push(contest);
    Ok(())
}

/// The server is the limit.
pub(super) fn nginx(lab: &Lab, findings: &mut Findings) -> Result<()> {
    let nginx = lab.nginx()?;
    let title = format!("HTTP/1.1 keep-alive, {CONNECTIONS} connections, nginx");
    let contest = Contest::hold(lab, &title, &nginx.server, &http1_clients(lab, &nginx.plain)?)?;
    findings.add_ratio(
        "CPU per request, HTTP/1.1 keep-alive, `run URL`, nginx",
        "× wrk",
        (AtMost(1.0), AtMost(0.91)),
        (&contest, Sample::cpu_us),
    );
    findings.contests.push(contest);
    Ok(())
}

fn http1_clients(lab: &Lab, url: &str) -> Result<Vec<Client>> {
    let work = Work { url, connections: CONNECTIONS, seconds: lab.seconds };
    let ours = lab.ours(OURS, url, &client::closed(CONNECTIONS, lab.seconds))?;
    let mut clients = vec![client::wrk(work), ours, client::h2load_h1(work)];
    clients.extend(lab.oha().map(|oha| client::oha(oha, work)));
    Ok(clients)
}

pub(super) fn http2(lab: &Lab, findings: &mut Findings) -> Result<()> {
    let nginx = lab.nginx()?;
    let work = Work { url: &nginx.h2c, connections: HTTP2_CONNECTIONS, seconds: lab.seconds };
    let vus = HTTP2_CONNECTIONS * HTTP2_STREAMS;
    let flags = format!("{} --http2 --connections {HTTP2_CONNECTIONS}", client::closed(vus, lab.seconds));
    let ours = lab.ours(OURS, &nginx.h2c, &flags)?;
    let clients = [client::h2load(work, HTTP2_STREAMS), ours];
    let title = format!("HTTP/2, {HTTP2_CONNECTIONS} connections × {HTTP2_STREAMS} streams, nginx");
    let contest = Contest::hold(lab, &title, &nginx.server, &clients)?;
    findings.add_ratio(
        "CPU per request, HTTP/2, 100 streams per connection",
        "× h2load",
        (AtMost(1.1), AtMost(1.0)),
        (&contest, Sample::cpu_us),
    );
    findings.contests.push(contest);
    Ok(())
}

pub(super) fn https(lab: &Lab, findings: &mut Findings) -> Result<()> {
    let nginx = lab.nginx()?;
    let url = nginx.tls.as_str();
    let work = Work { url, connections: CONNECTIONS, seconds: lab.seconds };
    let flags = format!("{} --insecure", client::closed(CONNECTIONS, lab.seconds));
    let clients = [client::wrk(work), lab.ours(OURS, url, &flags)?];
    let title = format!("HTTPS keep-alive, {CONNECTIONS} connections, nginx");
    let contest = Contest::hold(lab, &title, &nginx.server, &clients)?;
    findings.add_ratio(
        "CPU per request, HTTPS keep-alive",
        "× wrk",
        (AtMost(1.0), AtMost(0.9)),
        (&contest, Sample::cpu_us),
    );
    findings.contests.push(contest);
    Ok(())
}
