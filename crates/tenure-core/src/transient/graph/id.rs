//! What a graph calls its passes and resources.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        ///
        /// A plain index: good for every graph that declares the same things in the same order. One that
        /// does not belong to a graph is an error when that is compiled, if there is no such index.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// The id of the index. Beyond `u32::MAX` it names nothing.
            pub(super) fn new(index: usize) -> Self {
                Self(u32::try_from(index).unwrap_or(u32::MAX))
            }

            /// Its place in the order of declaration, from 0.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id! {
    /// A pass of a [`Graph`](super::Graph).
    PassId
}

id! {
    /// A resource of a [`Graph`](super::Graph).
    ResourceId
}
