//! Files that reports go to.
//!
//! Everything that can be wrong with a file is looked at before load is made for nothing: its extension, its folder, and
//! whether the folder takes a new file. A report appears whole or not at all: it is written beside its place and renamed.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use hyperscale_report::ReportFormat;
use hyperscale_stats::result::RunResult;
use tempfile::NamedTempFile;

use crate::errors::CommandError;
use crate::printer::Printer;

/// Who may read and write a report before the umask is applied, as with any file a program makes.
const MODE: u32 = 0o666;

/// A file that will be written, and the empty one beside it that will take its place.
#[derive(Debug)]
pub(crate) struct ReportFile {
    path: PathBuf,
    beside: NamedTempFile,
}

impl ReportFile {
    /// Makes sure that the file can be written.
    pub(crate) fn open(path: &Path) -> Result<Self, CommandError> {
        let unwritable = |source| CommandError::Unwritable { path: path.to_owned(), source };
        // A link stays a link: what it leads to is replaced.
        let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if let Ok(there) = fs::metadata(&place) {
            if there.is_dir() {
                return Err(unwritable(io::Error::other("it is a folder")));
            }
            if !there.is_file() {
                return Err(unwritable(io::Error::other("it is not a regular file")));
            }
            OpenOptions::new().write(true).open(&place).map_err(unwritable)?;
        }
        let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.is_dir() {
            return Err(unwritable(io::Error::other("its folder does not exist")));
        }
        let beside = tempfile::Builder::new()
            .prefix(".hyperscale-report-")
            .permissions(Permissions::from_mode(MODE))
            .tempfile_in(folder)
            .map_err(|error| unwritable(error.kind().into()))?;
        Ok(Self { path: place, beside })
    }

    /// Puts the text there.
    pub(crate) fn write(mut self, text: &str) -> Result<(), CommandError> {
        let written = self.beside.write_all(text.as_bytes()).and_then(|()| self.beside.as_file().sync_data());
        let placed = written.and_then(|()| self.beside.persist(&self.path).map_err(|error| error.error));
        placed.map(drop).map_err(|source| CommandError::Unwritable { path: self.path, source })
    }
}

/// All reports of a run.
#[derive(Debug)]
pub(crate) struct Reports(Vec<(ReportFormat, ReportFile)>);

impl Reports {
    /// Makes sure that all of them can be written.
    pub(crate) fn open(paths: &[PathBuf]) -> Result<Self, CommandError> {
        let format = |path: &PathBuf| {
            ReportFormat::of_path(path).ok_or_else(|| CommandError::ReportFormat(path.clone()))
        };
        let formats = paths.iter().map(format).collect::<Result<Vec<_>, _>>()?;
        let files = paths.iter().map(|path| ReportFile::open(path)).collect::<Result<Vec<_>, _>>()?;
        Ok(Self(formats.into_iter().zip(files).collect()))
    }

    /// Writes all of them, whatever happens to one, and says whether all were written. What failed was told.
    pub(crate) fn write(self, result: &RunResult, printer: Printer) -> bool {
        let mut all = true;
        for (format, file) in self.0 {
            if let Err(error) = file.write(&format.render(result)) {
                error.report(printer);
                all = false;
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_replaces_what_was_there_and_leaves_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.json");
        fs::write(&path, "old").unwrap();
        ReportFile::open(&path).unwrap().write("new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_report_that_is_not_written_leaves_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.json");
        fs::write(&path, "old").unwrap();
        drop(ReportFile::open(&path).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn links_are_followed_and_permissions_are_the_usual_ones() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link, usual) =
            (folder.path().join("a.md"), folder.path().join("b.md"), folder.path().join("usual"));
        fs::write(&file, "old").unwrap();
        fs::write(&usual, "").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        ReportFile::open(&link).unwrap().write("new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&file), mode(&usual));
    }

    #[test]
    fn what_cannot_be_written_is_refused_before_anything_runs() {
        let folder = tempfile::tempdir().unwrap();
        let of = |paths: &[PathBuf]| Reports::open(paths);
        assert!(matches!(of(&[folder.path().join("out.pdf")]), Err(CommandError::ReportFormat(_))));
        assert!(matches!(of(&[folder.path().join("no/out.csv")]), Err(CommandError::Unwritable { .. })));
        fs::create_dir(folder.path().join("folder.md")).unwrap();
        assert!(matches!(of(&[folder.path().join("folder.md")]), Err(CommandError::Unwritable { .. })));
    }
}
