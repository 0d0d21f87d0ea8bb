//! A rolling hash of what happened, when, to whom, and of a part of its content: runs that differ in anything that matters
//! later differ in it.

/// The hash so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trace(u64);

impl Trace {
    /// Takes in what happened, as numbers.
    pub fn mix(&mut self, parts: &[u64]) {
        for part in parts {
            self.0 = (self.0.rotate_left(5) ^ part).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }

    /// Its value.
    pub fn value(self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_content_matter() {
        let hash = |parts: &[u64]| {
            let mut trace = Trace::default();
            trace.mix(parts);
            trace.value()
        };
        assert_eq!(hash(&[1, 2]), hash(&[1, 2]));
        assert_ne!(hash(&[1, 2]), hash(&[2, 1]));
        assert_ne!(hash(&[1, 2]), hash(&[1, 3]));
    }
}
