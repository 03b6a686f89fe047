//! A file of results: it appears whole, or not at all.
//!
//! Rule: every file that a command writes is written here. A regular file is
//! written beside its destination and renamed, so a failed write leaves the old
//! file as it was and nothing else. Symbolic links are followed. A FIFO or a
//! character device is written in place and stays what it is.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, Write},
    os::{
        fd::AsFd,
        unix::fs::{FileTypeExt, MetadataExt},
    },
    path::{Path, PathBuf},
    process,
    sync::{Arc, Mutex},
};

/// Symbolic links that may follow one another, as in Linux.
const MOST_LINKS: usize = 40;
/// Names tried for a part, because parts of an earlier process with the same process id
/// may remain.
const MOST_NAMES: u32 = 100;

/// A file that is being written. Dropped before [`WholeFile::finish`], it leaves
/// nothing behind.
#[derive(Debug)]
pub struct WholeFile {
    writer: WholeFileWriter,
    destination: Destination,
}

/// Place that the bytes go to.
#[derive(Debug)]
enum Destination {
    /// The file `part`, which becomes `whole` at the end.
    Part { part: PathBuf, whole: PathBuf },
    /// A FIFO, a device or the standard output, in place.
    InPlace,
}

/// Writes to a [`WholeFile`], from any thread.
#[derive(Clone, Debug)]
pub struct WholeFileWriter {
    file: Arc<File>,
    /// The first error; after one, the file is not put in its place.
    failed: Arc<Mutex<Option<io::Error>>>,
}

impl WholeFile {
    /// Begins to write `path`. An existing regular file keeps its content until the
    /// end, and its permissions.
    ///
    /// # Errors
    /// `path` is a directory or a block device, or cannot be written.
    pub fn create(path: &Path) -> io::Result<Self> {
        match fs::metadata(path) {
            Ok(found) if is_standard_output(&found) => {
                let own = io::stdout().as_fd().try_clone_to_owned()?;
                Ok(Self::new(own.into(), Destination::InPlace))
            }
            Ok(found) if found.is_file() => {
                // Renaming does not check that the caller may write the old file; opening
                // it does.
                OpenOptions::new().write(true).open(path)?;
                let file = Self::beside(fs::canonicalize(path)?)?;
                file.writer.file.set_permissions(found.permissions())?;
                Ok(file)
            }
            Ok(found) if found.is_dir() => Err(ErrorKind::IsADirectory.into()),
            Ok(found) if found.file_type().is_block_device() => {
                Err(io::Error::new(ErrorKind::InvalidInput, "is a block device"))
            }
            Ok(_) => {
                let file = OpenOptions::new().write(true).open(path)?;
                Ok(Self::new(file, Destination::InPlace))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Self::beside(followed(path)?),
            Err(error) => Err(error),
        }
    }

    /// Begins to write `path`, which must not exist.
    ///
    /// # Errors
    /// [`ErrorKind::AlreadyExists`] if `path` exists, even as a dangling link; any other
    /// error if it cannot be written.
    pub fn create_new(path: &Path) -> io::Result<Self> {
        let file = File::create_new(path)?;
        // The file is in its place from the start; `finish` renames it to itself, which
        // does nothing.
        let [part, whole] = [path.to_owned(), path.to_owned()];
        Ok(Self::new(file, Destination::Part { part, whole }))
    }

    /// Returns true if `path` would be written in place: it is the standard output, or it
    /// exists and is not a regular file.
    pub fn is_in_place(path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|found| is_standard_output(&found) || !found.is_file())
    }

    /// Opens a part in the folder of `whole`.
    fn beside(whole: PathBuf) -> io::Result<Self> {
        if whole.file_name().is_none() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "is no file name"));
        }
        let mut number = 0;
        loop {
            // Not the file's own name with an ending, which might be too long for a name.
            let name = format!(".fullpipe-{}-{number}.part", process::id());
            let part = whole.with_file_name(name);
            match File::create_new(&part) {
                Ok(file) => return Ok(Self::new(file, Destination::Part { part, whole })),
                Err(error) if error.kind() == ErrorKind::AlreadyExists && number < MOST_NAMES => {
                    number += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn new(file: File, destination: Destination) -> Self {
        let writer = WholeFileWriter {
            file: Arc::new(file),
            failed: Arc::default(),
        };
        Self {
            writer,
            destination,
        }
    }

    /// A writer that may outlive this value, but must be flushed before
    /// [`WholeFile::finish`].
    pub fn writer(&self) -> WholeFileWriter {
        self.writer.clone()
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// A write failed before, or the file cannot be renamed.
    pub fn finish(mut self) -> io::Result<()> {
        if let Some(error) = self.writer.failed().take() {
            return Err(error);
        }
        if let Destination::Part { part, whole } = &self.destination {
            fs::rename(part, whole)?;
            self.destination = Destination::InPlace;
        }
        Ok(())
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if let Destination::Part { part, .. } = &self.destination {
            // Nothing can be done about a part that cannot be removed.
            let _ = fs::remove_file(part);
        }
    }
}

impl WholeFileWriter {
    fn failed(&self) -> std::sync::MutexGuard<'_, Option<io::Error>> {
        self.failed
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Remembers the first error that is not to be tried again.
    fn noted<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && error.kind() != ErrorKind::Interrupted
        {
            let again = || match error.raw_os_error() {
                Some(code) => io::Error::from_raw_os_error(code),
                None => error.kind().into(),
            };
            self.failed().get_or_insert_with(again);
        }
        result
    }
}

impl Write for WholeFileWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.noted((&*self.file).write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.noted((&*self.file).flush())
    }
}

/// Writes `bytes` to `path` as a [`WholeFile`].
///
/// # Errors
/// The file cannot be written; what was there is unchanged.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = WholeFile::create(path)?;
    file.writer().write_all(bytes)?;
    file.finish()
}

/// Returns true if `found` is the file that standard output goes to. A second open file
/// description has its own offset and would overwrite what the first wrote.
fn is_standard_output(found: &fs::Metadata) -> bool {
    let own = io::stdout().as_fd().try_clone_to_owned();
    let own = own.and_then(|own| File::from(own).metadata());
    own.is_ok_and(|own| (own.dev(), own.ino()) == (found.dev(), found.ino()))
}

/// The file that the symbolic links of `path` lead to, which does not exist.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            // An absolute target replaces the folder.
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::new(
        ErrorKind::InvalidInput,
        "has too many links",
    ))
}

#[cfg(test)]
mod tests;
