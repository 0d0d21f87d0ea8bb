//! What was dropped, refused or noticed, counted. Each limit of this crate has its counter here.

/// Counters since the core was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Probe rounds started.
    pub probes: u64,
    /// Probe rounds that ended without any answer.
    pub probes_failed: u64,
    /// Rounds left out because the node is busy.
    pub probes_skipped: u64,
    /// Datagrams sent.
    pub datagrams_sent: u64,
    /// Their estimated encoded size, sealing included.
    pub datagram_bytes_sent: u64,
    /// Stream messages sent.
    pub streams_sent: u64,
    /// Accusations about this node that it contradicted.
    pub refutations: u64,
    /// Accusations told to their subject after a stale `alive`.
    pub accusations_told: u64,
    /// Accusations not told because enough were in the same period.
    pub accusations_withheld: u64,
    /// Messages of a former life of their sender, dropped.
    pub stale_boots: u64,
    /// Boots too far above the one that is known, dropped.
    pub boots_refused: u64,
    /// Messages that claim this node's own id, dropped.
    pub own_id_claimed: u64,
    /// Probes meant for another node, not answered.
    pub misdirected: u64,
    /// Stale versions of embedded state, dropped.
    pub stale_embedded: u64,
    /// Embedded states of another role than the member's, refused.
    pub foreign_embedded: u64,
    /// Newcomers refused because the member table is full.
    pub members_refused: u64,
    /// Dead and departed members forgotten early to make room.
    pub members_evicted: u64,
    /// Tombs of forgotten members that fell out, oldest first.
    pub tombs_dropped: u64,
    /// Membership updates dropped from the gossip queue, most transmitted first.
    pub gossip_dropped: u64,
    /// Requests to probe for others dropped because too many are running.
    pub relays_dropped: u64,
    /// Peers given up as never reached that are not tried any more because there are too many.
    pub astray_dropped: u64,
    /// Configured peers dropped because there are too many.
    pub contacts_dropped: u64,
    /// Worker updates dropped from their queue, most transmitted first.
    pub worker_updates_dropped: u64,
    /// Worker updates that waited too long to be sent.
    pub worker_updates_stale: u64,
    /// Worker updates that did not come from the worker's owner or from a manager at all, refused.
    pub worker_updates_foreign: u64,
    /// Workers refused because the table is full.
    pub workers_refused: u64,
    /// Graves of forgotten workers that fell out, oldest first.
    pub graves_dropped: u64,
    /// Lists on streams cut to their limit.
    pub pages_cut: u64,
}
