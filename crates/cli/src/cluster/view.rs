//! What a manager knows about its cluster, as responses of the API.

use std::collections::BTreeMap;

use hyperscale_api::response::{
    CancelError, CancelStatus, Circuit, ClusterStatus, JobLeader, LeaderList, MemberState, MemberStatus,
    NodeList, NodeSummary, Quorum, WorkerState, WorkerStatus, WorkflowCancel,
};
use hyperscale_consensus::register::Register;
use hyperscale_consensus::{CircuitState, Member, RaftGroup};
use hyperscale_job as job;
use hyperscale_node::manager::Seen;
use hyperscale_node::membership::View;
use hyperscale_swim::{Embedded, EmbeddedState, Status};
use hyperscale_types::{NodeId, Role};

/// What a node is called: its name, or its number where nobody has heard it.
pub(super) fn name_of(names: &BTreeMap<NodeId, String>, node: NodeId) -> String {
    names.get(&node).cloned().unwrap_or_else(|| node.to_string())
}

/// The whole cluster in one response; `me` is this manager.
pub(super) fn status(seen: &Seen<'_>, view: &View, group_name: &str, me: NodeId) -> ClusterStatus {
    let name = |node| name_of(seen.names, node);
    let Some(group) = seen.manager.replica().group() else {
        return ClusterStatus {
            group: group_name.to_owned(),
            term: 0,
            leader: None,
            quorum: Quorum { reachable: 0, needed: 0, circuit: circuit(seen) },
            members: Vec::new(),
            workers: Vec::new(),
            datacenters: Vec::new(),
        };
    };
    let leader = seen.manager.replica().leader_node();
    let voters: Vec<&Member> = group.roster().members().filter(|member| is_voter(group, member)).collect();
    let alive = |node: NodeId| node == me || state_of(view, node) == MemberState::Alive;
    let reachable = voters.iter().filter(|member| alive(member.node)).count();
    let member = |member: &Member| MemberStatus {
        id: name(member.node),
        role: Role::Manager,
        state: if member.node == me { MemberState::Alive } else { state_of(view, member.node) },
        leader: leader == Some(member.node),
        term: group.term(),
        voter: is_voter(group, member),
    };
    let workers = seen.manager.register().into_iter().flat_map(Register::workers);
    let worker = |(node, worker): (&NodeId, &hyperscale_consensus::register::Worker)| WorkerStatus {
        id: name(*node),
        state: match (state_of(view, *node), worker.owner) {
            (MemberState::Dead | MemberState::Left, _) => WorkerState::Offline,
            (_, None) => WorkerState::Registering,
            _ => seen.manager.worker_state(*node).map_or(WorkerState::Unknown, worker_state),
        },
        owner: worker.owner.map(|(owner, _)| name(owner)),
        cores: worker.cores,
        free: worker.free(),
    };
    ClusterStatus {
        group: group_name.to_owned(),
        term: group.term(),
        leader: leader.map(name),
        quorum: Quorum {
            reachable: reachable as u32,
            needed: (voters.len() / 2 + 1) as u32,
            circuit: circuit(seen),
        },
        members: group.roster().members().map(member).collect(),
        workers: workers.map(worker).collect(),
        datacenters: Vec::new(),
    }
}

/// Whether the quorum is asked.
pub(super) fn circuit(seen: &Seen<'_>) -> Circuit {
    match seen.manager.replica().group().map(RaftGroup::circuit) {
        Some(CircuitState::Closed) | None => Circuit::Closed,
        Some(CircuitState::HalfOpen) => Circuit::HalfOpen,
        Some(CircuitState::Open) => Circuit::Open,
    }
}

fn worker_state(state: hyperscale_swim::WorkerState) -> WorkerState {
    use hyperscale_swim::WorkerState as Said;
    match state {
        Said::Registering => WorkerState::Registering,
        Said::Healthy => WorkerState::Healthy,
        Said::Degraded => WorkerState::Degraded,
        Said::Draining => WorkerState::Draining,
        Said::Offline => WorkerState::Offline,
    }
}

