//! The device lab of `lab/`: real Direct3D 12 and Vulkan calls on a machine without a GPU.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{cargo_with, root, run, succeeds, target};
use crate::outcome::{Outcome, Trouble};
use crate::{debian, lab_packages, times};

/// The target system of a program in the lab.
#[derive(Clone, Copy)]
pub(crate) enum System {
    Linux,
    /// Through Wine.
    Windows,
}

impl System {
    pub(crate) const fn triple(self) -> &'static str {
        match self {
            Self::Linux => "x86_64-unknown-linux-gnu",
            Self::Windows => "x86_64-pc-windows-gnu",
        }
    }

    /// The path of a program that cargo has built with the profile `dev`.
    pub(crate) fn built(self, program: &str) -> PathBuf {
        match self {
            Self::Linux => target().join("debug").join(program),
            Self::Windows => target().join(self.triple()).join("debug").join(format!("{program}.exe")),
        }
    }
}

/// The time limit in seconds of a program outside a suite.
const PROGRAM_TIMEOUT: u32 = 600;

/// The time limit in seconds of a test program: whole suites on software devices, on a busy machine.
const TIMEOUT: &str = "1200";

/// A program of Windows by its path in the lab.
const WINDOWS_SHELL: &str = "/.wineprefix/drive_c/windows/system32/cmd.exe";

/// The lab, built.
pub(crate) struct Lab(());

impl Lab {
    /// Builds the lab, unless it is complete.
    pub(crate) fn ready() -> Result<Self, Trouble> {
        if let Some(remedy) = Machine::look().remedy() {
            return Err(Trouble::NoDevice(remedy.to_owned()));
        }
        debian::packages(&["mmdebstrap"])?;
        run(&mut Command::new(root().join("lab/setup")))?;
        Ok(Self(()))
    }

    /// Runs cargo here; programs that it builds and runs (`run`, `test`) run in the lab.
    pub(crate) fn cargo(&self, system: System, arguments: &[&str]) -> Outcome {
        self.cargo_with(system, arguments, &[])
    }

    /// The same with some environment variables set.
    pub(crate) fn cargo_with(
        &self,
        system: System,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Outcome {
        let triple = system.triple();
        let run = fs::canonicalize(root().join("lab/run"));
        let run = run.map_err(|error| Trouble::Failed(format!("lab/run: {error}")))?;
        let run = run.to_string_lossy();
        let runner = format!("target.{triple}.runner={:?}", [times::RUNNER[0], times::RUNNER[1], &run]);
        let mut all = vec!["--config", &runner];
        let target = format!("build.target=\"{triple}\"");
        if matches!(system, System::Windows) {
            all.extend(["--config", &target]);
        }
        all.extend(arguments);
        cargo_with(&all, &[&[("TENURE_LAB_TIMEOUT", TIMEOUT)], environment].concat())
    }

    /// Runs a program that cargo has built with the profile `dev`, by its path in the target folder, without
    /// the ending of its system.
    pub(crate) fn run_built(&self, system: System, program: &str, arguments: &[&str]) -> Outcome {
        run(self.command(&system.built(program), PROGRAM_TIMEOUT).args(arguments))
    }

    /// A program in the lab with this time limit in seconds.
    pub(crate) fn command(&self, program: &Path, seconds: u32) -> Command {
        let mut command = Command::new(root().join("lab/run"));
        command.arg(program).env("TENURE_LAB_TIMEOUT", seconds.to_string());
        command
    }

    /// The output of a program in the lab.
    fn prints(&self, program: &[&str]) -> Result<String, Trouble> {
        let mut command = Command::new(root().join("lab/run"));
        let ran = command.args(program).current_dir(root()).output();
        match ran {
            Ok(ran) if ran.status.success() => Ok(String::from_utf8_lossy(&ran.stdout).into_owned()),
            Ok(ran) => Err(Trouble::Failed(format!("in the lab, {program:?}: {}", ran.status))),
            Err(error) => Err(Trouble::Failed(format!("{error}: {command:?}"))),
        }
    }

    /// Runs a program in the lab, which must end with this status within these seconds.
    pub(crate) fn ends_with(&self, status: i32, seconds: u32, program: &[&str]) -> Outcome {
        let mut command = Command::new(root().join("lab/run"));
        command.args(program).env("TENURE_LAB_TIMEOUT", seconds.to_string()).current_dir(root());
        match command.status() {
            Ok(ended) if ended.code() == Some(status) => Ok(()),
            Ok(ended) => Err(Trouble::Failed(format!("in the lab, {program:?}: {ended}, not {status}"))),
            Err(error) => Err(Trouble::Failed(format!("{error}: {command:?}"))),
        }
    }
}

/// Checks that the lab exists, has a device, and passes on exit statuses.
pub(crate) fn check() -> Outcome {
    let lab = Lab::ready()?;
    lab.ends_with(0, 60, &["sh", "-c", "vulkaninfo --summary 2>&1 | grep deviceName"])?;
    lab.ends_with(7, 60, &["sh", "-c", "exit 7"])?;
    lab.ends_with(7, 120, &["cmd.exe", "/c", "exit 7"])?;
    // By its path, too, and then in the folder it was started in.
    lab.ends_with(7, 120, &[WINDOWS_SHELL, "/c", "if exist Cargo.toml exit 7"])?;
    lab.ends_with(124, 1, &["sleep", "60"])?;
    lab_packages::compare(&lab.prints(&["dpkg-query", "--show", "--showformat", lab_packages::FORMAT])?)
}

/// The properties of this machine that the lab depends on.
struct Machine {
    is_linux: bool,
    is_debian: bool,
    is_root: bool,
    has_namespaces: bool,
}

impl Machine {
    fn look() -> Self {
        Self {
            is_linux: cfg!(all(target_os = "linux", target_arch = "x86_64")),
            is_debian: debian::is_here(),
            is_root: debian::is_root(),
            has_namespaces: succeeds("unshare", &["--mount", "--ipc", "--net", "--pid", "--fork", "true"]),
        }
    }

    /// The remedy if the lab cannot be built here.
    fn remedy(&self) -> Option<&'static str> {
        if !self.is_linux || !self.is_debian {
            Some("the device lab needs Debian on x86-64, or a privileged container of it")
        } else if !self.is_root {
            Some("the device lab needs root: run this command as root")
        } else if !self.has_namespaces {
            Some("the device lab creates namespaces and mounts: run this container privileged")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Machine;

    const ABLE: Machine = Machine { is_linux: true, is_debian: true, is_root: true, has_namespaces: true };

    fn remedy(machine: &Machine) -> &'static str {
        machine.remedy().unwrap_or("nothing")
    }

    #[test]
    fn the_first_thing_missing_decides_the_remedy() {
        assert_eq!(ABLE.remedy(), None);
        assert!(remedy(&Machine { has_namespaces: false, ..ABLE }).contains("privileged"));
        let user = Machine { is_root: false, has_namespaces: false, ..ABLE };
        assert!(remedy(&user).contains("as root"), "without root there are no namespaces either");
        assert!(remedy(&Machine { is_debian: false, is_root: false, ..ABLE }).contains("Debian"));
        assert!(remedy(&Machine { is_linux: false, ..ABLE }).contains("Debian"));
    }
}
