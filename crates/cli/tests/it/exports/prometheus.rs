//! A real Prometheus scrapes a run, takes its remote writes, and answers queries with the numbers of the result.

use std::fs;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::receivers::get;
use super::{assert_delivered, counts, exported, failing_target};
use crate::support::{free_address, program, wait_until};

/// A Prometheus of its own, which dies with its owner.
struct Prometheus {
    child: Child,
    address: String,
    _folder: TempDir,
}

impl Prometheus {
    /// Starts one that scrapes this address, if any, and takes remote writes.
    fn start(scrapes: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // It cannot tell which port it got, so a free one is looked for.
        let address = free_address().to_string();
        let jobs = scrapes.map_or(String::new(), |target| {
            format!(
                "scrape_configs:\n  - job_name: hyperscale\n    scrape_interval: 200ms\n    honor_labels: true\n    \
                 static_configs: [ {{ targets: [ \"{target}\" ] }} ]\n"
            )
        });
        fs::write(folder.path().join("prometheus.yml"), jobs).unwrap();
        let child = Command::new(program("prometheus"))
            .arg(format!("--config.file={}", folder.path().join("prometheus.yml").display()))
            .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .arg("--web.enable-remote-write-receiver")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let prometheus = Self { child, address, _folder: folder };
        wait_until("a ready Prometheus", || get(&prometheus.address, "/-/ready"));
        prometheus
    }

    /// The newest value of the one series that fits, even if it has gone stale.
    fn newest(&self, selector: &str) -> Option<u64> {
        let encode = |byte: u8| {
            if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") }
        };
        let query: String = format!("last_over_time({selector}[1h])").bytes().map(encode).collect();
        let answer = get(&self.address, &format!("/api/v1/query?query={query}"))?;
        // A chunked answer has lengths between its lines; the JSON is the longest line.
        let json = answer.lines().max_by_key(|line| line.len())?;
        let answer: Value = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {answer}"));
        let series = answer["data"]["result"].as_array().unwrap_or_else(|| panic!("{answer}"));
        assert!(series.len() <= 1, "several series: {answer}");
        series.first()?["value"][1].as_str()?.parse().ok()
    }

    /// Whether the counts of the result are what a query finds.
    fn assert_holds(&self, [requests, ok, failed]: [u64; 3]) {
        wait_until("the final state", || {
            self.newest("hyperscale_run_finished").filter(|finished| *finished == 1)
        });
        assert_eq!(self.newest("hyperscale_run_requests_total"), Some(requests));
        assert_eq!(self.newest("hyperscale_run_calls_total{outcome=\"ok\"}"), Some(ok));
        assert_eq!(self.newest("hyperscale_run_calls_total{outcome=\"failed\"}"), Some(failed));
        assert_eq!(self.newest("hyperscale_run_latency_seconds_count{outcome=\"ok\"}"), Some(ok));
        let bucket = "hyperscale_run_latency_seconds_bucket{outcome=\"ok\",le=\"60\"}";
        assert_eq!(self.newest(bucket), Some(ok));
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // It may be dead already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn prometheus_scrapes_a_run_to_its_final_numbers() {
    let target = failing_target();
    let process = exported(&target, &["prometheus://127.0.0.1:0?linger=60s".to_owned()]);
    let note = process.wait_for_note("metrics at http://");
    let prometheus =
        Prometheus::start(Some(note.split("http://").nth(1).unwrap().trim_end_matches("/metrics")));
    let result = process.wait().result(0);
    assert_eq!(result.provenance.exports[0].lost, 0, "{:?}", result.provenance.exports);
    prometheus.assert_holds(counts(&result));
}

#[test]
fn prometheus_takes_remote_writes_of_a_run() {
    let (target, prometheus) = (failing_target(), Prometheus::start(None));
    let result = exported(&target, &[format!("prometheus+http://{}", prometheus.address)]).wait().result(0);
    assert_delivered(&result, "prometheus_remote_write");
    prometheus.assert_holds(counts(&result));
}