/// All members of the failure detector, this manager included.
pub(super) fn members(seen: &Seen<'_>, view: &View, me: NodeSummary) -> NodeList {
    let addresses: BTreeMap<NodeId, Option<String>> = seen
        .manager
        .replica()
        .group()
        .into_iter()
        .flat_map(|group| group.roster().members())
        .map(|member| (member.node, member.addresses.api.map(|api| api.to_string())))
        .collect();
    let others = view.members.iter().map(|member| NodeSummary {
        id: name_of(seen.names, member.node),
        role: member.role,
        state: state(member.claim.status),
        address: Some(member.addr.to_string()),
        http: addresses.get(&member.node).cloned().flatten(),
        boot: member.claim.boot.0,
        version: None,
        worker_state: match &member.state {
            Some(Embedded { state: EmbeddedState::Worker(load), .. }) => Some(worker_state(load.state)),
            _ => None,
        },
    });
    NodeList { nodes: std::iter::once(me).chain(others).collect(), next: None }
}

/// Who leads what.
pub(super) fn leaders(seen: &Seen<'_>, group_name: &str) -> LeaderList {
    let leader = seen.manager.replica().leader_node();
    let jobs = seen.manager.register().into_iter().flat_map(Register::jobs);
    let open = jobs.filter(|(_, job)| job.end.is_none());
    LeaderList {
        group: group_name.to_owned(),
        term: seen.manager.replica().group().map_or(0, RaftGroup::term),
        leader: leader.map(|node| name_of(seen.names, node)),
        http: leader.and_then(|node| api_of(seen, node)),
        jobs: open
            .map(|(id, job)| JobLeader {
                job: id.to_string(),
                leader: job.leader.map(|(node, _)| name_of(seen.names, node)),
                token: job.leader.map(|(_, token)| token),
            })
            .collect(),
    }
}

/// Where the API of a manager listens, as the log says.
pub(super) fn api_of(seen: &Seen<'_>, node: NodeId) -> Option<String> {
    let group = seen.manager.replica().group()?;
    let member = group.roster().members().find(|member| member.node == node)?;
    member.addresses.api.map(|api| api.to_string())
}

/// How far a cancel is, workflow by workflow, and what did not confirm it.
pub(super) fn cancelled(
    workflows: &[hyperscale_job::WorkflowCancel],
) -> (Vec<WorkflowCancel>, Vec<CancelError>) {
    let mut errors = Vec::new();
    let mut all = Vec::new();
    for cancel in workflows {
        let Ok(workflow) = cancel.workflow.parse() else { continue };
        errors.extend(cancel.errors.iter().map(|message| CancelError {
            datacenter: None,
            workflow: cancel.workflow.parse().ok(),
            worker: None,
            message: message.clone(),
        }));
        let status = match cancel.status {
            job::CancelStatus::Requested => CancelStatus::Requested,
            job::CancelStatus::InProgress => CancelStatus::InProgress,
            job::CancelStatus::Cancelled => CancelStatus::Cancelled,
            job::CancelStatus::PendingCancelled => CancelStatus::PendingCancelled,
            job::CancelStatus::Failed => CancelStatus::Failed,
            job::CancelStatus::NotFound => CancelStatus::NotFound,
            job::CancelStatus::AlreadyEnded => CancelStatus::AlreadyEnded,
        };
        all.push(WorkflowCancel { workflow, status, dependents: cancel.dependents.clone() });
    }
    (all, errors)
}

fn is_voter(group: &RaftGroup<Register>, member: &Member) -> bool {
    !group.configuration().learners.contains(&member.raft_id)
}

fn state_of(view: &View, node: NodeId) -> MemberState {
    view.status(node).map_or(MemberState::Unknown, state)
}

fn state(status: Status) -> MemberState {
    match status {
        Status::Alive => MemberState::Alive,
        Status::Suspect => MemberState::Suspect,
        Status::Dead => MemberState::Dead,
        Status::Left => MemberState::Left,
    }
}
