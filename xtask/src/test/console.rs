//! Lines of steps that may run at the same time.
//!
//! The one rule: a line of a test program or of a step is printed whole, after the label of its
//! thread. Other output, such as that of compilers, has no label.

use std::cell::RefCell;

thread_local! {
    static LABEL: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Sets the label of this thread's lines, such as the name of its step; empty for none.
pub fn set_label(label: &str) {
    LABEL.with_borrow_mut(|own| label.clone_into(own));
}

/// Returns the label of this thread's lines.
pub fn label() -> String {
    LABEL.with_borrow(Clone::clone)
}

/// Prints one line.
pub fn say(line: &str) {
    match label().as_str() {
        "" => println!("{line}"),
        label => println!("{label:<12} {line}"),
    }
}
