struct View {
    camera: mat4x4<f32>,
    light: mat4x4<f32>,
    to_light: vec4<f32>,
}

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var<storage, read> rings: array<mat4x4<f32>>;
@group(0) @binding(2) var shadow_map: texture_depth_2d;
@group(0) @binding(3) var compared: sampler_comparison;
@group(0) @binding(4) var tiles: texture_2d<f32>;
@group(0) @binding(5) var trilinear: sampler;

struct Vertex {
    @location(0) position: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) at: vec2<f32>,
}

struct Shaded {
    @builtin(position) position: vec4<f32>,
    @location(0) in_light: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) at: vec2<f32>,
}

@vertex
fn shadow(vertex: Vertex, @builtin(instance_index) ring: u32) -> @builtin(position) vec4<f32> {
    return view.light * (rings[ring] * vec4(vertex.position, 1.0));
}

@vertex
fn vertex(vertex: Vertex, @builtin(instance_index) ring: u32) -> Shaded {
    let world = rings[ring] * vec4(vertex.position, 1.0);
    let in_light = view.light * world;
    let at_map = vec3(in_light.xy * vec2(0.5, -0.5) + 0.5, in_light.z);
    let normal = (rings[ring] * vec4(vertex.normal, 0.0)).xyz;
    return Shaded(view.camera * world, at_map, normal, vertex.at);
}

@fragment
fn fragment(shaded: Shaded) -> @location(0) vec4<f32> {
    let lit = textureSampleCompare(shadow_map, compared, shaded.in_light.xy, shaded.in_light.z);
    let facing = max(dot(normalize(shaded.normal), view.to_light.xyz), 0.0);
    let color = textureSample(tiles, trilinear, shaded.at).rgb;
    return vec4(color * (0.15 + 0.85 * facing * lit), 1.0);
}
