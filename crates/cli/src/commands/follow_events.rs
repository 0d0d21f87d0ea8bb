//! `hyperscale cluster events --follow`: what all managers see, as they see it, until Ctrl-C.
//!
//! Every manager numbers its own events. Each is asked for what is newer than its newest that was shown; one that was restarted begins
//! again. Managers that were not named are found through those that were.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hyperscale_api::Client;
use hyperscale_api::method::Page;
use hyperscale_api::response::{ClusterEvent, ClusterEventList};
use hyperscale_types::{ExitCode, Role};
use tokio::task::JoinSet;

use super::cluster::{EVENTS_MAX, event_line};
use super::interrupts::Interrupts;
use crate::args::ServerArgs;
use crate::cluster::remote::{self, RemoteError};
use crate::errors::CommandError;
use crate::printer::Printer;
use crate::settings::Settings;

/// How often managers are asked.
const EVERY: Duration = Duration::from_millis(500);
/// Rounds after which managers are looked for that nobody has named.
const LOOK_EVERY: u32 = 10;
/// Managers that are followed; a group has a few.
const MANAGERS_MAX: usize = 32;

/// A manager that is asked.
struct Source {
    client: Client,
    /// The number of its newest event that was taken.
    after: u64,
    /// What it calls itself, once it has said so.
    name: Option<String>,
    is_silent: bool,
}

/// Shows the newest `last` events, then every further one.
pub(super) async fn follow(
    args: &ServerArgs,
    last: usize,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let mut interrupts = Interrupts::listen()?;
    let mut sources = BTreeMap::new();
    for (server, client) in remote::clients(args)? {
        sources.insert(server, Source::new(client));
    }
    let mut round = 0;
    loop {
        let mut events = ask_all(&mut sources, printer).await?;
        if round == 0 {
            events.drain(..events.len().saturating_sub(last));
        }
        for event in &events {
            show(event, settings, printer)?;
        }
        if round % LOOK_EVERY == 0 {
            look_for_others(args, &mut sources).await?;
        }
        round += 1;
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            _ = interrupts.next() => return Ok(ExitCode::Cancelled),
        }
    }
}

impl Source {
    fn new(client: Client) -> Self {
        Self { client, after: 0, name: None, is_silent: false }
    }

    /// Takes what a manager told. One whose newest event is older than the one that was shown was restarted.
    fn take(&mut self, list: ClusterEventList) -> Vec<ClusterEvent> {
        self.name = list.by.or(self.name.take());
        if list.last < self.after {
            self.after = 0;
            return Vec::new();
        }
        self.after = list.events.iter().map(|event| event.seq).fold(self.after, u64::max);
        list.events
    }
}

fn show(event: &ClusterEvent, settings: Settings, printer: Printer) -> Result<(), CommandError> {
    if settings.output.json {
        return printer.json(event).map_err(CommandError::Output);
    }
    printer.data(&event_line(event)).map_err(CommandError::Output)
}

/// Asks all managers at once; what they told, by time. Fails if the first answer of all is that none can be asked.
async fn ask_all(
    sources: &mut BTreeMap<String, Source>,
    printer: Printer,
) -> Result<Vec<ClusterEvent>, CommandError> {
    let mut asked = JoinSet::new();
    for (server, source) in &*sources {
        let (server, client, after) = (server.clone(), source.client.clone(), source.after);
        asked.spawn(async move {
            let page = Page { limit: EVENTS_MAX, after: Some(after.to_string()) };
            (server, client.cluster_events(page).await)
        });
    }
    let (mut events, mut failure, mut named) = (Vec::new(), None, BTreeSet::new());
    while let Some(answered) = asked.join_next().await {
        let Ok((server, answer)) = answered else { continue };
        let Some(source) = sources.get_mut(&server) else { continue };
        match answer {
            Ok(list) => {
                let told = source.take(list);
                source.is_silent = false;
                // The same manager under another address.
                if source.name.as_ref().is_none_or(|name| named.insert(name.clone())) {
                    events.extend(told);
                }
            }
            Err(error) => {
                if !std::mem::replace(&mut source.is_silent, true) {
                    let name = source.name.as_deref().unwrap_or(&server);
                    printer.note(format_args!("{name} does not respond: {}", error.what()));
                }
                failure = Some(error);
            }
        }
    }
    let nobody_ever = sources.values().all(|source| source.name.is_none());
    match failure {
        Some(error) if nobody_ever => Err(RemoteError::from(error).into()),
        _ => {
            events.sort_by(|one, other| one.at.cmp(&other.at));
            Ok(events)
        }
    }
}

/// Adds managers that were not named.
async fn look_for_others(
    args: &ServerArgs,
    sources: &mut BTreeMap<String, Source>,
) -> Result<(), CommandError> {
    let known: BTreeSet<String> = sources.values().filter_map(|source| source.name.clone()).collect();
    let scheme = if sources.keys().any(|server| server.starts_with("https")) { "https" } else { "http" };
    let Some(source) = sources.values().find(|source| !source.is_silent) else { return Ok(()) };
    let Ok(members) = source.client.cluster_members(Page::default()).await else { return Ok(()) };
    let managers = members.nodes.into_iter().filter(|node| node.role == Role::Manager);
    for (id, http) in managers.filter_map(|node| Some((node.id, node.http?))) {
        let server = format!("{scheme}://{http}");
        if !known.contains(&id) && !sources.contains_key(&server) && sources.len() < MANAGERS_MAX {
            let mut source = Source::new(remote::client_of(args, &server)?);
            source.name = Some(id);
            sources.insert(server, source);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use hyperscale_api::{ClientOptions, Servers};

    use super::*;

    fn list(last: u64, numbers: &[u64]) -> ClusterEventList {
        let event = |seq: &u64| ClusterEvent {
            seq: *seq,
            at: String::new(),
            event: "leader_changed".to_owned(),
            node: None,
            job: None,
            by: None,
            message: String::new(),
        };
        ClusterEventList {
            events: numbers.iter().map(event).collect(),
            next: None,
            last,
            by: Some("m1".to_owned()),
        }
    }

    #[test]
    fn manager_that_was_restarted_is_followed_from_its_first_event() {
        let servers: Servers = "http://127.0.0.1:1".parse().unwrap();
        let mut source = Source::new(Client::new(ClientOptions::new(servers)).unwrap());
        assert_eq!(source.take(list(7, &[6, 7])).len(), 2);
        assert_eq!(source.after, 7);
        assert_eq!(source.take(list(7, &[])).len(), 0);
        assert_eq!(source.take(list(3, &[])).len(), 0, "it has fewer events than were shown");
        assert_eq!(source.after, 0);
        assert_eq!(source.take(list(3, &[1, 2, 3])).len(), 3);
    }
}
