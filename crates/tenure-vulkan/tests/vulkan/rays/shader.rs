//! A compute shader that traces one ray for each of its invocations, by a ray query.

use rspirv::dr::{Builder, Operand};
use rspirv::spirv::{
    BuiltIn, Capability, Decoration, LoopControl, RayFlags, SelectionControl, StorageClass, Word,
};

use super::tracer::{HITS, MISS, WORLD};
use crate::spirv::{assemble_compute, begin_main, bind, builder};

/// Where rays begin. Each coordinate is a number times a scale, and an offset.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rays {
    /// Columns and rows.
    pub(super) grid: [u32; 2],
    /// Scale and offset of the column.
    pub(super) x: [f32; 2],
    /// Scale and offset of the row.
    pub(super) y: [f32; 2],
    /// Scale and offset of the row.
    pub(super) z: [f32; 2],
}

/// The committed intersection of a query, and the kind of intersection that is a triangle: both have this number.
const TRIANGLE: u32 = 1;
const FARTHEST: f32 = 100.0;

/// The ray of an even column goes along z, that of an odd one against it.
pub(super) fn compile(rays: &Rays) -> Vec<u32> {
    let mut shader = Shader::new();
    shader.main = begin_main(&mut shader.b);
    let [column, row] = shader.place();
    let hit = shader.slot(rays.grid[0], column, row);
    let direction = shader.direction(column);
    let [column, row] =
        [column, row].map(|number| shader.b.convert_u_to_f(shader.float, None, number).unwrap());
    let origin = [shader.scaled(column, rays.x), shader.scaled(row, rays.y), shader.scaled(row, rays.z)];
    let origin = shader.b.composite_construct(shader.float3, None, origin).unwrap();
    shader.trace(origin, direction);
    shader.write(hit);
    shader.end()
}

struct Shader {
    b: Builder,
    main: Word,
    bool: Word,
    uint: Word,
    float: Word,
    uint3: Word,
    uint4: Word,
    float3: Word,
    structure: Word,
    id: Word,
    query: Word,
    world: Word,
    hits: Word,
}

impl Shader {
    fn new() -> Self {
        // Ray queries need this version. From it on the entry point has to name all variables.
        let mut b = builder(4);
        b.capability(Capability::RayQueryKHR);
        b.extension("SPV_KHR_ray_query");
        let (bool, uint, float) = (b.type_bool(), b.type_int(32, 0), b.type_float(32, None));
        let (uint3, uint4, float3) =
            (b.type_vector(uint, 3), b.type_vector(uint, 4), b.type_vector(float, 3));
        let structure = b.type_acceleration_structure_khr();
        let variable = |b: &mut Builder, class, kind| {
            let pointer = b.type_pointer(None, class, kind);
            b.variable(pointer, None, class, None)
        };
        let id = variable(&mut b, StorageClass::Input, uint3);
        b.decorate(id, Decoration::BuiltIn, [Operand::BuiltIn(BuiltIn::GlobalInvocationId)]);
        let query = b.type_ray_query_khr();
        let query = variable(&mut b, StorageClass::Private, query);
        let world = variable(&mut b, StorageClass::UniformConstant, structure);
        let array = b.type_runtime_array(uint4);
        b.decorate(array, Decoration::ArrayStride, [Operand::LiteralBit32(16)]);
        let block = b.type_struct([array]);
        b.member_decorate(block, 0, Decoration::Offset, [Operand::LiteralBit32(0)]);
        b.decorate(block, Decoration::Block, []);
        let hits = variable(&mut b, StorageClass::StorageBuffer, block);
        for (variable, binding) in [(world, WORLD), (hits, HITS)] {
            bind(&mut b, variable, 0, binding);
        }
        Self { b, main: 0, bool, uint, float, uint3, uint4, float3, structure, id, query, world, hits }
    }

    fn number(&mut self, value: u32) -> Word {
        self.b.constant_bit32(self.uint, value)
    }

    fn real(&mut self, value: f32) -> Word {
        self.b.constant_bit32(self.float, value.to_bits())
    }

    /// The column and the row.
    fn place(&mut self) -> [Word; 2] {
        let id = self.b.load(self.uint3, None, self.id, None, []).unwrap();
        [0, 1].map(|part| self.b.composite_extract(self.uint, None, id, [part]).unwrap())
    }

