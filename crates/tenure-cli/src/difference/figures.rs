//! The figures of a run, and their comparison.

use serde::Serialize;

use super::run::Run;
use crate::table::{count, mib, milliseconds};

/// The value of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Value {
    Whole(u64),
    Share(f64),
}

impl Value {
    const fn as_f64(self) -> f64 {
        match self {
            Self::Whole(number) => number as f64,
            Self::Share(share) => share,
        }
    }

    /// `other` divided by this value; `None` if this is 0.
    pub(super) fn ratio_to(self, other: Self) -> Option<f64> {
        (self.as_f64() != 0.0).then(|| other.as_f64() / self.as_f64())
    }

    /// `other` minus this value.
    pub(super) fn difference_to(self, other: Self) -> Difference {
        match (self, other) {
            (Self::Whole(a), Self::Whole(b)) => {
                let difference = i128::from(b) - i128::from(a);
                let limit = if difference < 0 { i64::MIN } else { i64::MAX };
                Difference::Whole(i64::try_from(difference).unwrap_or(limit))
            }
            (a, b) => Difference::Share(b.as_f64() - a.as_f64()),
        }
    }
}

/// The difference of two values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Difference {
    Whole(i64),
    Share(f64),
}

/// The unit of a figure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Count,
    Bytes,
    Nanoseconds,
    Milliseconds,
    Share,
}

/// The better direction of a figure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Better {
    Less,
    More,
    /// The figure describes the run.
    Neither,
}

/// The relation of one value to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    Better,
    Worse,
    Same,
    /// Clock times that differ by less than 10 %.
    AboutTheSame,
}

impl Judgement {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same => "the same",
            Self::AboutTheSame => "about the same",
        }
    }
}

/// A figure of a run.
pub(super) struct Figure {
    /// Name in JSON.
    pub(super) field: &'static str,
    /// Name in tables.
    pub(super) title: &'static str,
    pub(super) of: fn(&Run) -> Value,
    unit: Unit,
    better: Better,
    /// Whether it is clock time, which varies between runs.
    is_clock: bool,
}

const fn whole(
    field: &'static str,
    title: &'static str,
    unit: Unit,
    better: Better,
    of: fn(&Run) -> Value,
) -> Figure {
    Figure { field, title, of, unit, better, is_clock: false }
}

const fn clock(field: &'static str, title: &'static str, unit: Unit, of: fn(&Run) -> Value) -> Figure {
    Figure { field, title, of, unit, better: Better::Less, is_clock: true }
}

/// A figure that is a field of the run.
macro_rules! field {
    ($field:ident) => {
        |run| Value::Whole(run.figures.$field)
    };
}

/// All figures, in the order of the table.
pub(super) const FIGURES: [Figure; 20] = {
    use Better::{Less, More, Neither};
    use Unit::{Bytes, Count, Milliseconds, Nanoseconds, Share};
    [
        whole("ops", "allocations and frees", Count, Neither, field!(ops)),
        whole("frames", "frames", Count, Neither, field!(frames)),
        whole("peak_live_bytes", "peak live (MiB)", Bytes, Neither, field!(peak_live_bytes)),
        whole(
            "peak_live_allocations",
            "peak live allocations",
            Count,
            Neither,
            field!(peak_live_allocations),
        ),
        whole("peak_reserved_bytes", "peak reserved (MiB)", Bytes, Less, field!(peak_reserved_bytes)),
        whole("mean_reserved_bytes", "mean reserved (MiB)", Bytes, Less, field!(mean_reserved_bytes)),
        whole("live_share", "live/reserved", Share, More, |run| Value::Share(run.live_share())),
        whole(
            "reserved_at_end_bytes",
            "reserved at the end (MiB)",
            Bytes,
            Less,
            field!(reserved_at_end_bytes),
        ),
        whole("driver_allocations", "driver memory allocations", Count, Less, field!(driver_allocations)),
        whole(
            "steady_state_driver_allocations",
            "of these in the second half",
            Count,
            Less,
            field!(steady_state_driver_allocations),
        ),
        whole("driver_creates", "driver creates", Count, Less, field!(driver_creates)),
        whole("driver_destroys", "driver destroys", Count, Less, field!(driver_destroys)),
        whole("driver_cost_ns", "driver time (ms)", Milliseconds, Less, field!(driver_cost_ns)),
        clock("wall_ns", "wall time, with checks (ms)", Milliseconds, field!(wall_ns)),
        clock("alloc_ns_p50", "creation p50 (ns)", Nanoseconds, field!(alloc_ns_p50)),
        clock("alloc_ns_p99", "creation p99 (ns)", Nanoseconds, field!(alloc_ns_p99)),
        whole("reads_checked", "reads by the GPU, checked", Count, Neither, field!(reads_checked)),
        whole("failed", "failed", Count, Less, field!(failed)),
        whole("leaks", "leaks", Count, Less, field!(leaks)),
        whole("hazards", "hazards", Count, Less, field!(hazards)),
    ]
};

