//! The search.

use std::collections::HashMap;
use std::time::Instant;

use tenure::Config;

use super::figures::{Figures, score};
use super::settings::{SETTINGS, values};
use crate::error::CliError;
use crate::replay::Verdict;

/// The minimum improvement of the score for a change or a recommendation.
const WORTH_TRYING: f64 = 0.001;
pub(super) const WORTH_RECOMMENDING: f64 = 0.01;
/// Replays of the check: one of the default, one of the candidate.
const CHECK_RUNS: u64 = 2;

/// Replays a configuration with a seed.
pub(super) type Replay<'a> = dyn Fn(&Config, u64) -> Result<Figures, CliError> + 'a;

/// The limits of the search.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// Replays.
    pub(super) runs: u64,
    pub(super) deadline: Option<Instant>,
}

/// The reason why the search stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    /// No change of one setting improves the best configuration.
    Done,
    Runs,
    Time,
}

/// A configuration and its replays, one for each seed.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    pub(super) config: Config,
    pub(super) replays: Vec<Figures>,
    pub(super) score: f64,
}

/// The replays with the additional seed, by the default and by the best configuration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Check {
    pub(super) default: Figures,
    pub(super) best: Figures,
    pub(super) score: f64,
}

/// The result of the search.
pub(super) struct Found {
    pub(super) seeds: Vec<u64>,
    pub(super) check_seed: u64,
    pub(super) default: Trial,
    /// The best configuration, which may be the default.
    pub(super) best: Trial,
    /// The check, if there was a candidate.
    pub(super) check: Option<Check>,
    /// The number of configurations tried besides the default.
    pub(super) tried: u64,
    pub(super) runs: u64,
    pub(super) limits: Limits,
    pub(super) stopped: Stopped,
}

impl Found {
    /// Whether the best configuration is better than the default, both in the search and in the check.
    pub(super) fn is_recommended(&self) -> bool {
        let is_worth_it = |score: f64| score <= 1.0 - WORTH_RECOMMENDING;
        is_worth_it(self.best.score) && self.check.is_some_and(|check| is_worth_it(check.score))
    }

    /// The minimum number of replays to try a configuration besides the default.
    pub(super) const fn runs_of_a_trial(&self) -> u64 {
        2 * self.seeds.len() as u64 + CHECK_RUNS
    }

    /// Whether something failed, leaked or was hazardous in the replays of the default.
    pub(super) fn verdict(&self) -> Verdict {
        let is_clean = self.default.replays.iter().all(|replay| replay.verdict() == Verdict::Clean);
        if is_clean { Verdict::Clean } else { Verdict::Faulty }
    }
}

