//! What watching a run costs: the live screen and the exporters against the same run without them.
//!
//! Everything shares the client's core, so that what a face takes is missing from the load. Only ratios are told: the
//! screen runs in a terminal that `script` makes, and the memory of that says nothing.

use std::net::UdpSocket;

use anyhow::{Context, Result, ensure};

use super::{CONNECTIONS, Findings, ratio_outcome};
use crate::bench::client::{self, CLIENT_CPU, Client, OURS, PATH_IS_NO_TEXT};
use crate::bench::contest::{Contest, Sample};
use crate::bench::goal::Bound::AtLeast;
use crate::bench::lab::Lab;
use crate::bench::process::Invocation;

/// What is left of the throughput with a face: 2 % may go.
const LEFT: f64 = 0.98;

pub(super) fn measure(lab: &Lab, findings: &mut Findings) -> Result<()> {
    let (server, url) = lab.minimal("Hello, World!")?;
    let receivers = Receivers::start(lab)?;
    let load = client::closed(CONNECTIONS, lab.seconds);
    let exporting = format!("{load} {}", receivers.flags);
    let (screen, exporters) = (format!("{OURS}, screen"), format!("{OURS}, exporters"));
    let clients = [
        lab.ours(OURS, &url, &load)?,
        on_screen(lab, &screen, &url, &load)?,
        lab.ours(&exporters, &url, &exporting)?,
    ];
    let contest = Contest::hold(lab, "what watching costs, minimal server", &server, &clients)?;
    ensure!(contest.miscounted == 0, "{} requests were counted wrong", contest.miscounted);
    for (goal, name) in [
        ("throughput with the live screen", screen),
        ("throughput with five exporters, once per second", exporters),
    ] {
        let outcome = ratio_outcome(contest.ratio(&name, Sample::rate));
        findings.add(goal, "× without", AtLeast(LEFT), None, outcome);
    }
    Ok(())
}

/// Our client with its screen, in a terminal nobody looks at. The result goes to a file, then to stdout: with `--json`
/// there would be no screen.
fn on_screen(lab: &Lab, name: &str, url: &str, flags: &str) -> Result<Client> {
    let text = |path: &std::path::Path| path.to_str().map(str::to_owned);
    let program = text(lab.hyperscale()?).context(PATH_IS_NO_TEXT)?;
    let result = text(&lab.folder.join("screen.json")).context(PATH_IS_NO_TEXT)?;
    let run = format!(
        "stty rows 40 cols 120; TERM=xterm-256color {program} run {url} --cores 1 {flags} --report {result} > /dev/null"
    );
    let line = format!("script -qec '{run}' /dev/null > /dev/null < /dev/null && cat {result}");
    Ok(Client { name: name.to_owned(), invocation: Invocation::new(CLIENT_CPU, ["sh", "-c", &line]) })
}

/// Whoever takes what is exported.
struct Receivers {
    flags: String,
    /// Nobody reads them: datagrams that find them full are lost, which costs the sender the same.
    _sockets: [UdpSocket; 2],
    _http: crate::bench::server::Nginx,
}

impl Receivers {
    fn start(lab: &Lab) -> Result<Self> {
        let sockets = [UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?];
        let [statsd, influx] = [sockets[0].local_addr()?, sockets[1].local_addr()?];
        let http = lab.nginx()?;
        let csv = lab.folder.join("export.csv");
        let csv = csv.to_str().context(PATH_IS_NO_TEXT)?;
        let targets = [
            "prometheus://127.0.0.1:0".to_owned(),
            format!("statsd://{statsd}"),
            format!("influx+udp://{influx}"),
            format!("otlp+{}", http.plain),
            format!("csv:{csv}"),
        ];
        let flags = targets.map(|target| format!("--export {target}")).join(" ");
        Ok(Self { flags, _sockets: sockets, _http: http })
    }
}
