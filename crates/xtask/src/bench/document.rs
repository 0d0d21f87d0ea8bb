//! The generated part of `docs/benchmarks.md`; what others wrote around it is kept. Pure.

const BEGIN: &str = "<!-- begin: written by `cargo xtask bench` -->";
const END: &str = "<!-- end: written by `cargo xtask bench` -->";

const SKELETON: &str = "\
# Benchmarks

How they are made: client and server are pinned to a core each; clients run one after the other, in rotated order, again
and again; a ratio compares runs of the same repetition, and the table shows the median of these ratios. Requests are
counted by the server, CPU time (user and system) by the kernel, peak memory is `VmHWM`. The honest cost is the client's
CPU time per request: requests per second also depend on who of the two is slower.

`cargo xtask bench` repeats all of it, `cargo xtask bench --quick` some of it.
";

/// The document with its generated part exchanged; appended if it has none. A document without text gets an
/// introduction.
pub(super) fn with_generated(document: &str, generated: &str) -> String {
    let part = format!("{BEGIN}\n{}\n{END}", generated.trim_end());
    let around = document.split_once(BEGIN).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(END)?;
        Some((before, after))
    });
    match around {
        Some((before, after)) => format!("{before}{part}{after}"),
        None if document.trim().is_empty() => format!("{SKELETON}\n{part}\n"),
        None => format!("{}\n\n{part}\n", document.trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_generated_part_is_exchanged() {
        let first = with_generated("# Ours\n", "old");
        let around = first.replace("# Ours", "# Ours\n\nhand-written") + "\n## Tasks\n";
        let second = with_generated(&around, "new\n");
        assert_eq!(second, around.replace("old", "new"));
        assert!(second.starts_with("# Ours\n\nhand-written\n") && second.ends_with("\n## Tasks\n"));
    }

    #[test]
    fn a_missing_document_gets_an_introduction() {
        let made = with_generated("", "numbers");
        assert!(made.starts_with("# Benchmarks\n"));
        assert_eq!(with_generated(&made, "numbers"), made);
    }

    #[test]
    fn a_lost_end_mark_loses_no_text() {
        let broken = format!("a\n{BEGIN}\nb\n");
        assert!(with_generated(&broken, "c").starts_with(broken.trim_end()));
    }
}
