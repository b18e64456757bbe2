//! Draws whose pixels are read back.

mod easel;
mod inputs;
mod samplers;
mod shader;
