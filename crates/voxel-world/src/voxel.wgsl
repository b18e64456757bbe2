// One shader for both APIs: naga translates it to SPIR-V and HLSL.

struct Scene {
    view_projection: mat4x4<f32>,
    // xyz: the position of the eye; w: the density of the fog.
    eye: vec4<f32>,
    // The direction toward the sun.
    sun: vec4<f32>,
}

@group(0) @binding(0) var<uniform> scene: Scene;
@group(0) @binding(1) var tiles: texture_2d_array<f32>;
@group(0) @binding(2) var tile_sampler: sampler;

struct Corner {
    // x, y, z, and the layer of the texture; -1 for the sky.
    @location(0) place: vec4<i32>,
    @location(1) normal: vec4<f32>,
    @location(2) uv: vec2<u32>,
    // a: the share of sunlight that reaches the face.
    @location(3) colour: vec4<f32>,
}

struct Surface {
    @builtin(position) position: vec4<f32>,
    @location(0) place: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) uv: vec2<f32>,
    @location(3) colour: vec4<f32>,
    @location(4) @interpolate(flat) layer: i32,
}

@vertex
fn vertex(corner: Corner) -> Surface {
    var surface: Surface;
    surface.place = vec3<f32>(corner.place.xyz);
    surface.position = scene.view_projection * vec4<f32>(surface.place, 1.0);
    surface.normal = corner.normal.xyz;
    surface.uv = vec2<f32>(corner.uv);
    surface.colour = corner.colour;
    surface.layer = corner.place.w;
    return surface;
}

const WATER: i32 = 6;

fn sky(direction: vec3<f32>) -> vec3<f32> {
    let height = clamp(direction.y, 0.0, 1.0);
    let blue = mix(vec3<f32>(0.56, 0.70, 0.84), vec3<f32>(0.10, 0.26, 0.58), sqrt(height));
    let glow = pow(clamp(dot(direction, scene.sun.xyz), 0.0, 1.0), 8.0);
    return blue + glow * vec3<f32>(0.28, 0.20, 0.10);
}

@fragment
fn fragment(surface: Surface) -> @location(0) vec4<f32> {
    let texel = textureSample(tiles, tile_sampler, surface.uv, max(surface.layer, 0));
    let ray = surface.place - scene.eye.xyz;
    let distance = length(ray);
    let direction = ray / distance;
    let air = sky(direction);
    if (surface.layer < 0) {
        return vec4<f32>(air, 0.0);
    }
    let sun = surface.colour.a * clamp(dot(surface.normal, scene.sun.xyz), 0.0, 1.0);
    // Faces that point up get more light from the sky than faces that point down.
    let ambient = mix(vec3<f32>(0.16, 0.15, 0.14), vec3<f32>(0.34, 0.42, 0.54), surface.normal.y * 0.5 + 0.5);
    var light = texel.rgb * surface.colour.rgb * (ambient + sun * vec3<f32>(1.35, 1.22, 0.98));
    if (surface.layer == WATER) {
        // Water reflects more of the sky at a flatter angle.
        let mirror = pow(1.0 - clamp(-direction.y, 0.0, 1.0), 4.0);
        light = mix(light, sky(vec3<f32>(direction.x, -direction.y, direction.z)), 0.1 + 0.7 * mirror);
    }
    let haze = distance * scene.eye.w;
    return vec4<f32>(mix(air, light, exp(-haze * haze)), 1.0);
}