impl Figure {
    /// Whether the figure is clock time in either run.
    pub(super) fn is_clock(&self, a: &Run, b: &Run) -> bool {
        let is_driver_time = self.field == "driver_cost_ns";
        self.is_clock || is_driver_time && (a.has_measured_driver_time() || b.has_measured_driver_time())
    }

    /// The judgement of the second run; `None` for a figure without a better direction.
    pub(super) fn judge(&self, a: &Run, b: &Run) -> Option<Judgement> {
        self.judge_values((self.of)(a), (self.of)(b), self.is_clock(a, b))
    }

    fn judge_values(&self, a: Value, b: Value, is_clock: bool) -> Option<Judgement> {
        let (from, to) = (a.as_f64(), b.as_f64());
        let is_less = match self.better {
            Better::Neither => return None,
            Better::Less => to < from,
            Better::More => to > from,
        };
        Some(if a == b {
            Judgement::Same
        } else if is_clock && (to - from).abs() < 0.1 * from {
            Judgement::AboutTheSame
        } else if is_less {
            Judgement::Better
        } else {
            Judgement::Worse
        })
    }

    /// A value in the unit of the title.
    pub(super) fn written(&self, value: Value) -> String {
        match (self.unit, value) {
            (_, Value::Share(share)) => format!("{share:.3}"),
            (Unit::Bytes, Value::Whole(bytes)) => mib(bytes),
            (Unit::Milliseconds, Value::Whole(nanoseconds)) => milliseconds(nanoseconds),
            (Unit::Count | Unit::Nanoseconds | Unit::Share, Value::Whole(number)) => count(number),
        }
    }

    /// A difference in the unit of the title, with its sign.
    pub(super) fn difference(&self, difference: Difference) -> String {
        match difference {
            Difference::Share(share) => format!("{share:+.3}"),
            Difference::Whole(number) => {
                let sign = if number < 0 { "-" } else { "+" };
                let size = self.written(Value::Whole(number.unsigned_abs()));
                if number == 0 { "0".to_owned() } else { format!("{sign}{size}") }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FIGURES, Figure, Judgement, Value};

    #[test]
    fn less_memory_is_better_and_less_use_of_it_is_worse() {
        let find = |field: &str| FIGURES.iter().find(|figure| figure.field == field).unwrap();
        let judge = |figure: &Figure, a, b| figure.judge_values(a, b, figure.is_clock);
        let whole = |field, a, b| judge(find(field), Value::Whole(a), Value::Whole(b));
        assert_eq!(whole("peak_reserved_bytes", 10, 9), Some(Judgement::Better));
        assert_eq!(whole("peak_reserved_bytes", 9, 10), Some(Judgement::Worse));
        assert_eq!(whole("peak_reserved_bytes", 9, 9), Some(Judgement::Same));
        assert_eq!(whole("frames", 9, 10), None);
        assert_eq!(whole("wall_ns", 100, 105), Some(Judgement::AboutTheSame));
        assert_eq!(whole("wall_ns", 100, 200), Some(Judgement::Worse));
        assert_eq!(whole("wall_ns", 0, 200), Some(Judgement::Worse));
        let share = judge(find("live_share"), Value::Share(0.5), Value::Share(0.25));
        assert_eq!(share, Some(Judgement::Worse));
    }

    #[test]
    fn differences_of_any_numbers_can_be_written() {
        let bytes = FIGURES.iter().find(|figure| figure.field == "peak_reserved_bytes").unwrap();
        let written = |a, b| bytes.difference(Value::Whole(a).difference_to(Value::Whole(b)));
        assert_eq!(written(0, 3 << 20), "+3.0");
        assert_eq!(written(3 << 20, 0), "-3.0");
        assert_eq!(written(7, 7), "0");
        assert!(written(0, u64::MAX).starts_with('+') && written(u64::MAX, 0).starts_with('-'));
        assert_eq!(Value::Whole(0).ratio_to(Value::Whole(5)), None);
    }
}
