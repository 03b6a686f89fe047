//! Compiles lwIP from the folder that the environment variable `LWIP_SOURCE` names.
//!
//! Rule: lwIP is compiled only with the feature `lwip` and with `LWIP_SOURCE` set. The Rust code
//! can therefore be checked on a machine without lwIP.

fn main() {
    println!("cargo::rerun-if-env-changed=LWIP_SOURCE");
    println!("cargo::rerun-if-changed=lwip");
    #[cfg(feature = "lwip")]
    compile_lwip();
}

#[cfg(feature = "lwip")]
fn compile_lwip() {
    use std::{env, fs, path::PathBuf};

    let Some(source) = env::var_os("LWIP_SOURCE") else {
        return;
    };
    let source = PathBuf::from(source).join("src");
    let mut build = cc::Build::new();
    build
        .include("lwip")
        .include(source.join("include"))
        .file("lwip/glue.c")
        .opt_level(3)
        .warnings(false);
    for folder in ["core", "core/ipv4"] {
        let entries = fs::read_dir(source.join(folder)).expect("LWIP_SOURCE has lwIP's source");
        let files = entries.map(|entry| entry.expect("a readable folder").path());
        build.files(files.filter(|file| file.extension().is_some_and(|end| end == "c")));
    }
    build.compile("lwip");
}
