// A draw writes down what it found: its constants, and the first word of each buffer of its table.

@group(0) @binding(0) var<uniform> constants: vec4<u32>;
@group(1) @binding(0) var<storage, read> mesh0: array<u32>;
@group(1) @binding(1) var<storage, read> mesh1: array<u32>;
@group(1) @binding(2) var<storage, read> mesh2: array<u32>;
@group(1) @binding(3) var<storage, read> mesh3: array<u32>;
@group(2) @binding(0) var<storage, read_write> output: array<u32>;

@compute @workgroup_size(1)
fn main() {
    let at = constants.x * 6u;
    output[at] = constants.x;
    output[at + 1u] = constants.y;
    output[at + 2u] = mesh0[0];
    output[at + 3u] = mesh1[0];
    output[at + 4u] = mesh2[0];
    output[at + 5u] = mesh3[0];
}
