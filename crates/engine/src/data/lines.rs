//! Lines of a data file: ended by LF, CR LF or CR; empty ones are skipped.

/// The lines that are not empty, each with its offset.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let ends = memchr::memchr2_iter(b'\n', b'\r', bytes).chain([bytes.len()]);
    ends.scan(0, |begin, end| {
        let line = (*begin, &bytes[*begin..end]);
        *begin = end + 1;
        Some(line)
    })
    .filter(|(_, line)| !line.is_empty())
}

/// The offsets of the lines that are not empty. A block of rows is far below 4 GiB.
pub(super) fn starts(bytes: &[u8]) -> Box<[u32]> {
    lines(bytes).map(|(offset, _)| offset as u32).collect()
}
