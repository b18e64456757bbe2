//! A folder for the logs, private to this user.

use std::fs::{self, DirBuilder};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A new folder, removed with its content when dropped.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new() -> io::Result<Self> {
        let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let name = format!("tenure-capture-{}-{}", std::process::id(), time.as_nanos());
        // Absolute: the program may change its current folder.
        let path = std::path::absolute(std::env::temp_dir().join(name))?;
        #[cfg_attr(not(unix), allow(unused_mut, reason = "other systems have private temporary folders"))]
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path)?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// The contents of the logs, in the order of their names. Invalid UTF-8 is replaced.
    pub(super) fn logs(&self) -> io::Result<Vec<String>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            let path = entry?.path();
            if path.extension().is_some_and(|end| end == "log") {
                files.push(path);
            }
        }
        files.sort();
        let text = |file| Ok(String::from_utf8_lossy(&fs::read(file)?).into_owned());
        files.into_iter().map(text).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // The system cleans up the rest with its other temporary files.
        let _left = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::Folder;

    #[test]
    fn a_folder_is_private_and_removed_with_its_content() {
        let folder = Folder::new().unwrap();
        let path = folder.path().to_path_buf();
        fs::write(path.join("7-1.log"), b"b\xff").unwrap();
        fs::write(path.join("7-0.log"), b"a").unwrap();
        fs::write(path.join("layer.json"), b"{}").unwrap();
        assert_eq!(folder.logs().unwrap(), ["a", "b\u{fffd}"]);
        #[cfg(unix)]
        assert_eq!(
            std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).unwrap().permissions()) & 0o77,
            0
        );
        drop(folder);
        assert!(!path.exists());
    }
}
