//! The generated parts of `docs/benchmarks.md`, one per author; what others wrote around them is kept. Pure.

fn begin(author: &str) -> String {
    format!("<!-- begin: written by `{author}` -->")
}

fn end(author: &str) -> String {
    format!("<!-- end: written by `{author}` -->")
}

const SKELETON: &str = "\
# Benchmarks

How they are made: client and server are pinned to a core each; clients run one after the other, in rotated order, again
and again; a ratio compares runs of the same repetition, and the table shows the median of these ratios. Requests are
counted by the server, CPU time (user and system) by the kernel, peak memory is `VmHWM`. The honest cost is the client's
CPU time per request: requests per second also depend on who of the two is slower.

`cargo xtask bench` repeats all of it, `cargo xtask bench --quick` some of it.
";

/// The document with the part of an author, the command that writes it, exchanged; appended if it has none. A document
/// without text gets an introduction.
pub(crate) fn with_generated(document: &str, author: &str, generated: &str) -> String {
    let (begin, end) = (begin(author), end(author));
    let part = format!("{begin}\n{}\n{end}", generated.trim_end());
    let around = document.split_once(&begin).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(&end)?;
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

    const BENCH: &str = "cargo xtask bench";

    #[test]
    fn authors_keep_off_each_others_parts() {
        let first =
            with_generated(&with_generated("# Ours\n", BENCH, "engine 1"), "cargo xtask sim", "members 1");
        let second = with_generated(&first, BENCH, "engine 2");
        assert_eq!(second, first.replace("engine 1", "engine 2"));
        assert!(with_generated(&second, "cargo xtask sim", "members 2").contains("engine 2"));
    }

    #[test]
    fn only_the_generated_part_is_exchanged() {
        let first = with_generated("# Ours\n", BENCH, "old");
        let around = first.replace("# Ours", "# Ours\n\nhand-written") + "\n## Tasks\n";
        let second = with_generated(&around, BENCH, "new\n");
        assert_eq!(second, around.replace("old", "new"));
        assert!(second.starts_with("# Ours\n\nhand-written\n") && second.ends_with("\n## Tasks\n"));
    }

    #[test]
    fn a_missing_document_gets_an_introduction() {
        let made = with_generated("", BENCH, "numbers");
        assert!(made.starts_with("# Benchmarks\n"));
        assert_eq!(with_generated(&made, BENCH, "numbers"), made);
    }

    #[test]
    fn a_lost_end_mark_loses_no_text() {
        let broken = format!("a\n{}\nb\n", begin(BENCH));
        assert!(with_generated(&broken, BENCH, "c").starts_with(broken.trim_end()));
    }
}
