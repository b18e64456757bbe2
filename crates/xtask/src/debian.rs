//! Debian's packages, installed where they are missing and this may be done.

use std::fs;
use std::process::Command;

use crate::command::{installing, printed, run};
use crate::outcome::{Outcome, Trouble};

/// True on Debian itself.
pub(crate) fn is_here() -> bool {
    fs::read_to_string("/etc/os-release").is_ok_and(|text| is_debian(&text))
}

/// True for the administrator.
pub(crate) fn is_root() -> bool {
    printed("id", &["-u"]).as_deref() == Some("0")
}

/// Sees to it that some packages are installed.
pub(crate) fn packages(names: &[&str]) -> Outcome {
    let missing: Vec<_> = names.iter().copied().filter(|name| !is_installed(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    if !is_here() || !is_root() {
        return Err(Trouble::NoDevice(format!("as root on Debian: apt-get install {}", missing.join(" "))));
    }
    // Another step may install what this one misses: then apt finds nothing to do.
    let _alone = installing()?;
    run(&mut apt_get(&["update"]))?;
    run(apt_get(&["install", "--yes", "--no-install-recommends"]).args(missing))
}

fn is_installed(name: &str) -> bool {
    printed("dpkg-query", &["--show", "--showformat=${db:Status-Status}", name]).as_deref()
        == Some("installed")
}

/// `apt-get` without questions, which waits for other installations.
fn apt_get(arguments: &[&str]) -> Command {
    let mut command = Command::new("apt-get");
    command
        .env("DEBIAN_FRONTEND", "noninteractive")
        .args(["-qq", "-o", "DPkg::Lock::Timeout=600"])
        .args(arguments);
    command
}

/// Reads `os-release`.
fn is_debian(text: &str) -> bool {
    text.lines()
        .filter_map(|line| line.strip_prefix("ID="))
        .any(|id| id.trim_matches(['"', '\'']) == "debian")
}

#[cfg(test)]
mod tests {
    use super::is_debian;

    #[test]
    fn only_debian_is_debian() {
        assert!(is_debian("NAME=\"Debian GNU/Linux\"\nID=debian\n"));
        assert!(is_debian("ID=\"debian\""));
        assert!(!is_debian("NAME=Ubuntu\nID=ubuntu\nID_LIKE=debian\n"));
        assert!(!is_debian("VERSION_ID=debian"));
        assert!(!is_debian(""));
    }
}
