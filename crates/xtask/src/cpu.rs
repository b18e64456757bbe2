//! CPU time of child processes.

use std::fs;

/// The kernel's unit of time in `/proc`, the same on every Linux that Rust supports.
const TICKS_PER_SECOND: f64 = 100.0;

/// Seconds of CPU time of the children that have ended and those below them; `None` if the system does not
/// report it.
pub(crate) fn of_children() -> Option<f64> {
    seconds_in(&fs::read_to_string("/proc/self/stat").ok()?)
}

/// Fields 16 and 17; the second one is a name in parentheses, which may contain spaces.
fn seconds_in(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let fields: Vec<_> = fields.split(' ').collect();
    let ticks = |field: usize| fields.get(field - 3)?.parse::<f64>().ok();
    Some((ticks(16)? + ticks(17)?) / TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    #[test]
    fn times_follow_a_name_with_spaces() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 100 200 0 0 11 12 130 20 20 0 1 0";
        assert_eq!(super::seconds_in(stat), Some(1.5));
        assert_eq!(super::seconds_in("7 (a) S 1"), None);
        assert_eq!(super::seconds_in(""), None);
    }
}
