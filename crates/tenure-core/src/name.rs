//! Names of objects.

use std::fmt;
use std::sync::Arc;

/// The name of an object, for people: it reaches the API's debug names, hazard messages, leak
/// reports and dumps.
///
/// A `&'static str` costs nothing; a `String` is shared, not copied, after the first time.
///
/// ```
/// use tenure_core::Name;
/// assert_eq!(Name::from("rock").as_str(), "rock");
/// assert_eq!(Name::default().as_str(), "");
/// ```
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Text);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// The text; empty for an object without a name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Text::Static(text) => text,
            Text::Shared(text) => text,
        }
    }

    /// True for an object without a name.
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
