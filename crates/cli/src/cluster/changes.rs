//! Changes of a cluster that an operator asks for: a worker drains, a manager joins or leaves the group.
//!
//! A drain may be asked of any manager. The group is changed by its leader: others say who that is, and a leader that is to go hands
//! over first.

use std::time::Duration;

use hyperscale_api::error::Leader;
use hyperscale_api::method::Page;
use hyperscale_api::response::{ClusterEvent, ClusterEventList, NodeChange, NodeChangeStatus};
use hyperscale_api::{ErrorCode, RpcError};
use hyperscale_cluster::manager::{Rejection, Request, Response};
use hyperscale_consensus::register::Register;
use hyperscale_consensus::replica::{Reply, Request as ReplicaRequest};
use hyperscale_consensus::{Change, ProposeError, RaftId};
use hyperscale_node::manager::Seen;
use hyperscale_types::{NodeId, Token};

use super::backend::{ManagerBackend, with_own};
use super::refusals::stopped;
use super::view;
use crate::identity;

/// How often, and how many times, a leader that hands over is looked at.
const HANDING_OVER: (Duration, u32) = (Duration::from_millis(50), 100);

/// What a text names.
enum Found {
    Member(RaftId, NodeId),
    Newcomer(Change),
    Worker,
    Nothing,
}

impl ManagerBackend {
    pub(super) async fn drain(&self, node: &str) -> Result<NodeChange, RpcError> {
        let wanted = node.to_owned();
        let found = self.look_for(move |seen, is_named| {
            let mut workers = seen.manager.register().into_iter().flat_map(Register::workers);
            match workers.find(|(id, _)| is_named(&wanted, **id, None)) {
                Some((id, _)) => Ok(*id),
                None => Err(member_named(seen, &|node, at| is_named(&wanted, node, at)).map(|(_, id)| id)),
            }
        });
        let worker = match found.await? {
            Ok(worker) => worker,
            Err(Some(manager)) => return self.let_leave(node, manager).await,
            Err(None) => return Err(unknown(node)),
        };
        match self.ask(Request::Drain { worker }).await? {
            Response::Draining { is_repeat } => {
                Ok(changed(node, is_repeat, "it takes nothing new, finishes what it runs and leaves"))
            }
            Response::Rejected(Rejection::UnknownWorker) => Err(unknown(node)),
            other => Err(self.refusal(other).await),
        }
    }

    /// A manager can only drain itself; any other responds with the address of the one that is meant.
    async fn let_leave(&self, node: &str, manager: NodeId) -> Result<NodeChange, RpcError> {
        if manager != self.identity.node {
            let looked = self.manager.look(move |seen| {
                (
                    view::name_of(seen.names, manager),
                    view::api_of(&seen, manager),
                    seen.manager.is_gone(manager),
                )
            });
            let (name, http, is_gone) = looked.await.map_err(stopped)?;
            if is_gone || http.is_none() {
                let message = format!("{name} does not respond, so it cannot hand over what it leads");
                return Err(RpcError::new(ErrorCode::Refused, message)
                    .fix("remove it from the group with `hyperscale cluster remove`"));
            }
            let leader = Leader { node: name.clone(), http, token: Token(0) };
            return Err(RpcError::new(ErrorCode::Moved, format!("{name} is asked itself")).leader(&leader));
        }
        match self.ask(Request::Leave).await? {
            Response::Draining { is_repeat } => {
                let message =
                    "it takes no new jobs, hands over what it leads, is removed from the group and ends";
                Ok(changed(node, is_repeat, message))
            }
            other => Err(self.refusal(other).await),
        }
    }

    pub(super) async fn add(&self, node: &str) -> Result<NodeChange, RpcError> {
        self.only_as_leader().await?;
        match self.find(node).await? {
            Found::Member(..) => Ok(changed(node, true, "it is a member of the group")),
            Found::Worker => Err(RpcError::new(ErrorCode::Refused, format!("{node} is a worker"))
                .fix("workers need not be added: they register with the managers that they are given")),
            Found::Newcomer(change) => {
                self.change(change).await?;
                Ok(changed(node, false, "it listens, and votes once it has everything for 10 s"))
            }
            Found::Nothing => Err(RpcError::new(
                ErrorCode::Refused,
                format!("no manager `{node}` has asked to join the group"),
            )
            .fix("start it with an empty --data, and with managers of this group in --peers")),
        }
    }

