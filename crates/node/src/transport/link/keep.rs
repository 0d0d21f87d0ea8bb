//! Keeps a link alive while it is used: pings, silence, idleness, and the pause of a peer beyond its rate.

use std::time::{Duration, Instant};

use hyperscale_wire::class::Lane;
use hyperscale_wire::connection::Outgoing;
use hyperscale_wire::messages::{Control, Ping, control};

use super::super::table::Origin;
use super::{End, Link};

/// Bytes that pings, credit and the like take at most at a time; more is use.
const UPKEEP_BYTES_MAX: usize = 1_024;
/// How often a link without any deadline is looked at.
const LOOK_EVERY: Duration = Duration::from_mins(1);

impl Link {
    /// Whether the socket is read: not while the host is behind, nor while the peer is beyond its rate.
    pub(super) fn is_reading(&self) -> bool {
        self.pending.is_empty() && self.paused_until.is_none()
    }

    /// A peer that was not read could not be heard: its silence counts from now.
    pub(super) fn reads_again(&mut self) {
        if self.is_reading() {
            (self.heard, self.is_pinged) = (Instant::now(), false);
        }
    }

    pub(super) fn carried(&mut self, bytes: usize) {
        if bytes > UPKEEP_BYTES_MAX {
            self.used = Instant::now();
        }
    }

    /// When there is something to look after.
    pub(super) fn next_look(&self) -> Instant {
        let timing = &self.inner.options.timing;
        if self.peer.is_none() {
            return self.started + timing.handshake;
        }
        let ping = if self.is_pinged { timing.silence_max } else { timing.ping_after };
        let ping = (self.lane == Lane::Control && self.is_reading()).then(|| self.heard + ping);
        let idle = matches!(self.origin, Origin::Dialled(_)).then(|| self.used + timing.idle_after);
        let looks = [ping, idle, self.paused_until];
        looks.into_iter().flatten().min().unwrap_or_else(|| Instant::now() + LOOK_EVERY)
    }

    /// Looks after what is due; an end if the link has to.
    pub(super) fn overdue(&mut self) -> Option<End> {
        let (now, timing) = (Instant::now(), self.inner.options.timing);
        if self.paused_until.is_some_and(|until| until <= now) {
            self.paused_until = None;
            self.reads_again();
        }
        if self.peer.is_none() {
            return (now >= self.started + timing.handshake).then_some(End::Late);
        }
        if matches!(self.origin, Origin::Dialled(_)) && now >= self.used + timing.idle_after {
            return Some(End::Idle);
        }
        if self.lane == Lane::Bulk || !self.is_reading() {
            return None;
        }
        if self.is_pinged && now >= self.heard + timing.silence_max {
            return Some(End::Silent);
        }
        if !self.is_pinged && now >= self.heard + timing.ping_after {
            self.is_pinged = true;
            let body = Some(control::Body::Ping(Ping { sequence: 0 }));
            // A full queue is a sign of life that is asked for already.
            let _ = self.connection.send(&Outgoing::Control(Control { body, ..Control::default() }));
        }
        None
    }
}
