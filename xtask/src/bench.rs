//! Builds and runs the benchmark.

use crate::build;
use crate::servers;
use crate::step::{Outcome, cargo, im, root, run, target};
use std::process::Command;

/// `arguments`: what is measured, and the benchmark's own options.
pub fn redis(arguments: &[String]) -> Outcome {
    build::build()?;
    servers::install()?;
    run("building the benchmark", cargo().args(["build", "--locked", "--release", "--package", "im-bench"]))?;
    let mut bench = Command::new(target().join("release/im-bench"));
    bench.current_dir(root()).args(arguments).arg("--im").arg(im()).arg("--components");
    run("measuring", bench.arg(target().join(build::WASM_TARGET).join("wasm")))
}
