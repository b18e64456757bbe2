//! Random workloads, the same on every machine.

/// Random choices for workloads, on [`test_random::Rng`].
#[derive(Clone, Debug)]
pub struct Rng(test_random::Rng);

impl Rng {
    /// A generator whose numbers depend on the seed alone.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(test_random::Rng::new(seed))
    }

    /// 64 random bits.
    pub const fn bits(&mut self) -> u64 {
        self.0.next()
    }

    /// A number below `bound`, or 0 if that is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0.scaled(bound)
    }

    /// A number in `from..=to`.
    pub fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.below(to - from + 1)
    }

    /// An index of a list of this length.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// True in `cases` of 100 cases.
    pub fn percent(&mut self, cases: u64) -> bool {
        self.below(100) < cases
    }

    /// A number in 0..1.
    pub fn unit(&mut self) -> f64 {
        self.0.unit()
    }

    /// A log-normal number, limited to `least..=most` (Box and Muller, 1958).
    pub fn log_normal(&mut self, median: f64, sigma: f64, least: u64, most: u64) -> u64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * self.unit()).cos();
        let value = median * (sigma * normal).exp();
        (value as u64).clamp(least, most)
    }
}
