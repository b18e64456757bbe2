//! Draws whose pixels are read back.

mod depth_inputs;
mod easel;
mod inputs;
mod queries;
mod samplers;
mod shader;
