//! Comma-separated values (RFC 4180): a header, quoted fields with anything in them, every row as long as the header.

use std::sync::Arc;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use minijinja::Value;
use minijinja::value::{Enumerator, Object};

use super::error::{Fault, Problem};
use super::{BOM, COLUMNS_MAX, Index, ROW_BYTES_MAX, lines};

/// Room for a record at first; grows with the longest.
const RECORD_BYTES: usize = 4096;
const RECORD_FIELDS: usize = 32;

/// Checks header and rows and notes where rows are.
pub(super) fn scan(bytes: &[u8], delimiter: u8) -> Result<(Columns, Index), Fault> {
    let mut records = Records::new(bytes, delimiter);
    records.at = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    let header_at = records.at;
    if !records.read()? {
        return Err(Fault::file(Problem::NoRows));
    }
    let columns = Columns::new(&records).map_err(|problem| Fault::at(header_at, problem))?;
    let mut index = Index::default();
    loop {
        let offset = records.at;
        if !records.read()? {
            return Ok((columns, index));
        }
        check(&bytes[offset..records.at], columns.0.len(), records.count, records.at == bytes.len())
            .map_err(|problem| Fault::at(offset, problem))?;
        index.push(offset);
    }
}

fn check(row: &[u8], expected: usize, found: usize, last: bool) -> Result<(), Problem> {
    let odd_quotes = last && !memchr::memchr_iter(b'"', row).count().is_multiple_of(2);
    let many_lines = lines::lines(row).nth(1).is_some();
    match () {
        () if odd_quotes && (many_lines || found != expected) => Err(Problem::UnclosedQuote),
        () if found != expected => Err(Problem::Ragged { expected, found }),
        () => Ok(()),
    }
}

/// Where the rows of a block begin. Without a quote every line is a row, and lines are found far faster.
pub(super) fn split(block: &[u8], delimiter: u8) -> Box<[u32]> {
    if memchr::memchr(b'"', block).is_none() {
        return lines::starts(block);
    }
    let mut records = Records::new(block, delimiter);
    let mut starts = Vec::new();
    loop {
        let offset = records.at;
        match records.read() {
            Ok(true) => starts.push(offset as u32),
            Ok(false) | Err(_) => return starts.into(),
        }
    }
}

/// A row as a value: a map from column to text.
pub(super) fn read(row: &[u8], delimiter: u8, columns: &Arc<Columns>) -> Value {
    let mut records = Records::new(row, delimiter);
    if !matches!(records.read(), Ok(true)) || records.count != columns.0.len() {
        return Value::UNDEFINED;
    }
    let ends: Box<[usize]> = records.ends[..records.count].into();
    records.output.truncate(ends.last().copied().unwrap_or_default());
    match String::from_utf8(records.output) {
        Ok(text) => Value::from_object(Row { columns: Arc::clone(columns), text, ends }),
        Err(_) => Value::UNDEFINED,
    }
}

/// The names of the columns, in order.
#[derive(Debug)]
pub(super) struct Columns(Box<[Arc<str>]>);

impl Columns {
    fn new(header: &Records<'_>) -> Result<Self, Problem> {
        let mut names: Vec<Arc<str>> = Vec::with_capacity(header.count);
        for at in 0..header.count {
            let name = String::from_utf8_lossy(header.field(at)).trim().to_owned();
            if name.is_empty() {
                return Err(Problem::UnnamedColumn(at + 1));
            }
            if names.iter().any(|known| **known == *name) {
                return Err(Problem::DuplicateColumn(name));
            }
            names.push(name.into());
        }
        Ok(Columns(names.into()))
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|name| &**name)
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.names().position(|known| known == name)
    }
}

/// A row. Only the fields that a template asks for become values.
#[derive(Debug)]
struct Row {
    columns: Arc<Columns>,
    /// All fields, one behind the other, without quotes.
    text: String,
    /// Where each field ends in `text`.
    ends: Box<[usize]>,
}

impl Row {
    fn field(&self, at: usize) -> &str {
        let begin = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[begin..self.ends[at]]
    }
}

impl Object for Row {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        self.columns.position(key).map(|at| Value::from(self.field(at)))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.columns.0.iter().map(|name| Value::from(Arc::clone(name))).collect())
    }
}

/// Reads records one after the other.
struct Records<'a> {
    reader: Reader,
    bytes: &'a [u8],
    /// Everything before is read.
    at: usize,
    /// The fields of the record, one behind the other.
    output: Vec<u8>,
    ends: Vec<usize>,
    /// How many fields the record has.
    count: usize,
}

impl<'a> Records<'a> {
    fn new(bytes: &'a [u8], delimiter: u8) -> Self {
        Records {
            reader: ReaderBuilder::new().delimiter(delimiter).build(),
            bytes,
            at: 0,
            output: vec![0; RECORD_BYTES.min(bytes.len() + 1)],
            ends: vec![0; RECORD_FIELDS],
            count: 0,
        }
    }

    /// Reads the next record; whether there was one.
    fn read(&mut self) -> Result<bool, Fault> {
        let begin = self.at;
        let mut written = 0;
        self.count = 0;
        loop {
            let (input, output) = (&self.bytes[self.at..], &mut self.output[written..]);
            let (result, read, out, ends) =
                self.reader.read_record(input, output, &mut self.ends[self.count..]);
            self.at += read;
            written += out;
            self.count += ends;
            match result {
                ReadRecordResult::Record => return Ok(true),
                ReadRecordResult::End => return Ok(false),
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull if written >= ROW_BYTES_MAX => {
                    return Err(Fault::at(begin, Problem::RowTooLong));
                }
                ReadRecordResult::OutputFull => self.output.resize((written * 2).max(RECORD_BYTES), 0),
                ReadRecordResult::OutputEndsFull if self.count >= COLUMNS_MAX => {
                    return Err(Fault::at(begin, Problem::TooManyColumns));
                }
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.count * 2, 0),
            }
        }
    }

    fn field(&self, at: usize) -> &[u8] {
        let begin = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.output[begin..self.ends[at]]
    }
}
