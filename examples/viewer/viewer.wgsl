// The shaders of the scene. naga translates them to SPIR-V and HLSL; a binding is also the register of Direct3D 12.

struct Frame {
    // From the world to the camera's, and to the light's clip space.
    camera: mat4x4<f32>,
    light: mat4x4<f32>,
    eye: vec4<f32>,
    // The direction toward the light.
    to_light: vec4<f32>,
}

struct Draw {
    // From the object to the world.
    model: mat4x4<f32>,
}

@group(0) @binding(0) var<uniform> frame: Frame;
@group(0) @binding(1) var shadows: texture_depth_2d;
@group(0) @binding(2) var shadow_sampler: sampler_comparison;
@group(1) @binding(3) var surface: texture_2d<f32>;
@group(1) @binding(4) var surface_sampler: sampler;
@group(2) @binding(5) var<uniform> draw: Draw;

@vertex
fn shadow_vertex(@location(0) position: vec3<f32>) -> @builtin(position) vec4<f32> {
    return frame.light * draw.model * vec4<f32>(position, 1.0);
}

struct Corner {
    @location(0) position: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) uv: vec2<f32>,
}

struct Point {
    @builtin(position) position: vec4<f32>,
    @location(0) place: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) uv: vec2<f32>,
}

@vertex
fn scene_vertex(corner: Corner) -> Point {
    var point: Point;
    let place = draw.model * vec4<f32>(corner.position, 1.0);
    point.position = frame.camera * place;
    point.place = place.xyz;
    // Objects are scaled by the same factor in x, y and z.
    point.normal = (draw.model * vec4<f32>(corner.normal, 0.0)).xyz;
    point.uv = corner.uv;
    return point;
}

// The share of the light that arrives: four comparisons, each filtered.
fn lit(place: vec3<f32>, normal: vec3<f32>) -> f32 {
    // Beside the surface, so that it casts no shadow on itself.
    let clip = frame.light * vec4<f32>(place + normal * 0.03, 1.0);
    let uv = vec2<f32>(clip.x, -clip.y) * 0.5 + 0.5;
    let step = vec2<f32>(0.75, -0.75) / 1024.0;
    return 0.25 * (textureSampleCompareLevel(shadows, shadow_sampler, uv + step.xx, clip.z)
        + textureSampleCompareLevel(shadows, shadow_sampler, uv + step.xy, clip.z)
        + textureSampleCompareLevel(shadows, shadow_sampler, uv + step.yx, clip.z)
        + textureSampleCompareLevel(shadows, shadow_sampler, uv + step.yy, clip.z));
}

@fragment
fn scene_fragment(point: Point) -> @location(0) vec4<f32> {
    let normal = normalize(point.normal);
    let to_eye = normalize(frame.eye.xyz - point.place);
    let half_way = normalize(to_eye + frame.to_light.xyz);
    let albedo = textureSample(surface, surface_sampler, point.uv).rgb;
    let sun = lit(point.place, normal) * max(dot(normal, frame.to_light.xyz), 0.0);
    let sky = mix(vec3<f32>(0.10, 0.09, 0.08), vec3<f32>(0.25, 0.32, 0.45), normal.y * 0.5 + 0.5);
    let glance = pow(max(dot(normal, half_way), 0.0), 60.0) * 2.0;
    return vec4<f32>(albedo * (sky + sun * 2.5) + sun * glance, 1.0);
}
