//! Round numbers on axes, and units of bytes.

/// The unit of addresses on the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) name: &'static str,
    bytes: u64,
}

const MIB: Unit = Unit { name: "MiB", bytes: 1 << 20 };
const KIB: Unit = Unit { name: "KiB", bytes: 1 << 10 };
const BYTE: Unit = Unit { name: "bytes", bytes: 1 };

impl Unit {
    /// MiB, or a smaller unit for smaller peaks.
    pub(super) const fn of(peak: u64) -> Self {
        match peak {
            0..4096 => BYTE,
            4096..0x10_0000 => KIB,
            _ => MIB,
        }
    }

    pub(super) fn of_bytes(self, bytes: f64) -> f64 {
        bytes / self.bytes as f64
    }

    /// A number of bytes with its unit.
    pub(super) fn written(self, bytes: u64) -> String {
        let number = self.of_bytes(bytes as f64);
        let rounded = if number >= 100.0 { format!("{number:.1}") } else { format!("{number:.2}") };
        let short = rounded.trim_end_matches('0').trim_end_matches('.');
        format!("{} {}", if rounded.contains('.') { short } else { &rounded }, self.name)
    }

    /// At most `count` round addresses up to `peak`, in bytes, and 0, with the number of needed decimals.
    pub(super) fn ticks(self, peak: u64, count: usize) -> (Vec<f64>, usize) {
        let top = self.of_bytes(peak as f64);
        let step = round_step(top / count.max(1) as f64);
        let digits = if step >= 1.0 || self == BYTE { 0 } else { (-step.log10()).ceil() as usize };
        let step = if self == BYTE { step.max(1.0) } else { step };
        let ticks = (0..=count).map(|tick| tick as f64 * step).take_while(|&tick| tick <= top);
        (ticks.map(|tick| tick * self.bytes as f64).collect(), digits)
    }
}

/// The smallest of 1, 2, 5 times a power of ten that is at least `least`.
pub(super) fn round_step(least: f64) -> f64 {
    if !least.is_finite() || least <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|&step| step >= least)
        .unwrap_or(power)
}

#[cfg(test)]
mod tests {
    use super::{Unit, round_step};

    #[test]
    fn steps_are_round_and_enough() {
        for (least, step) in [(0.0, 1.0), (1.0, 1.0), (1.1, 2.0), (3.0, 5.0), (6.0, 10.0), (0.03, 0.05)] {
            assert!((round_step(least) - step).abs() < 1e-9, "{least}");
        }
        assert_eq!(round_step(f64::NAN), 1.0);
    }

    #[test]
    fn sizes_are_written_in_the_shortest_form() {
        let written = |bytes: u64| Unit::of(bytes).written(bytes);
        assert_eq!(written(0), "0 bytes");
        assert_eq!(written(100), "100 bytes");
        assert_eq!(written(65_536), "64 KiB");
        assert_eq!(written(96 << 20), "96 MiB");
        assert_eq!(written((100 << 20) + (1 << 19)), "100.5 MiB");
        assert_eq!(written(3 << 19), "1.5 MiB");
    }

    #[test]
    fn ticks_end_at_the_peak() {
        for peak in [1, 47, 4096, 1 << 20, 999 << 20, 1 << 44, u64::MAX] {
            let (ticks, _) = Unit::of(peak).ticks(peak, 5);
            assert!(!ticks.is_empty() && ticks.len() <= 6, "{peak}: {ticks:?}");
            assert!(ticks.iter().all(|&tick| tick <= peak as f64 * 1.001), "{peak}: {ticks:?}");
        }
    }
}
