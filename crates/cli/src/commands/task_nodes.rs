//! `hyperscale nodes`: who executes tasks, and who leads.

use hyperscale_types::ExitCode;

use super::tasks::{client, table};
use crate::args::NodesArgs;
use crate::cluster::remote::RemoteError;
use crate::errors::CommandError;
use crate::printer::Printer;
use crate::settings::Settings;
use crate::tasks::view::{NodeLine, NodeList, Nothing, shown_time};

/// Lists the registered nodes.
pub(crate) async fn nodes(
    args: NodesArgs,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let client = client(&args.server)?;
    let list: NodeList = client.tasks("nodes.list", &Nothing {}).await.map_err(RemoteError::from)?;
    if settings.output.json {
        printer.json(&list).map_err(CommandError::Output)?;
    } else if list.nodes.is_empty() {
        printer.note("no node is registered");
    } else {
        let titles = ["node", "status", "leads", "address", "version", "last heard of", "executors"];
        let rows: Vec<[String; 7]> =
            std::iter::once(titles.map(str::to_owned)).chain(list.nodes.iter().map(row)).collect();
        printer.data(&table(&rows)).map_err(CommandError::Output)?;
    }
    Ok(ExitCode::Ok)
}

fn row(line: &NodeLine) -> [String; 7] {
    let node = &line.node;
    let executors: Vec<&str> = node.profile.executors.iter().map(String::as_str).collect();
    [
        node.profile.name.clone(),
        node.status.as_str().to_owned(),
        if line.is_leader { "yes".to_owned() } else { String::new() },
        node.address.clone().unwrap_or_default(),
        node.version.clone(),
        shown_time(node.heartbeat_at),
        executors.join(", "),
    ]
}
