//! The exact texts that a program's author reads: errors, hazards and the log.

mod errors;
mod hazards;
mod log;
