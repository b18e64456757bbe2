//! The scene's file: glTF, with all numbers in one binary file that becomes one buffer as it is.

use glam::{Mat4, Quat, Vec3};
use serde_json::Value;
use voxel_world::Result;

/// The vertices and indices of all meshes.
pub(crate) const GEOMETRY: &[u8] = include_bytes!("scene.bin");

/// A mesh somewhere in the world.
pub(crate) struct Object {
    /// From the mesh to the world.
    pub(crate) model: Mat4,
    pub(crate) material: usize,
    /// The offset of the vertices in the geometry, and their number. Each has position, normal and texture coordinates.
    pub(crate) vertices: (u64, u32),
    /// The offset of the indices, of 16 bits, and their number.
    pub(crate) indices: (u64, u32),
}

/// The texture of a material: squares of its color, with joints between them.
pub(crate) struct Pattern {
    pub(crate) name: String,
    pub(crate) color: Vec3,
    pub(crate) joint: Vec3,
    /// Squares from side to side.
    pub(crate) squares: u32,
}

/// Reads the file. `serde_json` has `Null` for what a file lacks.
pub(crate) fn read() -> Result<(Vec<Object>, Vec<Pattern>)> {
    let file: Value = serde_json::from_str(include_str!("scene.gltf"))?;
    let number = |value: &Value| {
        value.as_u64().and_then(|number| u32::try_from(number).ok()).ok_or("scene.gltf: no number")
    };
    let all = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let floats = |value: &Value| {
        all(value).iter().filter_map(Value::as_f64).map(|float| float as f32).collect::<Vec<_>>()
    };
    let vector = |value: &Value, default| floats(value).get(..3).map_or(default, Vec3::from_slice);
    // The offset of an accessor's elements, and their count.
    let accessor = |value: &Value| -> Result<(u64, u32)> {
        let accessor = &file["accessors"][number(value)? as usize];
        let view = &file["bufferViews"][number(&accessor["bufferView"])? as usize];
        Ok((number(&view["byteOffset"])?.into(), number(&accessor["count"])?))
    };
    let mut objects = Vec::new();
    for node in all(&file["nodes"]) {
        let rotation = floats(&node["rotation"]).get(..4).map_or(Quat::IDENTITY, Quat::from_slice);
        let (scale, place) = (vector(&node["scale"], Vec3::ONE), vector(&node["translation"], Vec3::ZERO));
        for primitive in all(&file["meshes"][number(&node["mesh"])? as usize]["primitives"]) {
            objects.push(Object {
                model: Mat4::from_scale_rotation_translation(scale, rotation, place),
                material: number(&primitive["material"])? as usize,
                // The others are beside the positions.
                vertices: accessor(&primitive["attributes"]["POSITION"])?,
                indices: accessor(&primitive["indices"])?,
            });
        }
    }
    let pattern = |material: &Value| -> Result<Pattern> {
        Ok(Pattern {
            name: material["name"].as_str().unwrap_or_default().to_owned(),
            color: vector(&material["pbrMetallicRoughness"]["baseColorFactor"], Vec3::ONE),
            joint: vector(&material["extras"]["joint"], Vec3::ZERO),
            squares: number(&material["extras"]["squares"])?,
        })
    };
    Ok((objects, all(&file["materials"]).iter().map(pattern).collect::<Result<_>>()?))
}
