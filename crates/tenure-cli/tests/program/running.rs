//! Running the program.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

pub(crate) fn tenure(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    command.args(args).stdin(Stdio::null());
    command
}

pub(crate) fn run(args: &[&str]) -> Output {
    tenure(args).output().unwrap()
}

pub(crate) fn run_with_input(args: &[&str], input: &[u8]) -> Output {
    let mut child =
        tenure(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A program that stops early closes its input.
    let _closed = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

pub(crate) fn status(output: &Output) -> i32 {
    output.status.code().unwrap()
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

pub(crate) fn objects(output: &Output) -> Vec<Value> {
    stdout(output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A recording.
pub(crate) const TINY: &str = "op,id,size,align,kind,frame\n\
                    alloc,1,2304,64,cpu_to_gpu+linear,0\n\
                    frame,,,,,1\n\
                    free,1,2304,,cpu_to_gpu+linear,1\n";

/// A recording with an allocation larger than any device's memory.
pub(crate) const FAILING: &str = "op,id,size,align,kind,frame\n\
                    alloc,5,17592186044416,64,gpu_only+linear,0\n\
                    alloc,6,256,64,gpu_only+linear,0\n";

pub(crate) fn recording() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/egui_demo_app.csv.gz");
    folder.to_str().unwrap().to_owned()
}
