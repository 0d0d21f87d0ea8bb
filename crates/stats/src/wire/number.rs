//! Numbers, texts and sections; see the module above for the format.

use super::DecodeError;

pub(super) fn put(out: &mut Vec<u8>, number: impl Into<u128>) {
    let mut number = number.into();
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub(super) fn put_len(out: &mut Vec<u8>, len: usize) {
    put(out, len as u64);
}

/// The eight bytes of a float; there is one not-a-number.
pub(super) fn put_f64(out: &mut Vec<u8>, number: f64) {
    let number = if number.is_nan() { f64::NAN } else { number };
    out.extend(number.to_bits().to_le_bytes());
}

pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_len(out, text.len());
    out.extend_from_slice(text.as_bytes());
}

/// A list of counters. Older and newer versions have fewer or more of them.
pub(super) fn put_counters(out: &mut Vec<u8>, counters: &[u64]) {
    put_len(out, counters.len());
    for counter in counters {
        put(out, *counter);
    }
}

pub(super) fn zig_zag(number: i128) -> u128 {
    ((number << 1) ^ (number >> (i128::BITS - 1))).cast_unsigned()
}

pub(super) fn un_zig_zag(number: u128) -> i128 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

/// Sections that are being written. One without bytes is left out.
#[derive(Default)]
pub(super) struct Sections {
    count: usize,
    bytes: Vec<u8>,
    scratch: Vec<u8>,
}

impl Sections {
    /// Writes a section; to be called in ascending order of numbers.
    pub(super) fn section(&mut self, number: u8, write: impl FnOnce(&mut Vec<u8>)) {
        self.scratch.clear();
        write(&mut self.scratch);
        if !self.scratch.is_empty() {
            self.count += 1;
            put(&mut self.bytes, number);
            put_len(&mut self.bytes, self.scratch.len());
            self.bytes.extend_from_slice(&self.scratch);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn finish(self, out: &mut Vec<u8>) {
        put_len(out, self.count);
        out.extend(self.bytes);
    }
}

/// Bytes that are being read, and the memory that may still be taken for them.
pub(super) struct Reader<'b> {
    bytes: &'b [u8],
    memory_left: usize,
}

impl<'b> Reader<'b> {
    pub(super) fn new(bytes: &'b [u8], memory_max: usize) -> Self {
        Reader { bytes, memory_left: memory_max }
    }

    /// What was not read yet.
    pub(super) fn rest(&self) -> &'b [u8] {
        self.bytes
    }

    pub(super) fn finish(&self) -> Result<(), DecodeError> {
        if self.bytes.is_empty() { Ok(()) } else { Err(DecodeError::Trailing) }
    }

    /// To be called before memory is allocated.
    pub(super) fn charge(&mut self, bytes: usize) -> Result<(), DecodeError> {
        self.memory_left = self.memory_left.checked_sub(bytes).ok_or(DecodeError::TooLarge)?;
        Ok(())
    }

    pub(super) fn slice(&mut self, len: usize) -> Result<&'b [u8], DecodeError> {
        let (slice, rest) = self.bytes.split_at_checked(len).ok_or(DecodeError::Truncated)?;
        self.bytes = rest;
        Ok(slice)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (array, rest) = self.bytes.split_first_chunk().ok_or(DecodeError::Truncated)?;
        self.bytes = rest;
        Ok(*array)
    }

    pub(super) fn byte(&mut self) -> Result<u8, DecodeError> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// A varint in its shortest form: there is one way to write a number.
    pub(super) fn u128(&mut self) -> Result<u128, DecodeError> {
        let mut number = 0u128;
        for shift in (0..u128::BITS).step_by(7) {
            let byte = self.byte()?;
            let bits = u128::from(byte & 0x7f);
            if bits << shift >> shift != bits || (byte == 0 && shift > 0) {
                return Err(DecodeError::NumberTooLarge);
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(DecodeError::NumberTooLarge)
    }

    /// A varint that fits its place.
    pub(super) fn number<N: TryFrom<u128>>(&mut self) -> Result<N, DecodeError> {
        N::try_from(self.u128()?).map_err(|_| DecodeError::NumberTooLarge)
    }

    /// How many items follow. Each takes at least one byte, so that a lie is noticed before anything is done.
    pub(super) fn len(&mut self) -> Result<usize, DecodeError> {
        let len: usize = self.number()?;
        if len <= self.bytes.len() { Ok(len) } else { Err(DecodeError::Truncated) }
    }

    pub(super) fn f64(&mut self) -> Result<f64, DecodeError> {
        self.array().map(|bytes| f64::from_bits(u64::from_le_bytes(bytes)))
    }

    pub(super) fn text(&mut self, bytes_max: usize) -> Result<&'b str, DecodeError> {
        let len = self.len()?;
        if len > bytes_max {
            return Err(DecodeError::BadText);
        }
        std::str::from_utf8(self.slice(len)?).map_err(|_| DecodeError::BadText)
    }

    /// A list of counters; those that an older version did not send are zero, those of a newer one are skipped.
    pub(super) fn counters<const N: usize>(&mut self) -> Result<[u64; N], DecodeError> {
        let mut counters = [0; N];
        for at in 0..self.len()? {
            let counter = self.number()?;
            if let Some(known) = counters.get_mut(at) {
                *known = counter;
            }
        }
        Ok(counters)
    }

    /// Reads sections; `take` says whether it knows the number and reads the whole payload then.
    pub(super) fn sections(
        &mut self,
        mut take: impl FnMut(u8, &mut Reader<'b>) -> Result<bool, DecodeError>,
    ) -> Result<(), DecodeError> {
        let mut last = None;
        for _ in 0..self.len()? {
            let number: u8 = self.number()?;
            ascending(&mut last, number)?;
            let len = self.len()?;
            let mut section = Reader::new(self.slice(len)?, self.memory_left);
            if len == 0 {
                return Err(DecodeError::Contradiction);
            }
            if take(number, &mut section)? {
                section.finish()?;
            }
            self.memory_left = section.memory_left;
        }
        Ok(())
    }
}

/// Checks that keys come in order, each once.
pub(super) fn ascending<K: PartialOrd + Copy>(last: &mut Option<K>, key: K) -> Result<(), DecodeError> {
    let in_order = last.is_none_or(|last| last < key);
    *last = Some(key);
    if in_order { Ok(()) } else { Err(DecodeError::KeyOutOfRange) }
}
