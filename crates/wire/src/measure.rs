//! What a message will take once it is decoded, reckoned from its bytes before that happens.
//!
//! Two bytes stand for an empty entry of a list that takes 150 in memory: what arrived within its limit could grow a
//! hundredfold. So the bytes are walked first, by the shapes of the messages, which the build writes from the proto
//! files, and what their lists, texts and inner messages will take is added up; beyond [`DECODED_MAX`] nothing is decoded.
//! The sum is never too small: `no_message_takes_more_than_was_reckoned` counts what the decoder allocates.
//!
//! Keys, numbers and unknown fields are read with the functions of the decoder itself, so that both see the same fields.

use prost::DecodeError;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

use crate::kind::MessageError;
use crate::limits::DECODED_MAX;

/// A list of one entry has room for four, and one that moves to a larger place takes up to three times its entries.
const LIST_ROOM: usize = 4;
/// A text has room for eight bytes at least, and for twice its length if it replaces another one.
const TEXT_ROOM: usize = 8;
/// No number of a list takes more.
const NUMBER: usize = size_of::<u64>();
/// Messages inside each other; the decoder refuses more.
const DEPTH_MAX: u32 = 100;

/// What of a message takes memory.
#[derive(Debug)]
pub struct Shape {
    size: usize,
    /// Only those that may take memory of their own.
    fields: &'static [Field],
}

#[derive(Debug)]
struct Field {
    number: u32,
    content: Content,
    is_list: bool,
}

#[derive(Debug)]
enum Content {
    Message(&'static Shape),
    Text,
    /// In lists only.
    Number,
}

pub(crate) mod shapes {
    #![expect(dead_code, reason = "of all messages; a few are for disks only")]

    use super::{Content, Field, Shape};
    use crate::messages;

    include!(concat!(env!("OUT_DIR"), "/shapes.rs"));
}

/// The most that decoding a message of this shape takes, if that is not too much.
pub(crate) fn measure(shape: &Shape, bytes: &[u8]) -> Result<usize, MessageError> {
    let mut meter = Meter { left: DECODED_MAX };
    meter.charge(shape.size)?;
    meter.message(shape, bytes, DEPTH_MAX)?;
    Ok(DECODED_MAX - meter.left)
}

struct Meter {
    left: usize,
}

impl Meter {
    fn charge(&mut self, bytes: usize) -> Result<(), MessageError> {
        self.left = self.left.checked_sub(bytes).ok_or(MessageError::Bloated)?;
        Ok(())
    }

    fn message(&mut self, shape: &Shape, mut rest: &[u8], depth: u32) -> Result<(), MessageError> {
        let depth = depth.checked_sub(1).ok_or(MessageError::Malformed)?;
        while !rest.is_empty() {
            let (number, wire_type) = decode_key(&mut rest)?;
            let field = shape.fields.iter().find(|field| field.number == number);
            match (field, wire_type) {
                (Some(field), WireType::LengthDelimited) => {
                    let length = decode_varint(&mut rest)?;
                    let content = take(&mut rest, length)?;
                    self.field(field, content, depth)?;
                }
                (field, _) => {
                    self.charge(if field.is_some() { LIST_ROOM * NUMBER } else { 0 })?;
                    skip_field(wire_type, number, &mut rest, DecodeContext::default())?;
                }
            }
        }
        Ok(())
    }

    fn field(&mut self, field: &Field, content: &[u8], depth: u32) -> Result<(), MessageError> {
        let room = if field.is_list { LIST_ROOM } else { 1 };
        match field.content {
            Content::Message(shape) => {
                self.charge(room * shape.size)?;
                self.message(shape, content, depth)
            }
            Content::Text => self.charge(room * size_of::<String>() + TEXT_ROOM + 2 * content.len()),
            // Packed: each takes a byte at least.
            Content::Number => self.charge(room * NUMBER * content.len()),
        }
    }
}

fn take<'a>(rest: &mut &'a [u8], length: u64) -> Result<&'a [u8], MessageError> {
    let length = usize::try_from(length).map_err(|_| MessageError::Malformed)?;
    rest.split_off(..length).ok_or(MessageError::Malformed)
}

impl From<DecodeError> for MessageError {
    fn from(_: DecodeError) -> Self {
        MessageError::Malformed
    }
}
