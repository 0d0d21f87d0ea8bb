//! When schedules fire, and what becomes of fires that were missed.

use std::str::FromStr as _;
use std::time::Duration;

use croner::Cron;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use super::{ScheduleId, Timestamp, TreeSpec};

/// Fires that are caught up in one transaction; the rest follows in the next ones.
pub const CATCH_UP_MAX: usize = 100;

/// A fire that is later than this was missed.
pub const MISSED_AFTER: Duration = Duration::from_mins(1);

/// What fires when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduleSpec {
    /// Its name, unique.
    pub name: String,
    /// When it fires.
    pub trigger: Trigger,
    /// What becomes of fires that were missed.
    #[serde(default)]
    pub missed: MissedFires,
    /// What is submitted at every fire.
    pub tree: TreeSpec,
}

/// When a schedule fires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Trigger {
    /// By a cron expression of five fields, or six with seconds first.
    Cron {
        /// The expression.
        expression: String,
        /// IANA name of the time zone it is read in.
        #[serde(default = "utc")]
        time_zone: String,
    },
    /// At a fixed pace.
    Interval {
        /// Seconds from one fire to the next.
        seconds: u32,
    },
    /// At one time.
    Once {
        /// The time.
        at: Timestamp,
    },
}

/// What becomes of fires that were missed while there was no leader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissedFires {
    /// All of them become one fire, at the time of the last.
    #[default]
    Coalesce,
    /// Each of them fires.
    CatchUp,
    /// None of them fires.
    Skip,
}

/// A stored schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// Its id.
    pub id: ScheduleId,
    /// What fires when.
    #[serde(flatten)]
    pub spec: ScheduleSpec,
    /// The next fire; none if it never fires again.
    pub next_run_at: Option<Timestamp>,
    /// Whether it fires only when it is triggered.
    pub paused: bool,
}

/// What is due of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fires {
    /// Fire times that become runs now.
    pub at: Vec<Timestamp>,
    /// The next fire after them.
    pub next: Option<Timestamp>,
}

/// A trigger that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// Not a cron expression.
    #[error("`{expression}` is not a cron expression: {problem}")]
    Cron {
        /// The expression.
        expression: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Not a time zone.
    #[error("`{0}` is not a time zone; use an IANA name such as Europe/Berlin")]
    TimeZone(String),
    /// An interval of nothing.
    #[error("the interval must be at least 1 second")]
    Interval,
}

impl Trigger {
    /// Says what is wrong with it.
    pub fn check(&self) -> Result<(), ScheduleError> {
        match self {
            Self::Cron { expression, time_zone } => parse(expression, time_zone).map(drop),
            Self::Interval { seconds: 0 } => Err(ScheduleError::Interval),
            Self::Interval { .. } | Self::Once { .. } => Ok(()),
        }
    }

    /// The first fire of a schedule that is made at `now`.
    pub fn first(&self, now: Timestamp) -> Result<Option<Timestamp>, ScheduleError> {
        match self {
            Self::Once { at } => Ok(Some(*at)),
            _ => self.after(now, now),
        }
    }

