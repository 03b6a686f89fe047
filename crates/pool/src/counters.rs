//! Declares counters under their MIB names.
//!
//! Rule: a counter is declared once, with its MIB name; the struct and its
//! listing follow from the declaration.

/// A counter: 64 bits on machines with 64-bit addresses, and 32 bits on smaller ones, as the MIBs
/// have them (Counter32, RFC 2578 §7.1.6), where a counter of bytes wraps.
#[cfg(target_pointer_width = "64")]
pub type Count = u64;
/// A counter: 64 bits on machines with 64-bit addresses, and 32 bits on smaller ones, as the MIBs
/// have them (Counter32, RFC 2578 §7.1.6), where a counter of bytes wraps.
#[cfg(not(target_pointer_width = "64"))]
pub type Count = u32;

/// Declares a struct of counters of type [`Count`](crate::Count), each with its MIB name.
#[macro_export]
macro_rules! counters {
    (
        $(#[$meta:meta])*
        pub struct $counters:ident {
            $( $(#[doc = $doc:literal])+ $field:ident: $name:literal, )+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $counters {
            $( $(#[doc = $doc])+ pub $field: $crate::Count, )+
        }

        impl $counters {
            /// Every counter with its MIB name, in declaration order.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
                [$( ($name, u64::from(self.$field)), )+].into_iter()
            }
        }
    };
}
