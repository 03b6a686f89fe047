//! The programs of `tests/c`, compiled with the system's C compiler and run.
//!
//! Rule: a program compiles without a warning and checks itself; here only its exit counts. Each
//! runs with the address and the undefined-behaviour sanitizer.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// Builds the library as C programs get it, and returns its path.
fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let own = env::current_exe().expect("a test has a path");
        let profile = own.ancestors().nth(2).expect("the test is in PROFILE/deps");
        let target = profile.parent().expect("a profile has a folder");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--package", "fullpipe-capi"]);
        cargo.arg("--target-dir").arg(target);
        if profile.ends_with("release") {
            cargo.arg("--release");
        }
        assert!(cargo.status().expect("cargo runs").success());
        profile.join("libfullpipe_capi.a")
    })
}

/// Compiles `tests/c/NAME.c` with `flags`, runs it with `arguments`, and returns its output.
fn run(name: &str, flags: &[&str], arguments: &[&str]) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = Path::new(env!("CARGO_TARGET_TMPDIR"));
    fs::create_dir_all(out).expect("the folder for tests is writable");
    let program = out.join(format!("{name}{}", flags.concat().replace(['/', ','], "_")));
    let compiled = Command::new("cc")
        .args(["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"])
        .args(flags)
        .arg("-I")
        .arg(folder.join("include"))
        .arg(folder.join(format!("tests/c/{name}.c")))
        .arg(library())
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&program)
        .status();
    assert!(compiled.expect("a C compiler is installed").success());
    let ran = Command::new(&program).args(arguments).output();
    let ran = ran.expect("the program starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (said, complained) = (text(&ran.stdout), text(&ran.stderr));
    assert!(ran.status.success(), "{name}: {said}{complained}");
    said
}

const SANITIZERS: &[&str] = &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

#[test]
fn bytes_come_back_unchanged_through_the_c_interface() {
    let said = run("echo", SANITIZERS, &[]);
    assert!(said.contains("udp echo"), "{said}");
}

#[test]
fn random_calls_with_wrong_arguments_are_refused() {
    let said = run("misuse", SANITIZERS, &["20000", "1"]);
    assert!(said.contains("36 of 36 blocks free"), "{said}");
}