    pub(super) async fn remove(&self, node: &str) -> Result<NodeChange, RpcError> {
        self.only_as_leader().await?;
        match self.find(node).await? {
            Found::Member(_, member) if member == self.identity.node && !self.is_alone().await? => {
                self.hand_over().await?;
                // Whoever leads now removes this one.
                self.only_as_leader().await?;
                Err(RpcError::new(ErrorCode::Overloaded, "leadership came back while it was handed over")
                    .retry_after(Duration::from_millis(500)))
            }
            Found::Member(id, _) => {
                self.change(Change::Remove(id)).await?;
                Ok(changed(node, false, "it is no member any more; stop it, its data directory is of no use"))
            }
            Found::Worker => Err(RpcError::new(ErrorCode::Refused, format!("{node} is a worker"))
                .fix("let it finish and leave with `hyperscale cluster drain`")),
            Found::Newcomer(_) => Ok(changed(node, true, "it is not a member of the group")),
            Found::Nothing => Err(unknown(node)),
        }
    }

    pub(super) async fn cluster_events(&self, page: &Page) -> Result<ClusterEventList, RpcError> {
        let after: u64 = match &page.after {
            Some(after) => after
                .parse()
                .map_err(|_| RpcError::new(ErrorCode::InvalidParams, "`after` is the number of an event"))?,
            None => 0,
        };
        let limit = page.limit as usize;
        let identity = self.identity.clone();
        let looked = self.manager.look(move |seen| {
            let names = with_own(seen.names, &identity);
            let wanted = seen.events.iter().filter(|event| event.seq > after);
            let show = |event: &hyperscale_node::manager::ClusterEvent| ClusterEvent {
                seq: event.seq,
                at: identity::time(event.at_ms),
                event: event.event.to_owned(),
                node: event.node.map(|node| view::name_of(&names, node)),
                job: None,
                by: Some(identity.name.clone()),
                message: event.message.clone(),
            };
            (wanted.take(limit + 1).map(show).collect::<Vec<_>>(), seen.events.last())
        });
        let (mut events, last) = looked.await.map_err(stopped)?;
        let has_more = events.len() > limit;
        events.truncate(limit);
        let next = events.last().filter(|_| has_more).map(|event| event.seq.to_string());
        Ok(ClusterEventList { events, next, last, by: Some(self.identity.name.clone()) })
    }

    /// Who a text names: by the name, the id or the address of a node.
    async fn find(&self, text: &str) -> Result<Found, RpcError> {
        let wanted = text.to_owned();
        self.look_for(move |seen, is_named| {
            let named = |node, at| is_named(&wanted, node, at);
            if let Some((id, node)) = member_named(seen, &named) {
                return Found::Member(id, node);
            }
            let mut waiting = seen.newcomers.waiting();
            if let Some((node, addresses, directory)) = waiting.find(|it| named(it.0, Some(it.1.peer))) {
                return Found::Newcomer(Change::Add { node, directory, addresses });
            }
            let mut workers = seen.manager.register().into_iter().flat_map(Register::workers);
            if workers.any(|(node, _)| named(*node, None)) { Found::Worker } else { Found::Nothing }
        })
        .await
    }

