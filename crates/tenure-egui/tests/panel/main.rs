//! The panel, drawn without a GPU: what it says is what the manager counts, clicks do what they say, and pixels are where
//! bytes are.
//!
//! `TENURE_PANEL_PICTURES=FOLDER` keeps the pictures.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod attacked;
mod hostile;
mod pictures;
mod program;
mod words;
