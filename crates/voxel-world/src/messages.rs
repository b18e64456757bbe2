//! The messages of validation layers.

use std::sync::{Arc, Mutex, PoisonError};

/// Collects warnings and errors from any thread. Clones share one collection.
#[derive(Clone, Debug, Default)]
pub struct Messages(Arc<Mutex<Vec<String>>>);

impl Messages {
    /// Adds a message.
    pub fn push(&self, message: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(message);
    }

    /// Prints the collected messages.
    ///
    /// # Errors
    /// When there is at least one message.
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
