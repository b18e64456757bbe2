//! `Debug` of handles: short, without locks, and without trait bounds on the API's types.

/// Implements `Debug` with the fields given, and `..` for the rest.
macro_rules! debug_fields {
    ([$($generics:tt)*] $type:ty, $name:literal, $this:ident, $($field:ident: $value:expr),* $(,)?) => {
        impl<$($generics)*> std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let $this = self;
                f.debug_struct($name)$(.field(stringify!($field), &$value))*.finish_non_exhaustive()
            }
        }
    };
}
