//! A request from the plan's words to what is sent.

pub(crate) mod body;
pub(crate) mod encode;
pub(crate) mod extra;
pub(crate) mod message;
pub mod multipart;
pub(crate) mod prepare;
pub(crate) mod target;
pub(crate) mod template;
pub(crate) mod text;
pub mod url;
