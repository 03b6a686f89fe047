//! Writes a file of results either completely or not at all.
//!
//! Rule: every file that a command writes is written by this module. A regular file is written
//! under a temporary name in its destination's folder and then renamed. After a failed write, the
//! old file is unchanged, and the temporary file is removed. Symbolic links are followed. A FIFO or
//! a character device is written in place.

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

/// Largest number of symbolic links in a chain, as in Linux.
const MOST_LINKS: usize = 40;
/// Number of names that are tried for a temporary file. A name can be taken, because a file of an
/// earlier process with the same process id may still exist.
const MOST_NAMES: u32 = 100;

/// A file that is being written. If it is dropped before [`WholeFile::finish`], its temporary file
/// is removed.
#[derive(Debug)]
pub struct WholeFile {
    writer: WholeFileWriter,
    destination: Destination,
}

/// Destination of the bytes.
#[derive(Debug)]
enum Destination {
    /// The temporary file `part`, which is renamed to `whole` at the end.
    Part { part: PathBuf, whole: PathBuf },
    /// A FIFO, a device or the standard output, which is written in place.
    InPlace,
}

/// Writes to a [`WholeFile`], from any thread.
#[derive(Clone, Debug)]
pub struct WholeFileWriter {
    file: Arc<File>,
    /// The first error. After an error, the file is not renamed to its destination.
    failed: Arc<Mutex<Option<io::Error>>>,
}

impl WholeFile {
    /// Begins to write `path`. An existing regular file keeps its content until the end, and keeps
    /// its permissions.
    ///
    /// # Errors
    /// Fails if `path` is a directory or a block device, or cannot be written.
    pub fn create(path: &Path) -> io::Result<Self> {
        match fs::metadata(path) {
            Ok(found) if is_standard_output(&found) => {
                let own = io::stdout().as_fd().try_clone_to_owned()?;
                Ok(Self::new(own.into(), Destination::InPlace))
            }
            Ok(found) if found.is_file() => {
                // Open the old file to check that the caller may write it, because renaming does
                // not check that.
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

    /// Begins to write `path`, which must not exist yet.
    ///
    /// # Errors
    /// Returns [`ErrorKind::AlreadyExists`] if `path` exists, even as a dangling link; any other
    /// error if it cannot be written.
    pub fn create_new(path: &Path) -> io::Result<Self> {
        let file = File::create_new(path)?;
        // Give the file its final name from the start. In `finish`, renaming it to its own name has
        // no effect.
        let [part, whole] = [path.to_owned(), path.to_owned()];
        Ok(Self::new(file, Destination::Part { part, whole }))
    }

    /// Returns true if `path` would be written in place: it is the standard output, or it
    /// exists and is not a regular file.
    pub fn is_in_place(path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|found| is_standard_output(&found) || !found.is_file())
    }

    /// Creates a temporary file in the folder of `whole`.
    fn beside(whole: PathBuf) -> io::Result<Self> {
        if whole.file_name().is_none() {
            return Err(io::Error::new(
                ErrorKind::InvalidInput,
                "the path does not end with a file name",
            ));
        }
        let mut number = 0;
        loop {
            // Use a short name of its own, because the destination's name with a suffix might be
            // too long.
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

    /// Returns a writer, which may outlive this value but must be flushed before
    /// [`WholeFile::finish`].
    pub fn writer(&self) -> WholeFileWriter {
        self.writer.clone()
    }

    /// Renames the file to its destination.
    ///
    /// # Errors
    /// Fails if an earlier write failed, or the file cannot be renamed.
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
            // Ignore the error: a temporary file that cannot be removed remains.
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

    /// Stores the first error. Ignores an interruption by a signal, after which the caller writes
    /// again.
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
/// Fails if the file cannot be written; an existing file is unchanged.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = WholeFile::create(path)?;
    file.writer().write_all(bytes)?;
    file.finish()
}

/// Returns true if `found` is the file that standard output is redirected to. Such a file must not
/// be opened again: the second open file description would have its own offset, so its output would
/// overwrite that of the first.
fn is_standard_output(found: &fs::Metadata) -> bool {
    let own = io::stdout().as_fd().try_clone_to_owned();
    let own = own.and_then(|own| File::from(own).metadata());
    own.is_ok_and(|own| (own.dev(), own.ino()) == (found.dev(), found.ino()))
}

/// Follows the symbolic links of `path` and returns their destination. Called only if the
/// destination does not exist.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            // Join the target to the link's folder; an absolute target replaces the whole path.
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::new(
        ErrorKind::InvalidInput,
        "the path has too many symbolic links",
    ))
}

#[cfg(test)]
mod tests;
