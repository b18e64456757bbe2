//! The exact texts that a program's author reads: errors and hazards.

mod errors;
mod hazards;
