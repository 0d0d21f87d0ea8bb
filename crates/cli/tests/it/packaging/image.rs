//! The image, and what others rely on in it.

use super::{documents, folder, string, text};

#[test]
fn image_is_built_with_our_toolchain_and_runs_as_nobody() {
    let (file, toolchain) = (text("Dockerfile"), text("../rust-toolchain.toml"));
    let channel =
        toolchain.lines().find_map(|line| line.strip_prefix("channel = ")).unwrap().trim_matches('"');
    for named in [format!("FROM rust:{channel}-"), format!("RUSTUP_TOOLCHAIN={channel}\n")] {
        assert!(file.contains(&named), "the toolchain is {channel}");
    }
    assert!(file.contains("--release --locked --bin hyperscale") && file.contains("strip "));
    assert!(file.contains("ENTRYPOINT [\"/usr/local/bin/hyperscale\"]"));
    let user = file.lines().find_map(|line| line.strip_prefix("USER ")).unwrap();
    let managers = documents("kubernetes/managers.yaml");
    let set = managers.iter().find(|it| it["kind"] == "StatefulSet").unwrap();
    let context = &set["spec"]["template"]["spec"]["securityContext"];
    assert_eq!(user, format!("{}:{}", context["runAsUser"], context["runAsGroup"]));
    assert!(file.contains(&format!("--uid {} ", context["runAsUser"])));
    let data = string(set, "/spec/template/spec/containers/0/volumeMounts/0/mountPath");
    assert!(file.contains(&format!("install -d -o hyperscale -g hyperscale -m 0700 {data}")), "{data}");
}

#[test]
fn everything_that_the_build_reads_is_in_its_context() {
    let kept = text("Dockerfile.dockerignore");
    let root = folder().join("..");
    let names: Vec<&str> = kept.lines().filter_map(|line| line.strip_prefix('!')).collect();
    for name in &names {
        assert!(root.join(name).exists(), "{name} does not exist");
    }
    for needed in ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "crates", "proto", "examples"] {
        assert!(names.contains(&needed), "{needed} is left out");
    }
}
