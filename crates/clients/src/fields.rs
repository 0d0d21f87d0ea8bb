//! Named values in order: header fields and the like.

/// Fields one after the other: two allocations however many there are. Names are in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields {
    bytes: Vec<u8>,
    /// For each field the ends of its name and its value.
    ends: Vec<(u32, u32)>,
}

impl Fields {
    /// Appends a field.
    pub(crate) fn push(&mut self, name: &str, value: &[u8]) {
        let written: Result<(), std::convert::Infallible> = self.push_with(name, |out| {
            out.extend_from_slice(value);
            Ok(())
        });
        match written {
            Ok(()) => {}
        }
    }

    /// Appends a field whose value is written by `value`. After an error the field is not there.
    pub(crate) fn push_with<E>(
        &mut self,
        name: &str,
        value: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let begin = self.bytes.len();
        self.bytes.extend(name.bytes().map(|byte| byte.to_ascii_lowercase()));
        let name_end = self.bytes.len() as u32;
        let written = value(&mut self.bytes);
        match written {
            Ok(()) => self.ends.push((name_end, self.bytes.len() as u32)),
            Err(_) => self.bytes.truncate(begin),
        }
        written
    }

    /// All fields in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let mut begin = 0;
        self.ends.iter().map(move |(name_end, end)| {
            let name = &self.bytes[begin..*name_end as usize];
            let value = &self.bytes[*name_end as usize..*end as usize];
            begin = *end as usize;
            (std::str::from_utf8(name).expect("names of fields are ASCII"), value)
        })
    }

    /// The values of all fields with this lower-case name.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        self.iter().filter(move |(found, _)| *found == name).map(|(_, value)| value)
    }

    /// Removes the fields with these names.
    pub(crate) fn remove(&mut self, names: &[&str]) {
        if !self.iter().any(|(name, _)| names.contains(&name)) {
            return;
        }
        let mut kept = Fields::default();
        self.iter()
            .filter(|(name, _)| !names.contains(name))
            .for_each(|(name, value)| kept.push(name, value));
        *self = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_cannot_be_written_is_not_there() {
        let mut fields = Fields::default();
        fields.push("A", b"1");
        let failed = fields.push_with("b", |out| {
            out.push(b'x');
            Err("no")
        });
        assert_eq!(failed, Err("no"));
        fields.push("c", b"");
        assert_eq!(fields.iter().collect::<Vec<_>>(), [("a", &b"1"[..]), ("c", b"")]);
        fields.remove(&["a"]);
        assert_eq!(fields.iter().collect::<Vec<_>>(), [("c", &b""[..])]);
    }
}