pub(super) struct Search<'a> {
    replay: &'a Replay<'a>,
    seeds: &'a [u64],
    check_seed: u64,
    weights: [f64; 4],
    limits: Limits,
    runs: u64,
    /// Scores of tried configurations, by the values of their settings.
    known: HashMap<Vec<u64>, Option<f64>>,
    stopped: Stopped,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        replay: &'a Replay<'a>,
        seeds: &'a [u64],
        check_seed: u64,
        weights: [f64; 4],
        limits: Limits,
    ) -> Self {
        let (known, stopped) = (HashMap::new(), Stopped::Done);
        Self { replay, seeds, check_seed, weights, limits, runs: 0, known, stopped }
    }

    /// Searches from `base`, the default of the result.
    ///
    /// # Errors
    /// The errors of replays of `base`. Another configuration whose replay fails is not recommended.
    pub(super) fn run(mut self, base: Config) -> Result<Found, CliError> {
        let replays = self.replays(&base)?;
        self.known.insert(values(&base), Some(1.0));
        let default = Trial { config: base, replays, score: 1.0 };
        let mut best = default.clone();
        while self.improve(&mut best, &default) {}
        let check = if best.score < 1.0 { self.check(&default, &best)? } else { None };
        Ok(Found {
            seeds: self.seeds.to_vec(),
            check_seed: self.check_seed,
            tried: self.known.len() as u64 - 1,
            default,
            best,
            check,
            runs: self.runs,
            limits: self.limits,
            stopped: self.stopped,
        })
    }

    /// Tries every change of one setting of the best configuration, and applies improvements at once. Returns
    /// false if there were none, or at a limit.
    fn improve(&mut self, best: &mut Trial, default: &Trial) -> bool {
        let mut has_improved = false;
        for setting in &SETTINGS {
            for &value in setting.values {
                let mut config = best.config.clone();
                (setting.set)(&mut config, value);
                if config.validate().is_err() || self.known.contains_key(&values(&config)) {
                    continue;
                }
                if self.is_over() {
                    return false;
                }
                // Undo a change that no longer helps: a later change may have replaced its effect.
                let is_default = value == (setting.get)(&default.config);
                let enough = if is_default { 0.0 } else { WORTH_TRYING };
                if let Some(trial) = self.trial(config, default)
                    && (trial.score < best.score - enough || is_default && trial.score <= best.score)
                {
                    *best = trial;
                    has_improved = true;
                }
            }
        }
        has_improved
    }

    /// Whether a limit is reached.
    fn is_over(&mut self) -> bool {
        let needed = self.seeds.len() as u64 + CHECK_RUNS;
        if self.runs.saturating_add(needed) > self.limits.runs {
            self.stopped = Stopped::Runs;
        } else if self.limits.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            self.stopped = Stopped::Time;
        }
        self.stopped != Stopped::Done
    }

    /// `None` if a replay fails, or if there are more faults than with the default.
    fn trial(&mut self, config: Config, default: &Trial) -> Option<Trial> {
        let replays = self.replays(&config).ok();
        let score = replays.as_deref().and_then(|replays| score(replays, &default.replays, self.weights));
        self.known.insert(values(&config), score);
        Some(Trial { config, replays: replays?, score: score? })
    }

    fn replays(&mut self, config: &Config) -> Result<Vec<Figures>, CliError> {
        let seeds = self.seeds;
        seeds.iter().map(|&seed| self.replay(config, seed)).collect()
    }

    fn replay(&mut self, config: &Config, seed: u64) -> Result<Figures, CliError> {
        self.runs += 1;
        (self.replay)(config, seed)
    }

    fn check(&mut self, default: &Trial, best: &Trial) -> Result<Option<Check>, CliError> {
        let seed = self.check_seed;
        let default = self.replay(&default.config, seed)?;
        let Ok(best) = self.replay(&best.config, seed) else { return Ok(None) };
        let score = score(&[best], &[default], self.weights).unwrap_or(f64::INFINITY);
        Ok(Some(Check { default, best, score }))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::time::Instant;

    use tenure::Config;

    use super::{Figures, Limits, Search, Stopped};

    const NO_LIMIT: Limits = Limits { runs: 10_000, deadline: None };

    /// Figures of a program that needs the least memory at certain values of some settings.
    fn figures(config: &Config) -> Figures {
        let far = |value: u64, best: u64| value.abs_diff(best);
        let memory = 1000 + far(config.pools.growth_divisor, 64) + far(config.frames.idle.into(), 64);
        let time = 1000 + config.pools.min_block / 1024;
        Figures {
            peak_reserved_bytes: memory,
            mean_reserved_bytes: memory,
            driver_allocations: 10,
            driver_cost_ns: time,
            faults: 0,
        }
    }

    #[test]
    fn the_best_value_of_each_setting_is_found() {
        let replay = |config: &Config, _| Ok(figures(config));
        let search = Search::new(&replay, &[1, 2], 3, [1.0; 4], NO_LIMIT);
        let found = search.run(Config::default()).unwrap();
        let best = &found.best.config;
        assert_eq!((best.pools.growth_divisor, best.frames.idle, best.pools.min_block), (64, 64, 64 << 10));
        assert_eq!(found.stopped, Stopped::Done);
        assert!(found.is_recommended());
        assert_eq!(found.runs, found.tried * 2 + 2 + 2);
    }

    #[test]
    fn gains_with_the_search_seeds_only_do_not_count() {
        let replay = |config: &Config, seed| Ok(if seed == 9 { Figures::default() } else { figures(config) });
        let found = Search::new(&replay, &[1], 9, [1.0; 4], NO_LIMIT).run(Config::default()).unwrap();
        assert!(found.best.score < 0.99);
        assert!(!found.is_recommended());
    }

    #[test]
    fn a_change_that_another_one_replaces_is_undone() {
        // Either of two settings halves the memory, and the one tried later also halves the time.
        let replay = |config: &Config, _| {
            let (first, later) = (config.pools.growth_divisor == 4, config.frames.idle == 2);
            let memory = if first || later { 500 } else { 1000 };
            let time = if later { 500 } else { 1000 };
            let (peak_reserved_bytes, driver_cost_ns) = (memory, time);
            Ok(Figures { peak_reserved_bytes, driver_cost_ns, driver_allocations: 10, ..Figures::default() })
        };
        let found = Search::new(&replay, &[1], 2, [1.0; 4], NO_LIMIT).run(Config::default()).unwrap();
        assert_eq!(found.best.config.frames.idle, 2);
        assert_eq!(found.best.config.pools, Config::default().pools);
    }

    #[test]
    fn a_limit_of_runs_is_kept() {
        for runs in 1..40 {
            let count = RefCell::new(0);
            let replay = |config: &Config, _| {
                *count.borrow_mut() += 1;
                Ok(figures(config))
            };
            let limits = Limits { runs, deadline: None };
            let found = Search::new(&replay, &[1, 2], 3, [1.0; 4], limits).run(Config::default()).unwrap();
            assert!(found.runs <= runs.max(2) && found.runs == *count.borrow(), "{} of {runs}", found.runs);
            assert_eq!(found.stopped, Stopped::Runs);
        }
    }

    #[test]
    fn a_limit_of_time_is_kept() {
        let replay = |config: &Config, _| Ok(figures(config));
        let limits = Limits { runs: 10_000, deadline: Some(Instant::now()) };
        let found = Search::new(&replay, &[1], 2, [1.0; 4], limits).run(Config::default()).unwrap();
        assert_eq!((found.stopped, found.runs, found.tried), (Stopped::Time, 1, 0));
    }

    #[test]
    fn the_default_is_kept_without_a_better_configuration() {
        let replay = |_: &Config, _| Ok(Figures { peak_reserved_bytes: 5, ..Figures::default() });
        let found = Search::new(&replay, &[1], 2, [1.0; 4], NO_LIMIT).run(Config::default()).unwrap();
        assert_eq!(found.best.config, Config::default());
        assert!(!found.is_recommended() && found.check.is_none());
    }
}
