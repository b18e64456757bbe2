struct Particle {
    position: vec2<f32>,
    velocity: vec2<f32>,
}

@group(0) @binding(0) var<storage, read> old: array<Particle>;
@group(0) @binding(1) var<storage, read_write> moved: array<Particle>;
@group(0) @binding(2) var<storage, read_write> cells: array<atomic<u32>>;

@compute @workgroup_size(64)
fn advance(@builtin(global_invocation_id) id: vec3<u32>) {
    var particle = old[id.x];
    // Eight others, always the same, pull.
    for (var other = 1u; other <= 8u; other++) {
        let away = old[(id.x + other * 509u) % arrayLength(&old)].position - particle.position;
        particle.velocity += away * (0.00002 / (dot(away, away) + 0.01));
    }
    particle.position += particle.velocity;
    let is_out = abs(particle.position) > vec2(0.95);
    particle.velocity = select(particle.velocity, -particle.velocity, is_out);
    moved[id.x] = particle;
    let cell = vec2<u32>(clamp((particle.position + 1.0) * 8.0, vec2(0.0), vec2(15.0)));
    atomicAdd(&cells[cell.y * 16u + cell.x], 1u);
}

@group(0) @binding(1) var<storage, read> shown: array<Particle>;

struct Shaded {
    @builtin(position) position: vec4<f32>,
    @location(0) color: vec3<f32>,
}

@vertex
fn vertex(@builtin(vertex_index) corner: u32, @builtin(instance_index) number: u32) -> Shaded {
    let particle = shown[number];
    let ahead = normalize(particle.velocity + vec2(0.0, 0.000001)) * 0.012;
    let aside = vec2(-ahead.y, ahead.x) * 0.5;
    var corners = array(ahead, aside - ahead, -aside - ahead);
    let color = vec3(0.5 + normalize(ahead) * 0.5, 0.8);
    return Shaded(vec4(particle.position + corners[corner], 0.0, 1.0), color);
}

@fragment
fn fragment(shaded: Shaded) -> @location(0) vec4<f32> {
    return vec4(shaded.color, 1.0);
}
