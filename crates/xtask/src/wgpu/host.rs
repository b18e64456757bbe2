//! Where the programs run.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::command::root;
use crate::lab::Lab;
use crate::outcome::Trouble;

/// Seconds that a program may take.
const TIMEOUT: u32 = 600;

/// Between two looks at whether a program has ended.
const LOOK: Duration = Duration::from_millis(5);

/// The device lab, or this machine with its own driver.
pub(super) enum Host {
    Lab(Lab),
    Native,
}

impl Host {
    pub(super) fn new(is_native: bool) -> Result<Self, Trouble> {
        if is_native || cfg!(windows) { Ok(Self::Native) } else { Lab::ready().map(Self::Lab) }
    }

    fn command(&self, program: &Path) -> Command {
        match self {
            // This side ends the program, as elsewhere.
            Self::Lab(lab) => lab.command(program, 2 * TIMEOUT),
            Self::Native => Command::new(program),
        }
    }

    /// Runs a program, whose output goes to a file.
    pub(super) fn run(&self, run: &Run<'_>) -> Result<Ended, Trouble> {
        let mut command = self.command(run.program);
        command.args(run.arguments).envs(run.environment.iter().copied()).current_dir(root());
        let output = File::create(run.output).and_then(|file| Ok((file.try_clone()?, file)));
        let (output, errors) = output.map_err(|error| failed(run.output, &error))?;
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        let child = command.spawn().map_err(|error| failed(run.program, &error))?;
        wait(child, Duration::from_secs(TIMEOUT.into())).map_err(|error| failed(run.program, &error))
    }
}

fn failed(what: &Path, error: &std::io::Error) -> Trouble {
    Trouble::Failed(format!("{}: {error}", what.display()))
}

/// A program with its arguments and environment.
pub(super) struct Run<'a> {
    pub(super) program: &'a Path,
    pub(super) arguments: &'a [&'a str],
    pub(super) environment: &'a [(&'a str, &'a str)],
    /// Where its output goes.
    pub(super) output: &'a Path,
}

/// The end of a program.
#[derive(Debug)]
pub(super) enum Ended {
    With(ExitStatus),
    /// It was ended at its time limit.
    TooLate,
}

impl Ended {
    pub(super) fn is_success(&self) -> bool {
        matches!(self, Self::With(status) if status.success())
    }
}

fn wait(mut child: Child, limit: Duration) -> std::io::Result<Ended> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ended::With(status));
        }
        if start.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(Ended::TooLate);
        }
        thread::sleep(LOOK);
    }
}
