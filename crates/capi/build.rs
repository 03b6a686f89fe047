//! Sets the shared library's soname.
//!
//! Rule: a program that is linked with `libfullpipe.so` loads `libfullpipe.so.0` when it starts.
//! `cargo xtask capi --install` creates `libfullpipe.so.0` as a symbolic link.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libfullpipe.so.0");
    }
}
