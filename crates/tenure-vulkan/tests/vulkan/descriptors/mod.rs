//! Descriptors of the device, without a manager.

mod adopted;
mod buffers;
mod faults;
mod found;
mod freed;
mod handles;
mod limits;
mod mutable;
mod refused;
mod room;
mod views;
