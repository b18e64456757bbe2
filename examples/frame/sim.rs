//! The simulated device's part of a frame: reads through descriptors, with all checks.

use tenure::sim::{DescriptorAt, Device, List, Profile};
use tenure::{Bind, BufferViewDesc, Commands, Error, Gpu, Scratch, State, View};
use voxel_world::Result;

use crate::load;
use crate::options::Options;
use crate::painter::{Constants, DRAWS_A_TABLE, Painter, Prepared, Table};
use crate::scene::{Scene, WORDS};

/// Draws on the simulated device. Its tables hold the meshes, and behind them the constants of each
/// draw.
struct SimPainter;

impl Painter for SimPainter {
    type Device = Device;

    fn mesh_view() -> BufferViewDesc {
        BufferViewDesc::raw()
    }

    fn new(_: &Scene<Device>) -> Result<Self> {
        Ok(Self)
    }

    fn begin(&self, _: &Scene<Device>, commands: &mut Commands<Device>) -> std::result::Result<(), Error> {
        commands.set_descriptor_heaps()
    }

    fn prepare<'r>(
        &self,
        scratch: Scratch<'r, Device>,
        views: [&View<Device>; 4],
        constants: &[Constants; DRAWS_A_TABLE],
    ) -> std::result::Result<Prepared<'r, Device>, Error> {
        let constants = Prepared::push(scratch, constants)?;
        let mut binds = [Bind::from(views[0]); 4 + DRAWS_A_TABLE];
        let all = views.map(Bind::from).into_iter().chain(constants.map(Bind::from));
        binds.iter_mut().zip(all).for_each(|(place, bind)| *place = bind);
        let table = Table::Range(scratch.descriptors(&binds)?);
        Ok(Prepared { table, constants, bound: [None; DRAWS_A_TABLE] })
    }

    fn draw(&self, scene: &Scene<Device>, list: &List, first_draw: usize, prepared: &Prepared<'_, Device>) {
        let Table::Range(table) = prepared.table else { return };
        let (heap, output) = (table.heap(), &scene.output);
        for (draw, constants) in (0..).zip(4..4 + DRAWS_A_TABLE as u32) {
            let start = output.offset() + ((first_draw + draw) * WORDS * 4) as u64;
            let at = |slot| DescriptorAt::Heap { heap, index: table.first() + slot };
            list.read_descriptor(at(constants), State::VERTEX_OR_CONSTANT, output.raw(), start, 8);
            for mesh in 0..4 {
                let to = start + 8 + u64::from(mesh) * 4;
                list.read_descriptor(at(mesh), State::NON_PIXEL_SHADER, output.raw(), to, 4);
            }
        }
    }
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let device = Device::new(Profile::DISCRETE);
    load::run::<SimPainter>(options, Gpu::new(device.clone(), Options::config())?)?;
    Ok(device.check_clean()?)
}
