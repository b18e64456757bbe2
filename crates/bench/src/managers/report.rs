//! The figures as a table, and whether the targets are met.

use std::fmt;

use super::DeviceName;
use super::programs::Program;
use super::tenure::NAME;
use crate::table::{figure, mib, row, table};

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
}

/// How tenure is beside a manager on the same device.
struct Verdict {
    /// Its time over the manager's.
    part: f64,
    is_fast_enough: Option<bool>,
    reserves_no_more: Option<bool>,
}

pub(super) struct Report(pub(super) Vec<Line>);

impl Report {
    fn tenure_beside(&self, line: &Line) -> Option<&Line> {
        let is_beside = |other: &&Line| {
            other.manager == NAME && other.program == line.program && other.device == line.device
        };
        self.0.iter().find(is_beside)
    }

    /// `None` for tenure itself, and where it did not play.
    fn verdict(&self, line: &Line) -> Option<Verdict> {
        let tenure = self.tenure_beside(line).filter(|tenure| !std::ptr::eq(*tenure, line))?;
        let part = tenure.ns / line.ns;
        let reserved = tenure.reserved.zip(line.reserved);
        Some(Verdict {
            part,
            is_fast_enough: line.target.map(|target| part <= target),
            reserves_no_more: reserved.map(|(tenure, other)| tenure <= other),
        })
    }

    /// How often a target is missed that does not depend on the machine.
    pub(super) fn missed(&self) -> usize {
        let verdicts = self.0.iter().filter_map(|line| self.verdict(line));
        verdicts.filter(|verdict| verdict.reserves_no_more == Some(false)).count()
    }

    fn targets(&self, line: &Line) -> String {
        let Some(verdict) = self.verdict(line) else { return "–".to_owned() };
        let met = |is_met: bool| if is_met { "met" } else { "missed" };
        let mut words = Vec::new();
        if let Some((target, is_met)) = line.target.zip(verdict.is_fast_enough) {
            words.push(format!("{:.2} of it, ≤ {target:.2}: {}", verdict.part, met(is_met)));
        }
        if let Some(is_met) = verdict.reserves_no_more {
            words.push(format!("memory: {}", met(is_met)));
        }
        if words.is_empty() { "–".to_owned() } else { words.join("; ") }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = [
            "program",
            "device",
            "manager",
            "CPU, ns",
            "/ tenure",
            "allocations",
            "reserved, MiB",
            "driver creates",
            "targets of tenure",
        ];
        let mut last = None;
        let rows = self.0.iter().map(|line| {
            let group = Some((line.program, line.device));
            let is_first = last.replace((line.program, line.device)) != group;
            let [program, device] =
                if is_first { [line.program.name(), line.device.name()] } else { [""; 2] };
            row![
                program,
                device,
                line.manager,
                format!("{:.0}", line.ns),
                figure(self.tenure_beside(line).map(|tenure| line.ns / tenure.ns), 1),
                format!("{:.2}", line.allocations),
                line.reserved.map_or_else(|| "–".to_owned(), mib),
                figure(line.driver_creations, 2),
                self.targets(line),
            ]
        });
        write!(f, "{}", table(&header, rows))
    }
}

#[cfg(test)]
mod tests {
    use super::{DeviceName, Line, NAME, Program, Report};

    fn line(manager: &'static str, device: DeviceName, ns: f64, reserved: Option<u64>) -> Line {
        let program = Program::Buffers;
        let target = (manager != NAME).then_some(0.5);
        Line { program, manager, device, target, ns, allocations: 0.0, reserved, driver_creations: None }
    }

    #[test]
    fn tenure_is_compared_on_the_same_device() {
        let report = Report(vec![
            line(NAME, DeviceName::Null, 10.0, Some(5)),
            line("other", DeviceName::Null, 30.0, None),
            line(NAME, DeviceName::Vulkan, 10.0, Some(5)),
            line("other", DeviceName::Vulkan, 15.0, Some(4)),
            line("third", DeviceName::Vulkan, 20.0, Some(5)),
        ]);
        let targets: Vec<_> = report.0.iter().map(|line| report.targets(line)).collect();
        let expected = [
            "–",
            "0.33 of it, ≤ 0.50: met",
            "–",
            "0.67 of it, ≤ 0.50: missed; memory: missed",
            "0.50 of it, ≤ 0.50: met; memory: met",
        ];
        assert_eq!(targets, expected);
        assert_eq!(report.missed(), 1);
    }
}
