//! Compiles `proto/*.proto` to Rust with a compiler written in Rust, so that a fresh machine needs no `protoc`.

use std::error::Error;
use std::path::Path;

const FILES: [&str; 5] = ["common.proto", "gossip.proto", "log.proto", "control.proto", "bulk.proto"];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    println!("cargo::rerun-if-changed={}", folder.display());
    let descriptors = protox::compile(FILES, [&folder])?;
    prost_build::Config::new()
        // Payloads are handed on without copying them out of the received buffer.
        .bytes(["."])
        // Values of a context may be secret; their `Debug` is written by hand.
        .skip_debug([".hyperscale.v1.ContextValues"])
        // The large bodies are boxed, or every small message would be as large as the largest.
        .boxed(".hyperscale.v1.Control.body.register")
        .boxed(".hyperscale.v1.Control.body.dispatch")
        .boxed(".hyperscale.v1.Control.body.job_submit")
        .boxed(".hyperscale.v1.Bulk.body.attempt_result")
        .boxed(".hyperscale.v1.Bulk.body.snapshot")
        .compile_fds(descriptors)?;
    Ok(())
}
