//! Installs the C library below a prefix, and compiles a program with what was installed.
//!
//! The one rule: each file lies where pkg-config, CMake, the linker or man searches for it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::library::{HEADER, build, execute};
use xtask::repository;

/// File name of the shared library, with its version.
const SHARED: &str = "libfullpipe.so.0.1.0";
/// Names of the symbolic links to the shared library.
const LINKS: [&str; 2] = ["libfullpipe.so.0", "libfullpipe.so"];

/// Builds the libraries and installs them below `prefix`.
///
/// # Errors
/// Fails if the build, a copy or the check of the installed files fails.
pub fn run(prefix: &Path) -> Result<()> {
    let built = build()?;
    let source = repository::root().join("crates/capi");
    let lib = prefix.join("lib");
    let copies = [
        (repository::root().join(HEADER), "include/fullpipe.h"),
        (built.join("libfullpipe_capi.a"), "lib/libfullpipe.a"),
        (
            built.join("libfullpipe_capi.so"),
            "lib/libfullpipe.so.0.1.0",
        ),
        (
            source.join("package/fullpipe-config.cmake"),
            "lib/cmake/fullpipe/fullpipe-config.cmake",
        ),
        (source.join("man/fullpipe.3"), "share/man/man3/fullpipe.3"),
    ];
    for (from, to) in &copies {
        let to = prefix.join(to);
        let folder = to.parent().expect("a file lies in a folder");
        fs::create_dir_all(folder)
            .and_then(|()| fs::copy(from, &to))
            .with_context(|| format!("copying {} to {}", from.display(), to.display()))?;
        println!("{}", to.display());
    }
    for link in LINKS {
        let link = lib.join(link);
        let _ = fs::remove_file(&link);
        symlink(SHARED, &link).with_context(|| format!("linking {}", link.display()))?;
    }
    let prefix = fs::canonicalize(prefix)?;
    let package = fs::read_to_string(source.join("package/fullpipe.pc.in"))?
        .replace("@PREFIX@", &prefix.to_string_lossy())
        .replace("@VERSION@", env!("CARGO_PKG_VERSION"));
    let file = lib.join("pkgconfig/fullpipe.pc");
    fs::create_dir_all(lib.join("pkgconfig"))
        .and_then(|()| fs::write(&file, package))
        .with_context(|| format!("writing {}", file.display()))?;
    println!("{}", file.display());
    check(&prefix)
}

/// Compiles the echo test with the installed header and each library, and runs it.
fn check(prefix: &Path) -> Result<()> {
    let folder = tempfile()?;
    let lib = prefix.join("lib");
    let libraries = [("static", "-l:libfullpipe.a"), ("shared", "-lfullpipe")];
    for (name, library) in libraries {
        let program = folder.join(name);
        let mut compiler = Command::new("cc");
        compiler.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-I"]);
        compiler.arg(prefix.join("include"));
        compiler
            .arg("crates/capi/tests/c/echo.c")
            .arg("-L")
            .arg(&lib);
        compiler.args([library, "-lpthread", "-ldl", "-lm", "-o"]);
        execute(compiler.arg(&program))?;
        execute(Command::new(&program).env("LD_LIBRARY_PATH", &lib))?;
        println!("{name}: a program compiles and runs");
    }
    fs::remove_dir_all(&folder).context("removing the programs of the check")
}

fn tempfile() -> Result<std::path::PathBuf> {
    let folder = std::env::temp_dir().join(format!("fullpipe-capi-{}", std::process::id()));
    fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    Ok(folder)
}
