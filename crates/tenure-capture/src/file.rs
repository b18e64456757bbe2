//! The file of a log. Whatever fails here, the program goes on.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// The most files of a process.
const MOST: u32 = 10_000;

/// Where the search for a free name begins. It starts again at 0 when the loader unloads the layer, so the names of
/// existing files count, not this number.
static HINT: AtomicU32 = AtomicU32::new(0);

/// A new file of the log folder. Without content it is removed at the end.
#[derive(Debug)]
pub(crate) struct LogFile {
    file: File,
    path: PathBuf,
    /// The process that has opened it: a forked child has the same descriptor.
    process: u32,
    is_empty: bool,
}

impl LogFile {
    /// Creates the first free file `PROCESS-N.log`. Programs that this one starts do not inherit its descriptor, as of all
    /// files of the standard library.
    pub(crate) fn create(folder: &Path) -> Option<Self> {
        let process = process::id();
        for number in HINT.load(Ordering::Relaxed)..MOST {
            let path = folder.join(format!("{process}-{number}.log"));
            match OpenOptions::new().append(true).create_new(true).open(&path) {
                Ok(file) => {
                    HINT.store(number + 1, Ordering::Relaxed);
                    return Some(Self { file, path, process, is_empty: true });
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(_) => return None,
            }
        }
        None
    }

    /// Appends whole lines. False after a failure, and in a forked child: nothing may follow.
    pub(crate) fn append(&mut self, lines: &str) -> bool {
        if self.process != process::id() {
            return false;
        }
        self.is_empty = false;
        self.file.write_all(lines.as_bytes()).is_ok()
    }
}

impl Drop for LogFile {
    fn drop(&mut self) {
        if self.is_empty && self.process == process::id() {
            // A sandbox may forbid it: then the file stays, without content.
            let _refused = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::LogFile;

    #[test]
    fn each_file_has_a_free_name_and_goes_if_it_stays_empty() {
        let folder = tempfile::tempdir().unwrap();
        let mut one = LogFile::create(folder.path()).unwrap();
        // As after a reload: the number counts from the beginning again.
        super::HINT.store(0, std::sync::atomic::Ordering::Relaxed);
        let two = LogFile::create(folder.path()).unwrap();
        assert_ne!(one.path, two.path);
        assert!(one.append("a\n") && one.append("b\n"));
        let kept = one.path.clone();
        drop((one, two));
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().path()).collect();
        assert_eq!(left, std::slice::from_ref(&kept));
        assert_eq!(fs::read_to_string(kept).unwrap(), "a\nb\n");
    }

    #[test]
    fn a_folder_that_cannot_be_written_gives_no_file() {
        let folder = tempfile::tempdir().unwrap();
        assert!(LogFile::create(&folder.path().join("missing")).is_none());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_reported_and_nothing_else() {
        let file = fs::OpenOptions::new().append(true).open("/dev/full").unwrap();
        let (path, process) = ("/nowhere".into(), std::process::id());
        let mut full = LogFile { file, path, process, is_empty: true };
        assert!(!full.append("a\n"));
    }

    #[test]
    fn a_forked_child_writes_nothing_into_the_file_of_its_parent() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = LogFile::create(folder.path()).unwrap();
        assert!(file.append("of the parent\n"));
        file.process += 1;
        assert!(!file.append("of the child\n"));
        assert_eq!(fs::read_to_string(&file.path).unwrap(), "of the parent\n");
    }
}
