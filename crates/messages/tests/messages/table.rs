//! Rows: a text, and the variant that produces it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Debug, Display};

use tenure_core::Error;

#[derive(Default)]
pub(crate) struct Table(BTreeMap<String, BTreeSet<String>>);

/// `Error::OutOfRange` of a value of that enum; the name of the type for a struct.
fn key<T: Debug>(value: &T) -> String {
    let path = std::any::type_name::<T>().split('<').next().unwrap_or_default();
    let name = path.rsplit("::").next().unwrap_or_default();
    let debug = format!("{value:?}");
    let variant: String = debug.chars().take_while(|found| found.is_alphanumeric()).collect();
    if variant == name { variant } else { format!("{name}::{variant}") }
}

impl Table {
    pub(crate) fn add<T: Debug + Display>(&mut self, value: &T) {
        self.0.entry(key(value)).or_default().insert(value.to_string());
    }

    pub(crate) fn all<T: Debug + Display>(&mut self, values: impl IntoIterator<Item = T>) {
        values.into_iter().for_each(|value| self.add(&value));
    }

    /// Adds an error, and the values in its text.
    pub(crate) fn error(&mut self, error: &Error) {
        match error {
            // How long it took is not the same in each run.
            Error::Timeout { what, .. } => self.add(&Error::Timeout { what: *what, waited_ms: 500 }),
            _ => self.add(error),
        }
        match error {
            Error::Config(found) => {
                self.add(found);
                self.add(&found.rule);
            }
            Error::OutOfMemory(found) => self.add(&**found),
            Error::NoDescriptors(found) => {
                self.add(&**found);
                self.add(&found.part);
            }
            Error::Device { source, .. } => self.add(source),
            Error::State { source, .. } => self.add(source),
            Error::Timeout { what, .. } => self.add(what),
            Error::Query { rule, .. } => self.add(rule),
            Error::Transient { rule, .. } => self.add(rule),
            Error::Swapchain { rule, .. } => self.add(rule),
            Error::AccelerationStructure { rule, .. } => self.add(rule),
            Error::Contract { rule } => self.add(rule),
            Error::Tiles { rule, .. } => self.add(rule),
            Error::Graph(found) => self.add(found),
            _ => {}
        }
    }

    /// The error of a call that must be refused.
    #[track_caller]
    pub(crate) fn refused<T>(&mut self, answer: Result<T, Error>) {
        match answer {
            Ok(_) => panic!("was accepted"),
            Err(error) => self.error(&error),
        }
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    pub(crate) fn texts(&self) -> impl Iterator<Item = &String> {
        self.0.values().flatten()
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.0.iter().flat_map(|(key, texts)| texts.iter().map(move |text| (key, text)));
        rows.into_iter().try_for_each(|(key, text)| writeln!(f, "{key}: {text}"))
    }
}
