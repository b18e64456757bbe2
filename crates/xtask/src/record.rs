//! Writes a file of `docs/devices`: the devices of a machine, the results of steps on them, and figures.

use std::fmt::Write as _;
use std::fs;

use crate::command::{cargo_printed, printed, root};
use crate::records::FOLDER;
use crate::step::{Settings, StepResult};
use crate::test;

/// The steps that use devices; those that this system lacks are left out.
const STEPS: [&str; 9] =
    ["vulkan", "d3d12", "d3d12-runtime", "devices", "pictures", "triangles", "viewer", "frames", "wgpu"];
/// These steps need a device of the lab.
const ONLY_ON_WINDOWS: [&str; 2] = ["d3d12", "d3d12-runtime"];
/// The measurements: arguments of `bench`.
const FIGURES: [&str; 2] = ["create", "pressure"];
/// The program that describes devices and the features that tenure uses.
const DEVICES: [&str; 9] =
    ["run", "--release", "--quiet", "--package", "tenure-cli", "--features", "full", "--", "devices"];

/// Runs the steps and writes the file of that name. A step or a program that fails is in the file, and is an error afterwards.
pub(crate) fn run(name: &str) -> Result<(), String> {
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    if !is_name || name.starts_with('.') {
        return Err(format!("{name:?}: a name consists of ASCII characters, digits and -_."));
    }
    let settings = Settings { is_strict: true, is_native: true, is_lean: false, is_quick: false };
    let is_here = |step: &&str| cfg!(windows) || !ONLY_ON_WINDOWS.contains(step);
    let steps: Vec<_> = STEPS.into_iter().filter(is_here).map(str::to_owned).collect();
    let (results, mut outcome) = test::run(&steps, settings)?;
    let mut said = |arguments: &[&str]| {
        cargo_printed(arguments).unwrap_or_else(|error| {
            outcome = Err(error.clone());
            error
        })
    };
    let devices = said(&DEVICES);
    let figures = FIGURES
        .map(|figure| (figure, said(&["run", "--release", "--quiet", "--package", "bench", "--", figure])));
    let commit = printed("git", &["-C", &root().to_string_lossy(), "describe", "--always", "--dirty"]);
    let text = page(name, commit.as_deref().unwrap_or("unknown"), &devices, &results, &figures);
    let path = root().join(FOLDER).join(format!("{name}.md"));
    let written = fs::create_dir_all(root().join(FOLDER)).and_then(|()| fs::write(&path, text));
    written.map_err(|error| format!("{}: {error}", path.display()))?;
    println!("{FOLDER}/{name}.md is written: link to it in docs/status.md, section \"Devices\"");
    outcome
}

fn page(
    name: &str,
    commit: &str,
    devices: &str,
    steps: &[StepResult],
    figures: &[(&'static str, String)],
) -> String {
    let mut text = format!(
        "# {name}\n\nWritten by `cargo xtask record {name}`, at {commit}, on {} ({}).\n\n## Devices\n\n",
        std::env::consts::OS,
        std::env::consts::ARCH,
    );
    let block = |text: &mut String, content: &str| {
        let _never_fails = writeln!(text, "```text\n{}\n```\n", content.trim_end());
    };
    block(&mut text, devices);
    text.push_str("## Steps\n\n| step | result | seconds |\n| --- | --- | --- |\n");
    for step in steps {
        let said = step.said().replace('|', "\\|").replace('\n', " ");
        let _never_fails = writeln!(text, "| {} | {said} | {:.0} |", step.name, step.time.as_secs_f64());
    }
    text.push('\n');
    for (figure, printed) in figures {
        let _never_fails = writeln!(text, "## `bench {figure}`\n");
        block(&mut text, printed);
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{StepResult, page};
    use crate::outcome::Trouble;
    use crate::step::Report;

    #[test]
    fn a_page_lists_the_result_of_each_step() {
        let of = |name, outcome, seconds| {
            let report = Report { outcome, ..Report::default() };
            StepResult::new(name, report, Duration::from_secs(seconds), true)
        };
        let steps = [of("vulkan", Ok(()), 61), of("frames", Err(Trouble::Failed("a | b\nc".to_owned())), 2)];
        let text = page("card", "abc", "0: card\n", &steps, &[("create", "figures\n".to_owned())]);
        assert!(text.contains("| vulkan | passed | 61 |\n| frames | FAILED: a \\| b c | 2 |\n"), "{text}");
        assert!(text.contains("```text\n0: card\n```\n") && text.ends_with("figures\n```\n"), "{text}");
    }
}
