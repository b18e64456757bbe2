//! Draws whose pixels are read back.

mod easel;
mod inputs;
mod queries;
mod samplers;
mod shader;
