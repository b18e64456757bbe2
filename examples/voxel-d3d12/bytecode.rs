//! Compilation of HLSL to bytecode.

use std::ffi::CString;

use voxel_world::Result;
use windows::Win32::Graphics::Direct3D::Fxc::{D3DCOMPILE_ENABLE_STRICTNESS, D3DCompile};
use windows::Win32::Graphics::Direct3D::ID3DBlob;
use windows::Win32::Graphics::Direct3D12::D3D12_SHADER_BYTECODE;
use windows::core::PCSTR;

/// A compiled shader.
pub(crate) struct Bytecode(ID3DBlob);

impl Bytecode {
    /// Compiles one entry point for a target such as `vs_5_0`.
    pub(crate) fn compile(source: &str, entry: &str, target: &str) -> Result<Self> {
        let (entry, target) = (CString::new(entry)?, CString::new(target)?);
        let (mut code, mut complaints) = (None, None);
        // SAFETY: the pointers are to locals that outlive the call; the names end with a NUL.
        let compiled = unsafe {
            D3DCompile(
                source.as_ptr().cast(),
                source.len(),
                PCSTR::null(),
                None,
                None,
                PCSTR(entry.as_ptr().cast()),
                PCSTR(target.as_ptr().cast()),
                D3DCOMPILE_ENABLE_STRICTNESS,
                0,
                &raw mut code,
                Some(&raw mut complaints),
            )
        };
        let complaints = complaints.as_ref().map(|blob| String::from_utf8_lossy(bytes(blob)).into_owned());
        compiled.map_err(|error| format!("{error}: {}\n{source}", complaints.unwrap_or_default()))?;
        Ok(Self(code.ok_or("a compiled shader has code")?))
    }

    /// The form for pipelines; valid while `self` lives.
    pub(crate) fn as_desc(&self) -> D3D12_SHADER_BYTECODE {
        let bytes = bytes(&self.0);
        D3D12_SHADER_BYTECODE { pShaderBytecode: bytes.as_ptr().cast(), BytecodeLength: bytes.len() }
    }
}

/// The bytes of a blob.
pub(crate) fn bytes(blob: &ID3DBlob) -> &[u8] {
    // SAFETY: the blob owns that many bytes there, and does not change while it lives.
    unsafe { std::slice::from_raw_parts(blob.GetBufferPointer().cast(), blob.GetBufferSize()) }
}
