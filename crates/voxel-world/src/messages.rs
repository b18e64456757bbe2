//! The messages of validation layers.

use std::sync::{Arc, Mutex, PoisonError};

/// Collects warnings and errors from any thread. Clones share one collection.
#[derive(Clone, Debug, Default)]
pub struct Messages(Arc<Mutex<Vec<String>>>);

impl Messages {
    /// Takes note of one.
    pub fn push(&self, message: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(message);
    }

    /// Prints what was collected.
    ///
    /// # Errors
    /// When there was anything.
    pub fn check(&self) -> crate::Result<()> {
        let messages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        messages.iter().for_each(|message| eprintln!("{message}"));
        if messages.is_empty() {
            Ok(())
        } else {
            Err(format!("{} validation messages", messages.len()).into())
        }
    }
}
