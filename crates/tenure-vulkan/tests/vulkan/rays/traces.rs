//! Rays traced on the device, and their expected hits.

use tenure_core::AccelerationStructure;
use tenure_vulkan::{Device, OptionalFeatures};

use super::scene::record;
use super::shader::Rays;
use super::tracer::{Hit, MISS, Tracer};
use super::{LONG, end, scene};

/// Triangles of the instances. Behind the last one of the first instance is room for rays that miss.
const TRIANGLES: [u32; 4] = [1, 17, 40, 64];
const SPACING: u32 = 4;

/// Four columns for each unit of x. No ray meets the edge of a triangle, and each begins between two of them. All
/// numbers are exact in floats.
const RAYS: Rays = Rays { grid: [64, 16], x: [0.25, 0.125], y: [0.0625, 0.03125], z: [0.03125, 0.0078125] };

fn at(number: u32, [scale, offset]: [f32; 2]) -> f32 {
    number as f32 * scale + offset
}

/// The instance, the triangle and the distance that a ray hits.
fn expected(column: u32, row: u32) -> Option<(u32, u32, f32)> {
    let (x, y, z) = (at(column, RAYS.x), at(row, RAYS.y), at(row, RAYS.z));
    let instance = x as u32 / SPACING;
    if x - (instance * SPACING) as f32 + y > 1.0 {
        return None;
    }
    let depth = |triangle: u32| triangle as f32 / 64.0;
    let mut triangles = 0..TRIANGLES[instance as usize];
    let triangle = match column % 2 {
        0 => triangles.find(|&triangle| depth(triangle) > z),
        _ => triangles.rfind(|&triangle| depth(triangle) < z),
    }?;
    Some((instance, triangle, (depth(triangle) - z).abs()))
}

#[track_caller]
fn check(hits: &[Hit]) {
    let [columns, rows] = RAYS.grid;
    let places = (0..rows).flat_map(|row| (0..columns).map(move |column| (column, row)));
    let mut found = [0; TRIANGLES.len()];
    assert_eq!(hits.len(), (columns * rows) as usize);
    for ((column, row), hit) in places.zip(hits) {
        let Some((instance, triangle, distance)) = expected(column, row) else {
            assert_eq!(*hit, [MISS; 4], "column {column}, row {row}");
            continue;
        };
        assert_eq!(hit[..3], [100 + instance, instance, triangle], "column {column}, row {row}");
        let measured = f32::from_bits(hit[3]);
        assert!((measured - distance).abs() < 1e-4, "{measured}, {distance}: column {column}, row {row}");
        found[instance as usize] += 1;
    }
    // Of the first instance only its one triangle, by the rays that go against z.
    assert!(found.iter().all(|&count| count > 0), "{found:?}");
}

/// Rays have the same hits before and after compaction, when the original structures are destroyed.
#[test]
fn rays_hit_built_and_compacted_structures() {
    let Some((vulkan, scene)) = scene() else { return };
    let gpu = scene.gpu.clone();
    if !gpu.device().optional_features().contains(OptionalFeatures::RAY_QUERIES) {
        println!("no ray is traced: the device has no ray queries");
        drop(gpu);
        return end(vulkan, scene);
    }
    let tracer = Tracer::new(&gpu, &RAYS);
    let rocks: Vec<AccelerationStructure<Device>> = TRIANGLES.map(|count| scene.rock(count)).into();
    let mut recording = record(&gpu, "build");
    scene.read_vertices(&mut recording);
    recording.use_structures(&rocks).unwrap();
    for (rock, count) in rocks.iter().zip(TRIANGLES) {
        scene.build_rock(&mut recording, rock, count);
    }
    let mut tickets = Vec::new();
    recording.query_compacted_sizes(&rocks, &mut tickets).unwrap();
    let world = scene.world(&mut recording, &rocks.iter().collect::<Vec<_>>());
    recording.submit().unwrap();
    let hits = tracer.trace(&world, &rocks);
    check(&hits);

    let sizes: Vec<_> = tickets.iter().map(|ticket| ticket.wait(LONG).unwrap()).collect();
    let mut small = Vec::new();
    let mut recording = record(&gpu, "compact");
    recording.compact_all(rocks.iter().zip(sizes), &mut small).unwrap();
    drop((rocks, world, tickets));
    let world = scene.world(&mut recording, &small.iter().collect::<Vec<_>>());
    recording.submit().unwrap();
    gpu.wait(&gpu.submitted(), LONG).unwrap();
    gpu.reclaim().unwrap();
    assert_eq!(tracer.trace(&world, &small), hits);
    drop((small, world, tracer, gpu));
    end(vulkan, scene);
}
