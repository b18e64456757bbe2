//! Declarations of a renderer: states and barriers, transient resources, render graphs.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

mod graph;
mod state;
mod transient;
