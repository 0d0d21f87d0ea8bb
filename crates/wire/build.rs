//! Compiles `proto/*.proto` to Rust with a compiler written in Rust, so that a fresh machine needs no `protoc`; and writes
//! the shapes of the messages, by which their decoded size is reckoned (`src/measure.rs`).

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use prost_build::Config;
use protox::prost_reflect::prost_types::field_descriptor_proto::{Label, Type};
use protox::prost_reflect::prost_types::{DescriptorProto, FieldDescriptorProto};

const FILES: [&str; 5] = ["common.proto", "gossip.proto", "log.proto", "control.proto", "bulk.proto"];

#[expect(clippy::disallowed_methods, reason = "this is how cargo says where generated files go")]
fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    println!("cargo::rerun-if-changed={}", folder.display());
    let descriptors = protox::compile(FILES, [&folder])?;
    let shapes: String = descriptors.file.iter().flat_map(|file| &file.message_type).map(shape_of).collect();
    std::fs::write(Path::new(&std::env::var("OUT_DIR")?).join("shapes.rs"), shapes)?;
    Config::new()
        // Payloads are handed on without copying them out of the received buffer.
        .bytes(["."])
        // Values of a context may be secret, and addresses carry passwords; `Debug` of what holds them is written by hand.
        .skip_debug([
            ".hyperscale.v1.AttemptResult",
            ".hyperscale.v1.ContextValues",
            ".hyperscale.v1.Decide",
            ".hyperscale.v1.JsonValue",
            ".hyperscale.v1.PlanBundle",
            ".hyperscale.v1.PlanVariable",
            ".hyperscale.v1.JobOptions",
            ".hyperscale.v1.LogEntry",
            ".hyperscale.v1.RaftSnapshot",
        ])
        // The large bodies are boxed, or every small message would be as large as the largest.
        .boxed(".hyperscale.v1.Control.body.register")
        .boxed(".hyperscale.v1.Control.body.dispatch")
        .boxed(".hyperscale.v1.Control.body.dispatch_answer")
        .boxed(".hyperscale.v1.Control.body.job_submit")
        .boxed(".hyperscale.v1.Bulk.body.attempt_result")
        .boxed(".hyperscale.v1.Bulk.body.snapshot")
        .compile_fds(descriptors)?;
    Ok(())
}

/// The static that says what of a message takes memory of its own.
fn shape_of(message: &DescriptorProto) -> String {
    assert!(message.nested_type.is_empty(), "{}: messages stand on their own here", message.name());
    let mut out = format!(
        "pub(crate) static {}: Shape = Shape {{ size: size_of::<messages::{}>(), fields: &[",
        constant(message.name()),
        message.name()
    );
    for field in &message.field {
        if let Some(content) = content_of(field) {
            let is_list = field.label() == Label::Repeated;
            write!(out, "Field {{ number: {}, content: {content}, is_list: {is_list} }},", field.number())
                .expect("a string takes everything");
        }
    }
    out + "] };\n"
}

/// `None`: it is part of its message, or of the received buffer.
fn content_of(field: &FieldDescriptorProto) -> Option<String> {
    let is_list = field.label() == Label::Repeated;
    match field.r#type() {
        Type::Group => panic!("{}: there are no groups here", field.name()),
        Type::Bytes if is_list => panic!("{}: lists of bytes have no shape yet", field.name()),
        Type::Message => {
            let name = field.type_name().rsplit('.').next().unwrap_or_default();
            Some(format!("Content::Message(&{})", constant(name)))
        }
        Type::String => Some("Content::Text".to_owned()),
        Type::Bytes => None,
        _ => is_list.then(|| "Content::Number".to_owned()),
    }
}

/// `MemberUpdate` → `MEMBER_UPDATE`.
fn constant(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(letter.to_ascii_uppercase());
    }
    out
}