    /// The pointer to the output of the ray.
    fn slot(&mut self, columns: u32, column: Word, row: Word) -> Word {
        let (zero, columns) = (self.number(0), self.number(columns));
        let before = self.b.i_mul(self.uint, None, row, columns).unwrap();
        let index = self.b.i_add(self.uint, None, before, column).unwrap();
        let pointer = self.b.type_pointer(None, StorageClass::StorageBuffer, self.uint4);
        self.b.access_chain(pointer, None, self.hits, [zero, index]).unwrap()
    }

    fn direction(&mut self, column: Word) -> Word {
        let (one, bool) = (self.number(1), self.bool);
        let odd = self.b.bitwise_and(self.uint, None, column, one).unwrap();
        let is_odd = self.b.i_equal(bool, None, odd, one).unwrap();
        let (zero, along, against) = (self.real(0.0), self.real(1.0), self.real(-1.0));
        let z = self.b.select(self.float, None, is_odd, against, along).unwrap();
        self.b.composite_construct(self.float3, None, [zero, zero, z]).unwrap()
    }

    fn scaled(&mut self, number: Word, [scale, offset]: [f32; 2]) -> Word {
        let (scale, offset) = (self.real(scale), self.real(offset));
        let scaled = self.b.f_mul(self.float, None, number, scale).unwrap();
        self.b.f_add(self.float, None, scaled, offset).unwrap()
    }

    /// Goes on until the query has no more candidates: all triangles are opaque, and the device commits them.
    fn trace(&mut self, origin: Word, direction: Word) {
        let world = self.b.load(self.structure, None, self.world, None, []).unwrap();
        let (flags, mask) = (self.number(RayFlags::OPAQUE_KHR.bits()), self.number(0xff));
        let (nearest, farthest) = (self.real(0.0), self.real(FARTHEST));
        let (b, query) = (&mut self.b, self.query);
        b.ray_query_initialize_khr(query, world, flags, mask, origin, nearest, direction, farthest).unwrap();
        let [head, check, again, done] = [(); 4].map(|()| b.id());
        b.branch(head).unwrap();
        b.begin_block(Some(head)).unwrap();
        b.loop_merge(done, again, LoopControl::NONE, []).unwrap();
        b.branch(check).unwrap();
        b.begin_block(Some(check)).unwrap();
        let goes_on = b.ray_query_proceed_khr(self.bool, None, query).unwrap();
        b.branch_conditional(goes_on, again, done, []).unwrap();
        b.begin_block(Some(again)).unwrap();
        b.branch(head).unwrap();
        b.begin_block(Some(done)).unwrap();
    }

    /// Writes the custom index, the instance, the triangle and the distance, or that nothing was hit.
    fn write(&mut self, hit: Word) {
        let triangle = self.number(TRIANGLE);
        let miss = self.number(MISS);
        let miss = self.b.constant_composite(self.uint4, [miss; 4]);
        let (b, query, uint) = (&mut self.b, self.query, self.uint);
        let kind = b.ray_query_get_intersection_type_khr(uint, None, query, triangle).unwrap();
        let is_hit = b.i_equal(self.bool, None, kind, triangle).unwrap();
        let [found, missed, done] = [(); 3].map(|()| b.id());
        b.selection_merge(done, SelectionControl::NONE).unwrap();
        b.branch_conditional(is_hit, found, missed, []).unwrap();
        b.begin_block(Some(found)).unwrap();
        let custom =
            b.ray_query_get_intersection_instance_custom_index_khr(uint, None, query, triangle).unwrap();
        let instance = b.ray_query_get_intersection_instance_id_khr(uint, None, query, triangle).unwrap();
        let primitive =
            b.ray_query_get_intersection_primitive_index_khr(uint, None, query, triangle).unwrap();
        let distance = b.ray_query_get_intersection_tkhr(self.float, None, query, triangle).unwrap();
        let distance = b.bitcast(uint, None, distance).unwrap();
        let words = [custom, instance, primitive, distance];
        let words = b.composite_construct(self.uint4, None, words).unwrap();
        b.store(hit, words, None, []).unwrap();
        b.branch(done).unwrap();
        b.begin_block(Some(missed)).unwrap();
        b.store(hit, miss, None, []).unwrap();
        b.branch(done).unwrap();
        b.begin_block(Some(done)).unwrap();
    }

    fn end(self) -> Vec<u32> {
        assemble_compute(self.b, self.main, &[self.id, self.query, self.world, self.hits])
    }
}
