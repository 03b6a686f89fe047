//! Writes the command, call or configuration line by which a system sets one of its own settings,
//! such as `sysctl -w net.core.wmem_max=…`.
//!
//! Rule: each row of the alias table has the name of a setting and the form in which its system
//! sets it. A caller passes the name and the value, and gets text that can be pasted unchanged.

use alloc::{format, string::String};
use core::fmt;

/// Form in which a system sets one of its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetBy {
    /// `sysctl -w`; the field has the part of the key before the name.
    Sysctl(&'static str),
    /// An integer or a word by `setsockopt`; the field has the level.
    SocketOption(&'static str),
    /// An attribute of the default route.
    Route,
    /// A line `NAME=value` of a `.config` file, which Kconfig reads.
    Kconfig,
    /// A macro of the C preprocessor.
    Define,
    /// A C function that takes the socket and the value.
    Call,
    /// A C function that turns an option on, and one that turns it off.
    Flag {
        /// Function that turns the option on.
        on: &'static str,
        /// Function that turns the option off.
        off: &'static str,
    },
}

impl SetBy {
    /// Returns the text that sets `name` to `value`, ready to paste. A socket argument is
    /// called `fd`.
    pub fn paste(self, name: &str, value: &str) -> String {
        match self {
            Self::Sysctl(prefix) if value.contains(' ') => {
                format!("sysctl -w {prefix}.{name}=\"{value}\"")
            }
            Self::Sysctl(prefix) => format!("sysctl -w {prefix}.{name}={value}"),
            // A switch is a number in C.
            Self::SocketOption(_) if matches!(value, "true" | "false") => {
                self.paste(name, if value == "true" { "1" } else { "0" })
            }
            Self::SocketOption(level) => match value.parse::<u64>() {
                Ok(number) => {
                    let kind = match i32::try_from(number) {
                        Ok(_) => "int",
                        Err(_) => "unsigned",
                    };
                    format!("setsockopt(fd, {level}, {name}, &({kind}){{{value}}}, sizeof(int))")
                }
                Err(_) => {
                    let length = value.len();
                    format!("setsockopt(fd, {level}, {name}, \"{value}\", {length})")
                }
            },
            Self::Route => format!("ip route change $(ip route show default) {name} {value}"),
            Self::Kconfig => format!("{name}={value}"),
            Self::Define => format!("#define {name} {value}"),
            Self::Call => format!("{name}(fd, {value})"),
            Self::Flag { on, off } => {
                let function = if value == "true" { on } else { off };
                format!("{function}(fd, {name})")
            }
        }
    }

    /// Returns the rights or the work that the setting needs, in a sentence; `None` if an
    /// application can make the setting while it runs.
    pub const fn needs(self) -> Option<&'static str> {
        match self {
            Self::Sysctl(_) => Some("Needs root; holds for every connection of the host."),
            Self::Route => Some("Needs root; holds for every connection over the route."),
            Self::Kconfig | Self::Define => Some("Needs a new build."),
            Self::SocketOption(_) | Self::Call | Self::Flag { .. } => None,
        }
    }
}

impl fmt::Display for SetBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sysctl(prefix) => write!(f, "sysctl {prefix}"),
            Self::SocketOption(level) => write!(f, "setsockopt {level}"),
            Self::Route => f.write_str("ip route"),
            Self::Kconfig => f.write_str("Kconfig"),
            Self::Define => f.write_str("#define"),
            Self::Call => f.write_str("C function"),
            Self::Flag { on, off } => write!(f, "{on} or {off}"),
        }
    }
}
