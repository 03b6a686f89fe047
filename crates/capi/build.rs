//! Gives the shared library its name for the linker.
//!
//! Rule: programs that link `libfullpipe.so` look for `libfullpipe.so.0`, which `cargo xtask capi
//! --install` creates.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libfullpipe.so.0");
    }
}
