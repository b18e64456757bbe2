//! The creation of a device: options, adapters and their capabilities, and messages of the debug layer.

pub(crate) mod adapter;
pub(crate) mod caps;
pub(crate) mod config;
pub(crate) mod dred;
pub(crate) mod format_support;
pub(crate) mod message;
pub(crate) mod properties;
