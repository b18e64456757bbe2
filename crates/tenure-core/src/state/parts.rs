//! One value while all subresources agree, one each when they do not.

/// Values of all subresources of a resource.
#[derive(Clone, Debug)]
pub(super) enum Parts<T> {
    /// All agree.
    Whole(T),
    /// One each.
    Each(Box<[T]>),
}

impl<T: Copy + PartialEq> Parts<T> {
    /// The value of one subresource.
    pub(super) fn get(&self, index: usize) -> Option<T> {
        match self {
            Self::Whole(value) => Some(*value),
            Self::Each(values) => values.get(index).copied(),
        }
    }

    /// What becomes of the values. Allocates when they differ.
    pub(super) fn map<U: Copy + PartialEq>(&self, change: impl Fn(T) -> U) -> Parts<U> {
        match self {
            Self::Whole(value) => Parts::Whole(change(*value)),
            Self::Each(values) => {
                let mut changed = Parts::Each(values.iter().map(|value| change(*value)).collect());
                changed.collapse(|value| value);
                changed
            }
        }
    }

    /// The one value of all, or one each.
    pub(super) fn as_slice(&self) -> &[T] {
        match self {
            Self::Whole(value) => std::slice::from_ref(value),
            Self::Each(values) => values,
        }
    }

    /// The values one by one, made so if need be. O(`count`) when they agreed so far.
    pub(super) fn split(&mut self, count: usize) -> &mut [T] {
        if let Self::Whole(value) = *self {
            *self = Self::Each(vec![value; count].into_boxed_slice());
        }
        match self {
            Self::Each(values) => values,
            Self::Whole(value) => std::slice::from_mut(value),
        }
    }

    /// Goes back to one value if all agree once `settle` has brought them up to date. Stops at
    /// the first that differs.
    pub(super) fn collapse(&mut self, settle: impl Fn(T) -> T) {
        let Self::Each(values) = self else { return };
        let Some(first) = values.first().map(|value| settle(*value)) else { return };
        if values.iter().all(|value| settle(*value) == first) {
            *self = Self::Whole(first);
        }
    }
}
