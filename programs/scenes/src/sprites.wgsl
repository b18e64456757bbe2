struct Sprite {
    center: vec2<f32>,
    radius: f32,
    turn: f32,
}

@group(0) @binding(0) var<uniform> tint: vec4<f32>;
@group(0) @binding(1) var<storage, read> sprites: array<Sprite>;
@group(0) @binding(2) var spots: texture_2d<f32>;
@group(0) @binding(3) var nearest: sampler;

struct Shaded {
    @builtin(position) position: vec4<f32>,
    @location(0) at: vec2<f32>,
}

@vertex
fn vertex(@builtin(vertex_index) corner: u32, @builtin(instance_index) number: u32) -> Shaded {
    var corners = array(
        vec2(-1.0, -1.0), vec2(1.0, -1.0), vec2(-1.0, 1.0),
        vec2(-1.0, 1.0), vec2(1.0, -1.0), vec2(1.0, 1.0),
    );
    let sprite = sprites[number];
    let at = corners[corner];
    let axis = vec2(cos(sprite.turn), sin(sprite.turn)) * sprite.radius;
    let turned = vec2(at.x * axis.x - at.y * axis.y, at.x * axis.y + at.y * axis.x);
    return Shaded(vec4(sprite.center + turned, 0.0, 1.0), at * 0.5 + 0.5);
}

@fragment
fn fragment(shaded: Shaded) -> @location(0) vec4<f32> {
    return textureSample(spots, nearest, shaded.at) * tint;
}
