//! `hyperscale cluster`: what a cluster is doing, and changes of its nodes.

use std::fmt::Write as _;

use hyperscale_api::method::Page;
use hyperscale_api::response::{
    ClusterEvent, ClusterEventList, ClusterStatus, LeaderList, NodeChange, NodeChangeStatus, NodeList,
};
use hyperscale_types::ExitCode;
use serde::Serialize;

use super::follow_events;
use crate::args::{ClusterArgs, ClusterCommand};
use crate::cluster::remote::{self, RemoteError};
use crate::errors::CommandError;
use crate::printer::Printer;
use crate::settings::Settings;

/// Most events that a manager keeps, which is one page.
pub(super) const EVENTS_MAX: u32 = 1_000;

/// Asks a cluster and shows what it says.
pub(crate) async fn cluster(
    args: ClusterArgs,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let client = remote::client(&args.server)?;
    match args.what {
        ClusterCommand::Status => {
            let status = client.cluster_status().await.map_err(RemoteError::from)?;
            show(&status, &status_text(&status), settings, printer)?;
        }
        ClusterCommand::Members => {
            let members = client.cluster_members(Page::default()).await.map_err(RemoteError::from)?;
            show(&members, &members_text(&members), settings, printer)?;
        }
        ClusterCommand::Leaders => {
            let leaders = client.cluster_leaders().await.map_err(RemoteError::from)?;
            show(&leaders, &leaders_text(&leaders), settings, printer)?;
        }
        ClusterCommand::Events { last, follow: true } => {
            return follow_events::follow(&args.server, last, settings, printer).await;
        }
        ClusterCommand::Events { last, follow: false } => {
            let page = Page { limit: EVENTS_MAX, after: None };
            let mut list = client.cluster_events(page).await.map_err(RemoteError::from)?;
            list.events.drain(..list.events.len().saturating_sub(last));
            show(&list, &events_text(&list), settings, printer)?;
        }
        ClusterCommand::Drain { node } => {
            let change = client.drain(&node).await.map_err(RemoteError::from)?;
            show(&change, &change_text(&change), settings, printer)?;
        }
        ClusterCommand::Add { node } => {
            let change = client.add(&node).await.map_err(RemoteError::from)?;
            show(&change, &change_text(&change), settings, printer)?;
        }
        ClusterCommand::Remove { node } => {
            let change = client.remove(&node).await.map_err(RemoteError::from)?;
            show(&change, &change_text(&change), settings, printer)?;
        }
    }
    Ok(ExitCode::Ok)
}

fn show(
    response: &impl Serialize,
    text: &str,
    settings: Settings,
    printer: Printer,
) -> Result<(), CommandError> {
    if settings.output.json {
        return printer.json(response).map_err(CommandError::Output);
    }
    printer.data(text).map_err(CommandError::Output)
}

/// The word of a state, as it stands in JSON.
fn word(state: &impl Serialize) -> String {
    serde_json::to_value(state).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}

fn status_text(status: &ClusterStatus) -> String {
    let quorum = status.quorum;
    let verdict = if quorum.reachable >= quorum.needed { "has a quorum" } else { "has NO quorum" };
    let leader = status.leader.as_deref().unwrap_or("nobody");
    let mut text = format!(
        "{} {verdict}: {} voters reachable, {} needed; {leader} leads term {}\n\nmanagers\n",
        status.group, quorum.reachable, quorum.needed, status.term
    );
    for member in &status.members {
        let kind = if member.voter { "voter" } else { "learner" };
        let leads = if member.leader { "  leader" } else { "" };
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {:<12} {:<8} {kind}{leads}", member.id, word(&member.state));
    }
    let (cores, free) =
        status.workers.iter().fold((0, 0), |(cores, free), it| (cores + it.cores, free + it.free));
    let _ = writeln!(text, "\nworkers: {}, {free} of {cores} cores free", status.workers.len());
    for worker in &status.workers {
        let owner = worker.owner.as_deref().unwrap_or("nobody");
        let _ = writeln!(
            text,
            "  {:<12} {:<11} {} of {} cores free, registered with {owner}",
            worker.id,
            word(&worker.state),
            worker.free,
            worker.cores
        );
    }
    text
}

fn members_text(members: &NodeList) -> String {
    let mut text = String::new();
    for node in &members.nodes {
        let at = node.address.as_deref().unwrap_or("-");
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{:<12} {:<8} {:<8} {at}  boot {}{}",
            node.id,
            node.role.to_string(),
            word(&node.state),
            node.boot,
            node.worker_state.as_ref().map(|state| format!("  {}", word(state))).unwrap_or_default()
        );
    }
    text
}

fn leaders_text(leaders: &LeaderList) -> String {
    let leader = leaders.leader.as_deref().unwrap_or("nobody");
    let mut text = format!("{}: {leader} leads term {}\n", leaders.group, leaders.term);
    for job in &leaders.jobs {
        let leader = job.leader.as_deref().unwrap_or("nobody yet");
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}  {leader}", job.job);
    }
    text
}

fn events_text(list: &ClusterEventList) -> String {
    let mut text = String::new();
    for event in &list.events {
        text += &event_line(event);
    }
    text
}

/// One event as people read it.
pub(super) fn event_line(event: &ClusterEvent) -> String {
    let (node, by) = (event.node.as_deref().unwrap_or("-"), event.by.as_deref().unwrap_or("-"));
    format!("{}  {by:<12} {:<18} {node:<12} {}\n", event.at, event.event, event.message)
}

fn change_text(change: &NodeChange) -> String {
    let done = match change.status {
        NodeChangeStatus::Accepted => "done",
        NodeChangeStatus::Unchanged => "nothing to do",
    };
    format!("{}: {done}; {}\n", change.node, change.message)
}

#[cfg(test)]
mod tests {
    use hyperscale_api::response::{Circuit, MemberState, MemberStatus, Quorum, WorkerState, WorkerStatus};
    use hyperscale_types::Role;

    use super::*;

    #[test]
    fn status_says_in_words_whether_there_is_a_quorum() {
        let member = |id: &str, state, leader| MemberStatus {
            id: id.to_owned(),
            role: Role::Manager,
            state,
            leader,
            term: 3,
            voter: true,
        };
        let status = ClusterStatus {
            group: "eu-1".to_owned(),
            term: 3,
            leader: Some("m1".to_owned()),
            quorum: Quorum { reachable: 2, needed: 2, circuit: Circuit::Closed },
            members: vec![
                member("m1", MemberState::Alive, true),
                member("m2", MemberState::Alive, false),
                member("m3", MemberState::Dead, false),
            ],
            workers: vec![WorkerStatus {
                id: "w1".to_owned(),
                state: WorkerState::Healthy,
                owner: Some("m2".to_owned()),
                cores: 8,
                free: 6,
            }],
            datacenters: Vec::new(),
        };
        insta::assert_snapshot!(status_text(&status), @r"
        eu-1 has a quorum: 2 voters reachable, 2 needed; m1 leads term 3

        managers
          m1           alive    voter  leader
          m2           alive    voter
          m3           dead     voter

        workers: 1, 6 of 8 cores free
          w1           healthy     6 of 8 cores free, registered with m2
        ");
    }
}
