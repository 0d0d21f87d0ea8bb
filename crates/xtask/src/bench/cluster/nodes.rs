//! Managers and workers as processes.

use std::fs;
use std::net::{SocketAddrV4, TcpListener};
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::bench::call::Caller;
use crate::bench::lab::Lab;
use crate::bench::node::{Node, wait_for};

/// Three managers and some workers of one core each.
pub(super) struct Cluster {
    program: String,
    folder: PathBuf,
    listen: Vec<SocketAddrV4>,
    cpus: [String; 2],
    pub(super) managers: Vec<Option<Node>>,
    pub(super) workers: Vec<Option<Node>>,
}

impl Cluster {
    /// Starts all of it: managers on the first of `cpus`, workers on the second, both as `taskset -c` reads it.
    pub(super) fn start(lab: &Lab, workers: usize, cpus: [&str; 2]) -> Result<Self> {
        let folder = lab.folder.join("cluster");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        let program = lab.hyperscale()?.to_str().context("the path of the binary is no text")?.to_owned();
        let listen = (0..3).map(|_| free_address()).collect::<Result<_>>()?;
        let mut cluster = Self {
            program,
            folder,
            listen,
            cpus: cpus.map(str::to_owned),
            managers: vec![None, None, None],
            workers: Vec::new(),
        };
        for index in 0..3 {
            cluster.start_manager(index)?;
        }
        for index in 0..workers {
            cluster.workers.push(None);
            cluster.start_worker(index)?;
        }
        cluster.wait_until_whole()?;
        Ok(cluster)
    }

    pub(super) fn start_manager(&mut self, index: usize) -> Result<()> {
        let data = self.folder.join(format!("m{index}"));
        fs::create_dir_all(&data)?;
        let (id, listen) = (format!("m{index}"), self.listen[index].to_string());
        let data = data.to_str().context("the path of the folder is no text")?;
        let words = [
            &self.program,
            "manager",
            "--id",
            &id,
            "--listen",
            &listen,
            "--peers",
            &self.peers(),
            "--data",
            data,
        ];
        self.managers[index] = Some(Node::start(&self.cpus[0], &words, &[])?);
        Ok(())
    }

    pub(super) fn start_worker(&mut self, index: usize) -> Result<()> {
        let id = format!("w{index}");
        let words = [&self.program, "worker", "--id", &id, "--managers", &self.peers(), "--cores", "1"];
        self.workers[index] = Some(Node::start(&self.cpus[1], &words, &[])?);
        Ok(())
    }

    fn peers(&self) -> String {
        self.listen.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    }

    /// Waits until all managers reach each other, and all workers that run are registered.
    pub(super) fn wait_until_whole(&self) -> Result<()> {
        let workers = self.workers.iter().flatten().count();
        for index in 0..self.managers.len() {
            wait_for("a whole cluster", || {
                let status = self.status(index).ok()?;
                let owned = status["workers"].as_array()?.iter().filter(|worker| worker["owner"].is_string());
                let is_whole = status["quorum"]["reachable"] == 3 && status["leader"].is_string();
                (is_whole && owned.count() == workers).then_some(())
            })?;
        }
        Ok(())
    }

    /// Where a manager serves its API.
    pub(super) fn http(&self, index: usize) -> Result<SocketAddrV4> {
        Ok(self.managers[index].as_ref().context("that manager runs")?.http)
    }

    pub(super) fn call(&self, index: usize, method: &str, params: &Value) -> Result<Value> {
        Caller::connect(self.http(index)?)?.call(method, params)
    }

    pub(super) fn status(&self, index: usize) -> Result<Value> {
        self.call(index, "cluster.status", &json!({}))
    }

    /// Managers that run.
    pub(super) fn running(&self) -> Vec<usize> {
        (0..self.managers.len()).filter(|index| self.managers[*index].is_some()).collect()
    }

    /// The manager that leads the group, as one that runs sees it.
    pub(super) fn leader(&self) -> Result<usize> {
        let asked = *self.running().first().context("a manager runs")?;
        wait_for("a leader", || number(&self.status(asked).ok()?["leader"]))
    }

    /// Submits a plan; the job.
    pub(super) fn submit(&self, index: usize, plan: &str) -> Result<String> {
        let response = self.call(index, "jobs.submit", &submission(plan))?;
        Ok(response["job"].as_str().context("a submission has a job")?.to_owned())
    }

    /// Waits for the end of a job; its result.
    pub(super) fn result(&self, index: usize, job: &str) -> Result<Value> {
        let result =
            wait_for("the end of a job", || self.call(index, "jobs.result", &json!({ "job": job })).ok())?;
        ensure!(result["final"] == true, "a result is final: {result}");
        Ok(result)
    }

    pub(super) fn cancel(&self, index: usize, job: &str) -> Result<()> {
        self.call(index, "jobs.cancel", &json!({ "job": job }))?;
        self.result(index, job).map(drop)
    }
}

/// Parameters that submit this plan.
pub(super) fn submission(plan: &str) -> Value {
    json!({ "plan": { "name": "bench.yaml", "text": plan } })
}

/// The number of a node in its id.
pub(super) fn number(id: &Value) -> Option<usize> {
    id.as_str()?.get(1..)?.parse().ok()
}

/// An address with a port that is free now.
fn free_address() -> Result<SocketAddrV4> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string().parse()?)
}

/// Bytes that a process has sent on connections to these ports and that were acknowledged.
pub(super) fn sent_bytes(pid: u32, ports: &[u16]) -> Result<u64> {
    let output =
        Command::new("ss").args(["-Htinp", "state", "established"]).output().context("cannot start ss")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = text.lines().collect();
    let is_ours = |line: &str| {
        let to = |port: &u16| {
            line.split_whitespace().nth(3).is_some_and(|peer| peer.ends_with(&format!(":{port}")))
        };
        line.contains(&format!("pid={pid},")) && ports.iter().any(to)
    };
    let acked = |line: &str| {
        line.split_whitespace()
            .find_map(|word| word.strip_prefix("bytes_acked:")?.parse::<u64>().ok())
            .unwrap_or(0)
    };
    Ok(lines.windows(2).filter(|pair| is_ours(pair[0])).map(|pair| acked(pair[1])).sum())
}

impl Cluster {
    /// Ports on which managers listen for nodes.
    pub(super) fn ports(&self) -> Vec<u16> {
        self.listen.iter().map(SocketAddrV4::port).collect()
    }
}
