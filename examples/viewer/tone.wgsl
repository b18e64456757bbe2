// Tone mapping: from the light of the scene to the colors of the screen.

@group(0) @binding(1) var light: texture_2d<f32>;

// One triangle covers the target.
@vertex
fn tone_vertex(@builtin(vertex_index) index: u32) -> @builtin(position) vec4<f32> {
    let corner = vec2<f32>(f32((index << 1u) & 2u), f32(index & 2u));
    return vec4<f32>(corner * 2.0 - 1.0, 0.0, 1.0);
}

// Narkowicz's fit of the film curve of ACES.
@fragment
fn tone_fragment(@builtin(position) at: vec4<f32>) -> @location(0) vec4<f32> {
    let x = textureLoad(light, vec2<i32>(at.xy), 0).rgb * 0.5;
    let mapped = (x * (2.51 * x + 0.03)) / (x * (2.43 * x + 0.59) + 0.14);
    return vec4<f32>(clamp(mapped, vec3<f32>(0.0), vec3<f32>(1.0)), 1.0);
}
