//! A message arrived on a stream.

use super::{Swim, Turn};
use crate::audit::Cause;
use crate::io::{Destination, Endpoint};
use crate::message::{MemberUpdate, PAGE_MAX, StreamBody, StreamMessage};
use hyperscale_types::NodeId;

impl Swim {
    pub(super) fn stream(&mut self, turn: &mut Turn<'_>, message: StreamMessage) {
        let StreamMessage { from, body } = message;
        if !self.contact(turn, &from) {
            return;
        }
        let node = from.peer.node;
        let to = Endpoint::from(Destination { node, addr: from.peer.addr });
        match body {
            StreamBody::Join => self.answer_join(turn, to),
            StreamBody::Members { members, last } => self.joined(turn, node, &members, last),
            StreamBody::Digest { members, workers } => self.compare(turn, to, &members, workers.as_deref()),
            StreamBody::MemberDifference { buckets, members, answer } => {
                self.merge_synced(turn, &members, node);
                if answer {
                    self.send_members_of(turn, to, buckets, false);
                }
            }
            StreamBody::WorkerDifference { buckets, workers, answer } => {
                self.merge_workers(turn, &workers, node);
                if answer {
                    self.send_workers_of(turn, to, buckets, false);
                }
            }
            StreamBody::Probe { seq } => self.send_stream(turn, to, StreamBody::Ack { seq }),
            StreamBody::Ack { seq } => self.acked(turn, seq, node),
            StreamBody::Worker(update) => self.told_of_worker(turn, &update, node),
            StreamBody::WorkerListRequest => self.send_worker_list(turn, to),
            StreamBody::WorkerList { workers, last } => self.heard_worker_list(turn, node, &workers, last),
        }
    }

    /// Everybody this node knows, itself included.
    fn answer_join(&mut self, turn: &mut Turn<'_>, to: Endpoint) {
        let own = self.me.update();
        let mut all: Vec<MemberUpdate> = self.all_updates().collect();
        all.push(own);
        let pages = all.len().div_ceil(PAGE_MAX);
        for (page, members) in all.chunks(PAGE_MAX).enumerate() {
            let body = StreamBody::Members { members: members.to_vec(), last: page + 1 == pages };
            self.send_stream(turn, to, body);
        }
    }

    fn joined(&mut self, turn: &mut Turn<'_>, from: NodeId, members: &[MemberUpdate], last: bool) {
        // What a newcomer learns from its first list everybody else knows already.
        self.me.set_quiet(!self.contacts.is_joined());
        for update in self.cut(members) {
            self.merge(turn, update, Cause::Gossip, from);
        }
        self.me.set_quiet(false);
        if last && self.contacts.joined() {
            let managers =
                self.members.managers().iter().map(|slot| self.members.get(*slot).peer.node).collect();
            self.begin_intake(turn, managers);
        }
    }

    /// At most a page of a list.
    pub(super) fn cut<'a, T>(&mut self, list: &'a [T]) -> &'a [T] {
        if list.len() <= PAGE_MAX {
            return list;
        }
        self.counters.pages_cut += 1;
        &list[..PAGE_MAX]
    }
}
