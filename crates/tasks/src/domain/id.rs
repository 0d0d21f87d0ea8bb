//! Ids. Those of tasks, schedules and boots are UUIDs of version 7: unique without asking anybody, and sorted by age.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::{Builder, Uuid};

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// Makes an id from the time in milliseconds since 1970 and random bytes. The time only sorts.
            pub fn new(unix_ms: u64, random: [u8; 10]) -> Self {
                Self(Builder::from_unix_timestamp_millis(unix_ms, &random).into_uuid())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(out)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map(Self)
            }
        }
    };
}

uuid_id! {
    /// A task.
    TaskId
}
uuid_id! {
    /// One start of a process. Two processes with the same node name differ in it.
    BootId
}
uuid_id! {
    /// A schedule.
    ScheduleId
}

/// Which lease of all that were ever granted: strictly increasing, never reused. Who holds a lease proves it with this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fence(pub i64);

/// Which leadership of all that ever were: one more at every change, never reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub i64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_version_seven_and_sorted_by_age() {
        let (older, newer) = (TaskId::new(1_000, [255; 10]), TaskId::new(1_001, [0; 10]));
        assert_eq!(older.0.get_version_num(), 7);
        assert!(older < newer);
        assert_eq!(older.to_string().parse::<TaskId>().unwrap(), older);
    }
}
