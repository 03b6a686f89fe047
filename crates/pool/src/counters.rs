//! Declares counters under their MIB names.
//!
//! Rule: a counter is declared once, with its MIB name; the struct and its
//! listing follow from the declaration.

/// Declares a struct of `u64` counters, each with its MIB name.
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
            $( $(#[doc = $doc])+ pub $field: u64, )+
        }

        impl $counters {
            /// Every counter with its MIB name, in declaration order.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
                [$( ($name, self.$field), )+].into_iter()
            }
        }
    };
}