    /// Looks at the manager with a rule by which a text names a node.
    async fn look_for<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Seen<'_>, &dyn Fn(&str, NodeId, Option<std::net::SocketAddr>) -> bool) -> T
        + Send
        + 'static,
    ) -> Result<T, RpcError> {
        let identity = self.identity.clone();
        let looked = self.manager.look(move |seen| {
            let names = with_own(seen.names, &identity);
            let is_named = |text: &str, node: NodeId, at: Option<std::net::SocketAddr>| {
                names.get(&node).is_some_and(|name| name == text)
                    || node.to_string() == text
                    || at.is_some_and(|at| at.to_string() == text)
            };
            look(&seen, &is_named)
        });
        looked.await.map_err(stopped)
    }

    /// Refuses what only the leader of the group does, with who that is.
    async fn only_as_leader(&self) -> Result<(), RpcError> {
        let me = self.identity.node;
        let looked = self.manager.look(move |seen| {
            let leader = seen.manager.replica().leader_node()?;
            let http = view::api_of(&seen, leader);
            Some((leader, view::name_of(seen.names, leader), http))
        });
        match looked.await.map_err(stopped)? {
            Some((leader, ..)) if leader == me => Ok(()),
            Some((_, node, http)) => {
                let leader = Leader { node: node.clone(), http, token: Token(0) };
                Err(RpcError::new(ErrorCode::Moved, format!("{node} leads the group")).leader(&leader))
            }
            None => Err(RpcError::new(ErrorCode::QuorumUnavailable, "nobody leads the group")
                .retry_after(Duration::from_secs(1))),
        }
    }

    /// Whether this manager is the only voter.
    async fn is_alone(&self) -> Result<bool, RpcError> {
        let looked = self.manager.look(|seen| {
            seen.manager.replica().group().is_some_and(|group| group.configuration().voters.len() <= 1)
        });
        looked.await.map_err(stopped)
    }

    /// Hands the leadership of the group to another voter, and waits until it has it.
    async fn hand_over(&self) -> Result<(), RpcError> {
        let reply = self.manager.replica(ReplicaRequest::Transfer(None)).await.map_err(stopped)?;
        if let Reply::NotTransferred(error) = reply {
            let message = format!("this manager leads the group and cannot hand over: {error}");
            return Err(RpcError::new(ErrorCode::Refused, message)
                .fix("start the other managers, or wait until they have caught up"));
        }
        let me = self.identity.node;
        for _ in 0..HANDING_OVER.1 {
            let leader = self.manager.look(|seen| seen.manager.replica().leader_node());
            if leader.await.map_err(stopped)?.is_some_and(|leader| leader != me) {
                return Ok(());
            }
            tokio::time::sleep(HANDING_OVER.0).await;
        }
        Err(RpcError::new(ErrorCode::Overloaded, "leadership is being handed over")
            .retry_after(Duration::from_secs(1)))
    }

    async fn change(&self, change: Change) -> Result<(), RpcError> {
        match self.manager.replica(ReplicaRequest::Change(change)).await.map_err(stopped)? {
            Reply::Applied { .. } => Ok(()),
            Reply::Failed(ProposeError::Change(error)) => {
                Err(RpcError::new(ErrorCode::Refused, error.to_string())
                    .fix("see `hyperscale cluster status`, and try again once it is settled"))
            }
            Reply::Failed(error @ (ProposeError::NotLeader { .. } | ProposeError::NoQuorum { .. })) => {
                Err(RpcError::new(ErrorCode::QuorumUnavailable, error.to_string()))
            }
            Reply::Failed(error) => Err(RpcError::new(ErrorCode::QuorumTimeout, error.to_string())
                .fix("see with `hyperscale cluster status` whether it was done")),
            other => Err(RpcError::new(ErrorCode::InternalError, format!("the group replied {other:?}"))),
        }
    }
}

/// The member of the group that is named.
fn member_named(
    seen: &Seen<'_>,
    is_named: &dyn Fn(NodeId, Option<std::net::SocketAddr>) -> bool,
) -> Option<(RaftId, NodeId)> {
    let mut members = seen.manager.replica().group()?.roster().members();
    let member = members.find(|member| is_named(member.node, Some(member.addresses.peer)))?;
    Some((member.raft_id, member.node))
}

fn changed(node: &str, is_repeat: bool, message: &str) -> NodeChange {
    let status = if is_repeat { NodeChangeStatus::Unchanged } else { NodeChangeStatus::Accepted };
    NodeChange { node: node.to_owned(), status, message: message.to_owned() }
}

fn unknown(node: &str) -> RpcError {
    RpcError::new(ErrorCode::Refused, format!("there is no node `{node}`"))
        .fix("see `hyperscale cluster status`; a node is named by its id or its address")
}