    /// The next fire of a schedule that resumes at `now`. Fires that were due in the pause are left out; one that fires once keeps its
    /// time.
    pub fn resumed(
        &self,
        due: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, ScheduleError> {
        match (self, due) {
            (_, None) | (Self::Once { .. }, _) => Ok(due),
            (_, Some(due)) if due > now => Ok(Some(due)),
            _ => self.first(now),
        }
    }

    /// What is due at `now` of a schedule whose next fire was to be at `due`.
    pub fn fires(&self, due: Timestamp, now: Timestamp, missed: MissedFires) -> Result<Fires, ScheduleError> {
        if due > now {
            return Ok(Fires { at: Vec::new(), next: Some(due) });
        }
        if missed == MissedFires::CatchUp {
            return self.catch_up(due, now);
        }
        let latest = self.latest(due, now)?;
        let is_missed = now.since(latest) > MISSED_AFTER;
        let is_skipped = missed == MissedFires::Skip && is_missed;
        let at = if is_skipped { Vec::new() } else { vec![latest] };
        Ok(Fires { at, next: self.after(latest, now)? })
    }

    fn catch_up(&self, due: Timestamp, now: Timestamp) -> Result<Fires, ScheduleError> {
        let mut at = Vec::new();
        let mut next = Some(due);
        while let Some(time) = next.filter(|time| *time <= now && at.len() < CATCH_UP_MAX) {
            at.push(time);
            next = self.after(time, time)?;
        }
        Ok(Fires { at, next })
    }

    /// The first fire after `now`, where `fire` is an earlier one.
    fn after(&self, fire: Timestamp, now: Timestamp) -> Result<Option<Timestamp>, ScheduleError> {
        match self {
            Self::Once { .. } => Ok(None),
            Self::Interval { seconds } => {
                let every = i64::from((*seconds).max(1)) * 1_000;
                Ok(Some(Timestamp(fire.0 + (now.0 - fire.0) / every * every + every)))
            }
            Self::Cron { expression, time_zone } => {
                let (cron, zone) = parse(expression, time_zone)?;
                Ok(cron.find_next_occurrence(&zoned(now, &zone), false).ok().map(|next| stamp(&next)))
            }
        }
    }

    /// The last fire that is not after `now`.
    fn latest(&self, due: Timestamp, now: Timestamp) -> Result<Timestamp, ScheduleError> {
        match self {
            Self::Once { .. } => Ok(due),
            Self::Interval { seconds } => {
                let every = i64::from((*seconds).max(1)) * 1_000;
                Ok(Timestamp(due.0 + (now.0 - due.0) / every * every))
            }
            Self::Cron { expression, time_zone } => {
                let (cron, zone) = parse(expression, time_zone)?;
                let latest = cron.find_previous_occurrence(&zoned(now, &zone), true);
                Ok(latest.map_or(due, |latest| stamp(&latest)).max(due))
            }
        }
    }
}

fn parse(expression: &str, time_zone: &str) -> Result<(Cron, TimeZone), ScheduleError> {
    let cron = Cron::from_str(expression).map_err(|error| ScheduleError::Cron {
        expression: expression.to_owned(),
        problem: error.to_string(),
    })?;
    let zone = TimeZone::get(time_zone).map_err(|_| ScheduleError::TimeZone(time_zone.to_owned()))?;
    Ok((cron, zone))
}

/// Whole seconds: cron knows nothing smaller.
fn zoned(time: Timestamp, zone: &TimeZone) -> jiff::Zoned {
    let seconds =
        jiff::Timestamp::from_second(time.0.div_euclid(1_000)).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    seconds.to_zoned(zone.clone())
}

fn stamp(time: &jiff::Zoned) -> Timestamp {
    Timestamp(time.timestamp().as_millisecond())
}

fn utc() -> String {
    "UTC".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Timestamp {
        Timestamp(text.parse::<jiff::Timestamp>().unwrap().as_millisecond())
    }

    fn cron(expression: &str, time_zone: &str) -> Trigger {
        Trigger::Cron { expression: expression.to_owned(), time_zone: time_zone.to_owned() }
    }

    #[test]
    fn cron_follows_its_time_zone_through_summer_time() {
        let daily = cron("30 8 * * *", "Europe/Berlin");
        assert_eq!(daily.first(time("2026-01-10T12:00:00Z")).unwrap(), Some(time("2026-01-11T07:30:00Z")));
        assert_eq!(daily.first(time("2026-07-10T12:00:00Z")).unwrap(), Some(time("2026-07-11T06:30:00Z")));
    }

    #[test]
    fn missed_fires_are_coalesced_caught_up_or_skipped() {
        let hourly = cron("0 * * * *", "UTC");
        let (due, now) = (time("2026-01-01T01:00:00Z"), time("2026-01-01T04:30:00Z"));
        let next = Some(time("2026-01-01T05:00:00Z"));
        let fires = |missed| hourly.fires(due, now, missed).unwrap();
        let last = time("2026-01-01T04:00:00Z");
        assert_eq!(fires(MissedFires::Coalesce), Fires { at: vec![last], next });
        assert_eq!(fires(MissedFires::Skip), Fires { at: vec![], next });
        let all = fires(MissedFires::CatchUp);
        assert_eq!((all.at.len(), all.at[0], all.at[3], all.next), (4, due, last, next));
    }

    #[test]
    fn fire_that_is_in_time_is_not_missed() {
        let hourly = cron("0 * * * *", "UTC");
        let due = time("2026-01-01T01:00:00Z");
        let fires = hourly.fires(due, due.plus(Duration::from_secs(5)), MissedFires::Skip).unwrap();
        assert_eq!(fires, Fires { at: vec![due], next: Some(time("2026-01-01T02:00:00Z")) });
        let early = hourly.fires(due, due.minus(Duration::from_millis(1)), MissedFires::CatchUp).unwrap();
        assert_eq!(early, Fires { at: vec![], next: Some(due) });
    }

    #[test]
    fn intervals_keep_their_beat() {
        let trigger = Trigger::Interval { seconds: 10 };
        let fires = trigger.fires(Timestamp(10_000), Timestamp(39_999), MissedFires::Coalesce).unwrap();
        assert_eq!(fires, Fires { at: vec![Timestamp(30_000)], next: Some(Timestamp(40_000)) });
        let all = trigger.fires(Timestamp(0), Timestamp(10_000_000), MissedFires::CatchUp).unwrap();
        assert_eq!((all.at.len(), all.next), (CATCH_UP_MAX, Some(Timestamp(1_000_000))));
    }

    #[test]
    fn once_fires_once() {
        let trigger = Trigger::Once { at: Timestamp(5) };
        assert_eq!(trigger.first(Timestamp(9)).unwrap(), Some(Timestamp(5)));
        for missed in [MissedFires::Coalesce, MissedFires::CatchUp, MissedFires::Skip] {
            let fires = trigger.fires(Timestamp(5), Timestamp(9), missed).unwrap();
            assert_eq!(fires, Fires { at: vec![Timestamp(5)], next: None });
        }
    }

    #[test]
    fn bad_triggers_say_what_is_wrong() {
        assert!(
            cron("61 * * * *", "UTC")
                .check()
                .unwrap_err()
                .to_string()
                .starts_with("`61 * * * *` is not a cron")
        );
        assert_eq!(
            cron("* * * * *", "Mars/Base").check().unwrap_err().to_string(),
            "`Mars/Base` is not a time zone; use an IANA name such as Europe/Berlin"
        );
        assert_eq!(Trigger::Interval { seconds: 0 }.check(), Err(ScheduleError::Interval));
    }
}
