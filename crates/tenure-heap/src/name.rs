//! Names of objects.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The name of an object in the API's debug names, hazard messages, leak reports and dumps.
///
/// A `&'static str` costs nothing; a `String` is shared, not copied, after its conversion.
///
/// ```
/// use tenure_heap::Name;
/// assert_eq!(Name::from("rock").as_str(), "rock");
/// assert_eq!(Name::default().as_str(), "");
/// assert_eq!(Name::from("rock"), Name::from(String::from("rock")));
/// ```
#[derive(Clone, Default)]
pub struct Name(Text);

#[derive(Clone)]
enum Text {
    Static(&'static str),
    Shared(Arc<str>),
}

impl Default for Text {
    fn default() -> Self {
        Self::Static("")
    }
}

impl Name {
    /// Copies text that is not static, in one allocation; `String::from(text).into()` makes two.
    ///
    /// ```
    /// # use tenure_heap::Name;
    /// let read = [114, 111, 99, 107];
    /// assert_eq!(Name::copied(std::str::from_utf8(&read)?), "rock");
    /// # Ok::<(), std::str::Utf8Error>(())
    /// ```
    #[must_use]
    pub fn copied(text: &str) -> Self {
        Self(Text::Shared(text.into()))
    }

    /// The text; empty for an unnamed object.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Text::Static(text) => text,
            Text::Shared(text) => text,
        }
    }

    /// The text if it is static, for `Copy` types.
    #[must_use]
    pub const fn as_static(&self) -> Option<&'static str> {
        match &self.0 {
            Text::Static(text) => Some(text),
            Text::Shared(_) => None,
        }
    }

    /// True for an unnamed object.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.as_str().is_empty()
    }
}

impl From<&'static str> for Name {
    fn from(text: &'static str) -> Self {
        Self(Text::Static(text))
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        Self(Text::Shared(text.into()))
    }
}

impl From<Arc<str>> for Name {
    fn from(text: Arc<str>) -> Self {
        Self(Text::Shared(text))
    }
}

impl From<&Self> for Name {
    fn from(name: &Self) -> Self {
        name.clone()
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Name {}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_empty() { "(unnamed)" } else { self.as_str() })
    }
}
