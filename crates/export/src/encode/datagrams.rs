//! Lines packed into datagrams that no link on the way has to cut.

/// Bytes of a datagram: what fits into an Ethernet frame with IPv6 and some tunnelling, as StatsD documents it.
pub const DATAGRAM_MAX: usize = 1_432;

/// Lines in as few datagrams as their order allows. A line that is too long for one is counted instead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Datagrams {
    /// Each at most [`DATAGRAM_MAX`] bytes.
    pub packed: Vec<String>,
    /// Lines that fit into none.
    pub too_long: u64,
}

/// Packs lines, which end with a line end.
pub fn pack(lines: impl IntoIterator<Item = String>) -> Datagrams {
    let mut datagrams = Datagrams::default();
    for line in lines {
        match datagrams.packed.last_mut() {
            _ if line.len() > DATAGRAM_MAX => datagrams.too_long += 1,
            Some(last) if last.len() + line.len() <= DATAGRAM_MAX => last.push_str(&line),
            _ => datagrams.packed.push(line),
        }
    }
    datagrams
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_in_one_datagram_or_counted() {
        let lines: Vec<String> = (0..2_000).map(|length| "x".repeat(length) + "\n").collect();
        let all: usize = lines.iter().filter(|line| line.len() <= DATAGRAM_MAX).map(String::len).sum();
        let datagrams = pack(lines);
        assert!(datagrams.packed.iter().all(|packed| packed.len() <= DATAGRAM_MAX && packed.ends_with('\n')));
        assert_eq!(datagrams.packed.iter().map(String::len).sum::<usize>(), all);
        assert_eq!(datagrams.too_long, 2_000 - DATAGRAM_MAX as u64);
    }
}
