//! Tests with files of every kind as destinations.

use std::{
    env,
    os::unix::fs::{PermissionsExt, symlink},
    process::Command,
    thread,
};

use super::*;

/// A folder that is removed at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("fullpipe-whole-{name}-{}", process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn links_are_followed_and_stay_links() {
    let folder = Folder::new("links");
    let at = |name: &str| folder.0.join(name);
    fs::write(at("old"), "old").unwrap();
    fs::set_permissions(at("old"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("old", at("to-old")).unwrap();
    symlink("to-old", at("to-link")).unwrap();
    symlink("new", at("to-nothing")).unwrap();
    write_whole(&at("to-link"), b"1").unwrap();
    write_whole(&at("to-nothing"), b"2").unwrap();
    assert_eq!(fs::read_to_string(at("old")).unwrap(), "1");
    assert_eq!(fs::read_to_string(at("new")).unwrap(), "2");
    let mode = fs::metadata(at("old")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    for link in ["to-old", "to-link", "to-nothing"] {
        assert!(at(link).is_symlink(), "{link}");
    }
    assert_eq!(
        folder.names(),
        ["new", "old", "to-link", "to-nothing", "to-old"]
    );
    symlink("round", at("round")).unwrap();
    assert!(write_whole(&at("round"), b"3").is_err());
}

#[test]
fn a_device_and_a_fifo_are_written_in_place() {
    write_whole(Path::new("/dev/null"), b"nothing").unwrap();
    let kind = fs::metadata("/dev/null").unwrap().file_type();
    assert!(kind.is_char_device());
    let folder = Folder::new("fifo");
    let fifo = folder.0.join("fifo");
    assert!(
        Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    let reader = thread::spawn({
        let fifo = fifo.clone();
        move || fs::read(fifo).unwrap()
    });
    write_whole(&fifo, b"through").unwrap();
    assert_eq!(reader.join().unwrap(), b"through");
    assert!(fs::metadata(&fifo).unwrap().file_type().is_fifo());
    assert_eq!(folder.names(), ["fifo"]);
    let refused = write_whole(&folder.0, b"x").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::IsADirectory);
}

#[test]
fn a_failed_write_leaves_the_old_file_and_nothing_else() {
    let error = write_whole(Path::new("/dev/full"), b"x").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    assert!(
        fs::metadata("/dev/full")
            .unwrap()
            .file_type()
            .is_char_device()
    );
    let folder = Folder::new("old");
    let file = folder.0.join("file");
    fs::write(&file, "old").unwrap();
    let begun = WholeFile::create(&file).unwrap();
    begun.writer().write_all(b"new").unwrap();
    drop(begun);
    let mut begun = WholeFile::create(&file).unwrap();
    begun.writer.file = Arc::new(OpenOptions::new().write(true).open("/dev/full").unwrap());
    // Ignore the writer's error, as a writer in another thread may do: `finish` must return it.
    let _ = begun.writer().write_all(b"new");
    assert_eq!(begun.finish().unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(fs::read_to_string(&file).unwrap(), "old");
    assert_eq!(folder.names(), ["file"]);
    let exists = WholeFile::create_new(&file).unwrap_err();
    assert_eq!(exists.kind(), ErrorKind::AlreadyExists);
}
