//! `hyperscale-sim`, behind `cargo xtask sim`: searches seeds, repeats one, hunts deliberate bugs, measures.

#![expect(clippy::print_stderr, reason = "a developer tool talks to the terminal it was started from")]

mod numbers;
mod search;

use std::io::Write;
use std::num::NonZeroU32;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Parser;
use hyperscale_sim::bug::{Bug, UnknownBug};
use hyperscale_sim::{Options, Size, report, run, teeth};
use serde_json::json;

use search::Search;

/// Seeds from which on a batch must have taken every rare path.
const PATHS_FROM: u64 = 200;

/// Simulate whole clusters under faults and check every promise after every event.
#[derive(Debug, Parser)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
#[command(name = "cargo xtask sim")]
struct Arguments {
    /// Run that many seeds.
    #[arg(long, value_name = "N", default_value_t = 300)]
    seeds: u64,
    /// First seed.
    #[arg(long, value_name = "S", default_value_t = 0)]
    from: u64,
    /// Run only this seed and tell everything about it.
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Clusters of three datacenters and a thousand workers.
    #[arg(long)]
    large: bool,
    /// Faults come for this many simulated minutes, instead of three in small clusters and 28 in large ones.
    #[arg(long, value_name = "N")]
    minutes: Option<NonZeroU32>,
    /// With a deliberate bug.
    #[arg(long, value_name = "NAME", value_parser = |text: &str| text.parse::<Bug>().map_err(|error: UnknownBug| error.to_string()))]
    bug: Option<Bug>,
    /// Without the judges that look inside of cores: messages, disks, queues.
    #[arg(long)]
    black_box: bool,
    /// Hunt every deliberate bug anew and write down what catches it.
    #[arg(long)]
    teeth: bool,
    /// When hunting: also tell how many of the first seeds catch a bug, and whether one does without the judges that look inside.
    #[arg(long)]
    thorough: bool,
    /// Run the recorded seed of every deliberate bug, with it and without: each must be caught, and nothing else.
    #[arg(long)]
    replay: bool,
    /// Measure the goals: all of them, or these topics (detection, deaths, starvation, rounds, bytes, health,
    /// leadership, commits, takeover, speed).
    #[arg(long, value_name = "TOPIC", num_args = 0..)]
    measure: Option<Vec<String>>,
    /// Smaller clusters and shorter times when measuring.
    #[arg(long)]
    quick: bool,
    /// Stop searching after so many seconds.
    #[arg(long, value_name = "S")]
    seconds: Option<u64>,
    /// Fail if fewer seeds than this were run.
    #[arg(long, value_name = "N", default_value_t = 1)]
    least: u64,
    /// Seeds that run at the same time.
    #[arg(long, value_name = "N", default_value_t = 2)]
    jobs: usize,
    /// Print the result as JSON on stdout.
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    match start(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sim: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn start(arguments: &Arguments) -> Result<()> {
    let size = if arguments.large { Size::Large } else { Size::Small };
    let faults_for = arguments.minutes.map(|minutes| Duration::from_secs(60 * u64::from(minutes.get())));
    let black_box = arguments.black_box;
    let options = Options { size, bug: arguments.bug, black_box, record: false, faults_for };
    if let Some(seed) = arguments.seed {
        return one(seed, options);
    }
    if arguments.teeth {
        return hunt(arguments);
    }
    if let Some(topics) = &arguments.measure {
        return numbers::run(topics, !arguments.quick, arguments.jobs.max(1));
    }
    search(arguments, options)?;
    if arguments.replay { replay() } else { Ok(()) }
}

fn one(seed: u64, options: Options) -> Result<()> {
    let begin = Instant::now();
    let outcome = run(seed, options);
    eprintln!("{}", report::line(&outcome));
    let ratio = outcome.simulated.as_secs_f64() / begin.elapsed().as_secs_f64();
    eprintln!("{:.0} s simulated, {ratio:.0} × real time", outcome.simulated.as_secs_f64());
    if outcome.violation.is_some() {
        bail!("a promise was broken\n{}", report::failure(seed, options));
    }
    Ok(())
}

fn search(arguments: &Arguments, options: Options) -> Result<()> {
    let search = Search {
        from: arguments.from,
        seeds: arguments.seeds,
        jobs: arguments.jobs.max(1),
        limit: arguments.seconds.map(Duration::from_secs),
    };
    let found = search.run(options);
    if arguments.json {
        let text = json!({
            "from": search.from, "seeds": found.seeds, "events": found.events, "seconds": found.took.as_secs_f64(),
            "simulated_seconds": found.simulated.as_secs_f64(), "converged_seconds_max": found.slowest.as_secs_f64(),
            "failed": found.failed,
        });
        writeln!(std::io::stdout(), "{text:#}")?;
    }
    eprintln!("{found}");
    if let Some(seed) = found.failed.first() {
        bail!(
            "{} of {} seeds broke a promise\n{}",
            found.failed.len(),
            found.seeds,
            report::failure(*seed, options)
        );
    }
    check_paths(&found)?;
    if found.seeds < arguments.least {
        bail!("only {} seeds in the time given, {} are the least", found.seeds, arguments.least);
    }
    Ok(())
}

/// Shows the rare paths of a batch; one that no seed took fails it.
fn check_paths(found: &search::Found) -> Result<()> {
    if found.seeds < PATHS_FROM {
        return Ok(());
    }
    eprintln!("{}", found.paths.to_text());
    let untaken = found.paths.untaken();
    if !untaken.is_empty() {
        bail!("{} seeds never took these paths: {untaken:?}", found.seeds);
    }
    Ok(())
}

fn hunt(arguments: &Arguments) -> Result<()> {
    let bugs: Vec<Bug> = Bug::all().filter(|bug| arguments.bug.is_none_or(|only| only == *bug)).collect();
    let hunted = search::each(arguments.jobs.max(1), &bugs, |bug| {
        let caught = if arguments.thorough { teeth::hunt_thoroughly(*bug) } else { teeth::hunt(*bug) };
        match &caught {
            Some(it) => eprintln!("{}", teeth::line(it)),
            None => eprintln!("{bug}: NOT CAUGHT within {} seeds", teeth::SEEDS_MAX),
        }
        caught
    });
    let caught: Vec<teeth::Catch> = hunted.into_iter().flatten().collect();
    if arguments.bug.is_none() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("teeth.txt");
        std::fs::write(&path, teeth::write(&caught)).context("cannot write teeth.txt")?;
    }
    if caught.len() < bugs.len() {
        bail!("{} of {} deliberate bugs were not caught", bugs.len() - caught.len(), bugs.len());
    }
    Ok(())
}

fn replay() -> Result<()> {
    let recorded = teeth::recorded().map_err(anyhow::Error::msg)?;
    let breaches = search::each(2, &teeth::seeds(&recorded), |seed| teeth::breach(*seed));
    let mut blunt: Vec<String> = breaches.into_iter().flatten().collect();
    blunt.extend(search::each(2, &recorded, teeth::gone_blunt).into_iter().flatten());
    if !blunt.is_empty() {
        bail!("teeth went blunt; if that is right, run 'cargo xtask sim --teeth'\n{}", blunt.join("\n"));
    }
    eprintln!("{} deliberate bugs caught by their recorded seeds", recorded.len());
    Ok(())
}
