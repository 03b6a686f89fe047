//! Passes the linker script of the board to the linker.
//!
//! Rule: this build script does nothing else. It runs again only if the linker script changes.

fn main() {
    let folder = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    println!("cargo::rustc-link-arg-bins=-T{folder}/mps2-an385.ld");
    println!("cargo::rerun-if-changed=mps2-an385.ld");
}
