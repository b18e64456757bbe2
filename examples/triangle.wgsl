// The shaders of `triangle-vulkan.rs`. `triangle.hlsl` has the same for Direct3D 12.

// Cosine and sine of the angle, and height over width of the target.
@group(0) @binding(0) var<uniform> frame: vec4<f32>;
@group(0) @binding(1) var board: texture_2d<f32>;
@group(0) @binding(2) var board_sampler: sampler;

struct Corner {
    @builtin(position) position: vec4<f32>,
    @location(0) uv: vec2<f32>,
}

@vertex
fn vertex(@location(0) position: vec3<f32>, @location(1) uv: vec2<f32>) -> Corner {
    let turned = mat2x2<f32>(frame.x, frame.y, -frame.y, frame.x) * position.xy;
    return Corner(vec4<f32>(turned.x * frame.z, turned.y, position.z, 1.0), uv);
}

@fragment
fn fragment(corner: Corner) -> @location(0) vec4<f32> {
    let tint = select(vec4<f32>(1.0), vec4<f32>(1.0, 0.5, 0.1, 1.0), corner.position.z > 0.5);
    return textureSample(board, board_sampler, corner.uv) * tint;
}
