//! The figures as a table, and whether the targets are met.

use super::DeviceName;
use super::programs::Program;
use super::tenure::NAME;
use crate::Result;
use crate::table::{figure, met, mib, table};

/// The figures of one manager in one program.
pub(super) struct Line {
    pub(super) program: Program,
    pub(super) manager: &'static str,
    pub(super) device: DeviceName,
    /// The largest part of its time that tenure is to take.
    pub(super) target: Option<f64>,
    /// CPU time of the thread, nanoseconds.
    pub(super) ns: f64,
    /// Of Rust's heap.
    pub(super) allocations: f64,
    /// The most bytes at the end of a frame.
    pub(super) reserved: Option<u64>,
    /// Objects and memory that the driver made.
    pub(super) driver_creations: Option<f64>,
    /// If they were counted.
    pub(super) instructions: Option<f64>,
}

/// Prints the figures.
///
/// # Errors
/// tenure reserves more memory than another manager, which does not depend on the machine.
pub(super) fn print(lines: &[Line]) -> Result {
    let header = "program | device | manager | CPU, ns | / tenure | instructions | tenure / it | allocations | \
                  reserved, MiB | driver creates | targets of tenure";
    let mut last = None;
    let rows = lines.iter().map(|line| {
        let group = Some((line.program, line.device));
        let is_first = std::mem::replace(&mut last, group) != group;
        let [program, device] = if is_first { [line.program.name(), line.device.name()] } else { [""; 2] };
        let over = figure(beside(lines, line).map(|tenure| line.ns / tenure.ns), 1);
        let reserved = line.reserved.map_or_else(|| "–".to_owned(), mib);
        let (creates, targets) = (figure(line.driver_creations, 2), targets(lines, line).0);
        let instructions = figure(line.instructions, 0);
        let part = beside(lines, line).and_then(|tenure| Some(tenure.instructions? / line.instructions?));
        let part = figure(part, 2);
        let Line { manager, ns, allocations, .. } = line;
        format!(
            "{program} | {device} | {manager} | {ns:.0} | {over} | {instructions} | {part} | {allocations:.2} | \
             {reserved} | {creates} | {targets}"
        )
    });
    println!("{}", table(header, rows));
    match lines.iter().filter(|line| targets(lines, line).1).count() {
        0 => Ok(()),
        missed => Err(format!("tenure reserves more than another manager in {missed} cases").into()),
    }
}

/// tenure on the same device.
fn beside<'a>(lines: &'a [Line], line: &Line) -> Option<&'a Line> {
    lines.iter().find(|it| it.manager == NAME && (it.program, it.device) == (line.program, line.device))
}

/// The targets of tenure beside a manager on the same device, in words, and whether it reserves more.
fn targets(lines: &[Line], line: &Line) -> (String, bool) {
    let mut words = Vec::new();
    let tenure = beside(lines, line).filter(|_| line.manager != NAME);
    if let Some((tenure, target)) = tenure.zip(line.target) {
        let part = tenure.ns / line.ns;
        words.push(format!("{part:.2} of it, ≤ {target:.2}: {}", met(part <= target)));
    }
    let reserved = tenure.and_then(|tenure| tenure.reserved.zip(line.reserved));
    let reserves_more = reserved.is_some_and(|(tenure, other)| tenure > other);
    words.extend(reserved.map(|_| format!("memory: {}", met(!reserves_more))));
    (if words.is_empty() { "–".to_owned() } else { words.join("; ") }, reserves_more)
}

#[cfg(test)]
mod tests {
    use super::{DeviceName, Line, NAME, Program, targets};

    fn line(manager: &'static str, device: DeviceName, ns: f64, reserved: Option<u64>) -> Line {
        let program = Program::Buffers;
        let target = (manager != NAME).then_some(0.5);
        Line {
            program,
            manager,
            device,
            target,
            ns,
            allocations: 0.0,
            reserved,
            driver_creations: None,
            instructions: None,
        }
    }

    #[test]
    fn tenure_is_compared_on_the_same_device() {
        let lines = [
            line(NAME, DeviceName::Null, 10.0, Some(5)),
            line("other", DeviceName::Null, 30.0, None),
            line(NAME, DeviceName::Vulkan, 10.0, Some(5)),
            line("other", DeviceName::Vulkan, 15.0, Some(4)),
            line("third", DeviceName::Vulkan, 20.0, Some(5)),
        ];
        let targets: Vec<_> = lines.iter().map(|line| targets(&lines, line)).collect();
        let expected = [
            ("–", false),
            ("0.33 of it, ≤ 0.50: met", false),
            ("–", false),
            ("0.67 of it, ≤ 0.50: missed; memory: missed", true),
            ("0.50 of it, ≤ 0.50: met; memory: met", false),
        ];
        assert_eq!(targets, expected.map(|(words, reserves_more)| (words.to_owned(), reserves_more)));
    }
}
