//! The panel, drawn without a GPU: its figures match the manager's, clicks have their effects, and pixels match
//! bytes.
//!
//! `TENURE_PANEL_PICTURES=FOLDER` keeps the pictures.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod attacked;
mod hostile;
mod pictures;
mod program;
mod words;
