//! The common beginning and end of all test shaders.

use rspirv::binary::Assemble as _;
use rspirv::dr::{Builder, Operand};
use rspirv::spirv::{
    AddressingModel, Capability, Decoration, ExecutionMode, ExecutionModel, FunctionControl, MemoryModel,
    Word,
};

/// A shader of SPIR-V 1.`minor`.
pub(crate) fn builder(minor: u8) -> Builder {
    let mut b = Builder::new();
    b.set_version(1, minor);
    b.capability(Capability::Shader);
    b.memory_model(AddressingModel::Logical, MemoryModel::GLSL450);
    b
}

/// Says where the descriptor of a variable is.
pub(crate) fn bind(b: &mut Builder, variable: Word, set: u32, binding: u32) {
    b.decorate(variable, Decoration::DescriptorSet, [Operand::LiteralBit32(set)]);
    b.decorate(variable, Decoration::Binding, [Operand::LiteralBit32(binding)]);
}

/// Begins the function of the entry point.
pub(crate) fn begin_main(b: &mut Builder) -> Word {
    let void = b.type_void();
    let function = b.type_function(void, []);
    let main = b.begin_function(void, None, FunctionControl::NONE, function).unwrap();
    b.begin_block(None).unwrap();
    main
}

/// Ends the function, and the shader with it.
pub(crate) fn assemble(mut b: Builder) -> Vec<u32> {
    b.ret().unwrap();
    b.end_function().unwrap();
    b.module().assemble()
}

/// Ends a compute shader with groups of one invocation. From SPIR-V 1.4 on its `variables` are named.
pub(crate) fn assemble_compute(mut b: Builder, main: Word, variables: &[Word]) -> Vec<u32> {
    b.entry_point(ExecutionModel::GLCompute, main, "main", variables);
    b.execution_mode(main, ExecutionMode::LocalSize, [1, 1, 1]);
    assemble(b)
}
