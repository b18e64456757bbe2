//! `tenure replay`: reads a recording, replays it with each strategy, and reports the outcomes.

use std::io::Write;

use tenure::config::Strategy;
use tenure_trace::{Header, Trace};

use crate::args::{DeviceKind, ReplayArgs, chosen_profile};
use crate::error::CliError;
use crate::input::Input;
use crate::replay::{Job, Outcome, Settings, Simulated, Target, Verdict};
use crate::{output, table};

/// All strategies, in the order of the table.
pub(crate) const STRATEGIES: [Strategy; 3] = [Strategy::Committed, Strategy::Placed, Strategy::Pooled];

pub(crate) fn run(args: &ReplayArgs) -> Result<Verdict, CliError> {
    check_device(args)?;
    let (name, trace) = Input::open(&args.file)?.trace()?;
    let target = target(args, &trace.header)?;
    let one = args.strategy.map(|strategy| vec![strategy.into()]);
    let strategies = one.unwrap_or_else(|| STRATEGIES.to_vec());
    let outcomes = replay_all(&*target, (&name, &trace), &strategies, &args.settings())?;
    Ok(output::tell(verdict(&outcomes), |out| {
        if !args.json {
            return write!(out, "{}", table::comparison(&outcomes));
        }
        for outcome in &outcomes {
            serde_json::to_writer(&mut *out, outcome)?;
            writeln!(out)?;
        }
        Ok(())
    })?)
}

/// Refuses arguments for a kind of device other than the chosen one.
fn check_device(args: &ReplayArgs) -> Result<(), CliError> {
    let refuse = |is_given: bool, argument: &str, rule: &str| {
        if is_given { Err(CliError::Usage(format!("{argument} {rule}"))) } else { Ok(()) }
    };
    if args.device == DeviceKind::Sim {
        let rule = "is for real devices: it needs --device vulkan or --device d3d12";
        refuse(args.adapter.is_some(), "--adapter", rule)?;
        refuse(args.validation.is_some(), "--validation", rule)
    } else {
        refuse(args.profile.is_some(), "--profile", "is for the simulated device: it needs --device sim")
    }
}

/// The selected device. Without a profile, the simulated device is similar to the recorded one.
fn target(args: &ReplayArgs, recorded: &Header) -> Result<Box<dyn Target>, CliError> {
    match args.device {
        DeviceKind::Sim => Ok(Box::new(Simulated { profile: chosen_profile(args.profile, recorded) })),
        #[cfg(feature = "vulkan")]
        DeviceKind::Vulkan => Ok(crate::api::chosen::<crate::api::vulkan::Vulkan>(args)),
        #[cfg(not(feature = "vulkan"))]
        DeviceKind::Vulkan => Err(crate::feature::Feature::Vulkan.no_device().into()),
        #[cfg(all(windows, feature = "d3d12"))]
        DeviceKind::D3d12 => Ok(crate::api::chosen::<crate::api::d3d12::D3d12>(args)),
        #[cfg(not(all(windows, feature = "d3d12")))]
        DeviceKind::D3d12 => Err(crate::feature::Feature::D3d12.no_device().into()),
    }
}

/// Replays with each strategy, shows a progress bar, and reports the findings.
pub(crate) fn replay_all(
    target: &dyn Target,
    (name, trace): (&str, &Trace),
    strategies: &[Strategy],
    settings: &Settings,
) -> Result<Vec<Outcome>, CliError> {
    let program = target.prepare(trace)?;
    let bar = output::progress((program.steps.len() * strategies.len()) as u64, "replaying");
    let mut outcomes = Vec::new();
    for (done, &strategy) in strategies.iter().enumerate() {
        let before = (done * program.steps.len()) as u64;
        let strategy_name = strategy.name();
        bar.set_message(strategy_name);
        let progress = |steps: u64| bar.set_position(before + steps);
        let (summary, program) = (&trace.summary, &program);
        let job = Job { name, summary, program, strategy, settings, progress: &progress };
        let outcome = target.replay(&job);
        outcomes.push(outcome.map_err(|error| CliError::of_replay(name, strategy_name, error))?);
    }
    drop(bar);
    complain_of_findings(&outcomes);
    Ok(outcomes)
}

/// Reports failures, leaks and hazards: the first ones, and the totals if there are more.
pub(crate) fn complain_of_findings(outcomes: &[Outcome]) {
    for outcome in outcomes {
        let Outcome { trace, strategy, findings, failed, leaks, hazards, .. } = outcome;
        for finding in findings {
            output::complain(format_args!("{trace} {strategy}: {finding}"));
        }
        let all = [*failed, *leaks, *hazards].into_iter().fold(0, u64::saturating_add);
        if all > findings.len() as u64 {
            let [failed, leaks, hazards] = [*failed, *leaks, *hazards].map(table::count);
            output::complain(format_args!(
                "{trace} {strategy}: in all {failed} failed, {leaks} leaks, {hazards} hazards"
            ));
        }
    }
}

pub(crate) fn verdict(outcomes: &[Outcome]) -> Verdict {
    let is_clean = outcomes.iter().all(|outcome| outcome.verdict() == Verdict::Clean);
    if is_clean { Verdict::Clean } else { Verdict::Faulty }
}
