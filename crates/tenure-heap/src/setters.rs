//! Setters of configurations and descriptions.

/// Implements a setter for each listed field of a type: it takes and returns the value.
///
/// Such types are `non_exhaustive`, so that fields can be added; other crates cannot construct them with a literal.
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    ($Type:ident { $($field:ident: $Field:ty),* $(,)? }) => {
        impl $Type {$(
            #[doc = concat!("Sets [`", stringify!($field), "`](Self#structfield.", stringify!($field), ").")]
            #[must_use]
            pub fn $field(mut self, $field: $Field) -> Self {
                self.$field = $field;
                self
            }
        )*}
    };
}
