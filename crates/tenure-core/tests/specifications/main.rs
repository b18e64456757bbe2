//! Random programs on every profile of the simulated device, judged by the specifications: the commands that
//! reach the device have no hazard, and the simulated device and an independent model agree on them, also when
//! a barrier is lost or names another state.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on may panic")]

mod alternation;
mod model;
#[path = "../support/random.rs"]
mod random;

use tenure_core::device::{Api, StateModel, prelude::*};
use tenure_core::{
    Buffer, BufferDesc, Config, Format, Gpu, Queue, QueueId, Recording, State, Subresource, Texture,
    TextureDesc, Usage,
};
use tenure_sim::{
    BarrierChange, CallKind, Checks, Device, DeviceConfig, Fault, FaultKind, Hazard, Lag, Profile,
};

use model::{Model, Verdict};
use random::Random;

/// The number of uses per profile, and per world.
const USES: usize = 50_000;
const USES_OF_A_WORLD: usize = 500;

/// The number of worlds with one changed barrier.
const CHANGED_WORLDS: u64 = 100;

const COPIES: Usage = Usage::COPY_SRC.union(Usage::COPY_DST);

enum Object {
    Texture(Texture<Device>),
    Buffer(Buffer<Device>),
}

impl Object {
    fn usage(&self) -> Usage {
        match self {
            Self::Texture(texture) => texture.info().usage,
            Self::Buffer(buffer) => buffer.usage(),
        }
    }

    fn require(&self, recording: &mut Recording<Device>, part: Subresource, state: State) {
        match self {
            Self::Texture(texture) => recording.use_resource(texture, part, state),
            Self::Buffer(buffer) => recording.use_resource(buffer, Subresource::All, state),
        }
        .unwrap();
    }

    fn access(&self, recording: &mut Recording<Device>, part: Subresource, state: State) {
        match self {
            Self::Texture(texture) => recording.raw().use_texture(texture.raw(), part, state),
            Self::Buffer(buffer) => {
                recording.raw().use_buffer(buffer.raw(), buffer.offset(), buffer.size(), state);
            }
        }
    }
}

fn is_copied_from(state: State) -> bool {
    state.intersects(State::COPY_SRC | State::RESOLVE_SRC)
}

/// A device with resources that several recordings share.
struct World {
    device: Device,
    objects: Vec<Object>,
    gpu: Gpu<Device>,
    model: Model,
    random: Random,
    open: Vec<Recording<Device>>,
}

/// The result of a submission.
struct Found {
    model: Verdict,
    device: Vec<Hazard>,
}

impl World {
    fn new(profile: Profile, seed: u64) -> Self {
        let options =
            DeviceConfig::new(profile).lag(Lag::None).checks(Checks::STATES | Checks::RACES).journal(true);
        let device = Device::with_config(options);
        let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
        let mut model = Model::new(device.properties());
        let shaders = Usage::SHADER_READ | COPIES;
        let texture = |format, usage, mips| {
            Object::Texture(gpu.create_texture(&TextureDesc::d2(16, 16, format, usage).mips(mips)).unwrap())
        };
        let objects = vec![
            texture(Format::Rgba8Unorm, shaders | Usage::RENDER_TARGET | Usage::UNORDERED_ACCESS, 3),
            texture(Format::Rgba8Unorm, shaders | Usage::RENDER_TARGET, 1),
            texture(Format::D32Float, shaders | Usage::DEPTH_STENCIL, 2),
            Object::Buffer(gpu.create_buffer(&BufferDesc::new(1 << 20, Usage::READ_ONLY | COPIES)).unwrap()),
            Object::Buffer(
                gpu.create_buffer(&BufferDesc::new(1 << 20, shaders | Usage::UNORDERED_ACCESS)).unwrap(),
            ),
        ];
        for object in &objects {
            match object {
                Object::Texture(texture) => {
                    model.add(texture.raw().number(), true, texture.info().subresources());
                }
                Object::Buffer(buffer) => model.add(buffer.raw().number(), false, 1),
            }
        }
        Self { device, objects, gpu, model, random: Random::new(seed), open: Vec::new() }
    }

    /// Records one command in one of the open recordings; returns the number of resources that it uses.
    fn record(&mut self) -> usize {
        if self.open.len() < 4 && (self.open.is_empty() || self.random.percent(20)) {
            let queues = self.device.properties().queues.len();
            let queue = QueueId(u8::try_from(self.random.below(queues)).unwrap());
            self.open.push(self.gpu.record(Queue::Id(queue), "random").unwrap());
        }
        let index = self.random.below(self.open.len());
        let first = self.random.below(self.objects.len());
        let count = 1 + self.random.below(2);
        let uses: Vec<_> =
            (0..count).filter_map(|next| self.choose(index, (first + next) % self.objects.len())).collect();
        let recording = &mut self.open[index];
        for (object, part, state) in &uses {
            self.objects[*object].require(recording, *part, *state);
        }
        recording.barriers();
        // `COMMON` is not a use.
        for (object, part, state) in uses.iter().filter(|(.., state)| !state.is_empty()) {
            self.objects[*object].access(recording, *part, *state);
        }
        uses.len()
    }

    /// A use of a resource that a recording may make, if there is one.
    fn choose(&mut self, recording: usize, object: usize) -> Option<(usize, Subresource, State)> {
        let random = &mut self.random;
        let properties = self.device.properties();
        let kind = properties.queues[self.open[recording].queue().index()].kind;
        let found = &self.objects[object];
        let part = match found {
            Object::Texture(texture) if random.percent(50) => {
                Subresource::One(u32::try_from(random.below(texture.info().subresources() as usize)).unwrap())
            }
            _ => Subresource::All,
        };
        if properties.state_model == StateModel::Promotion && random.percent(3) {
            return Some((object, part, State::COMMON));
        }
        let allowed = State::allowed_for(found.usage()) & State::allowed_on(kind);
        let writes: Vec<State> = (allowed & State::WRITES).iter().collect();
        let reads: Vec<State> = (allowed - State::WRITES).iter().collect();
        if !writes.is_empty() && (reads.is_empty() || random.percent(35)) {
            return Some((object, part, writes[random.below(writes.len())]));
        }
        let mut state = *reads.get(random.below(reads.len().max(1)))?;
        if random.percent(25) {
            let other = reads[random.below(reads.len())];
            let is_image = properties.api == Api::Vulkan && matches!(found, Object::Texture(_));
            // An image has one layout at a time, and those of copies and of shaders differ.
            if !is_image || is_copied_from(state) == is_copied_from(other) {
                state |= other;
            }
        }
        Some((object, part, state))
    }

    /// Submits one of the open recordings, not the oldest first; some are refused.
    fn submit(&mut self, may_be_refused: bool) -> Found {
        let recording = self.open.swap_remove(self.random.below(self.open.len()));
        let is_refused = may_be_refused && self.random.percent(5);
        if is_refused {
            let nth = 1 + self.random.below(3) as u64;
            self.device.faults().inject(Fault::nth(nth, FaultKind::OutOfHostMemory).of(CallKind::Submit));
        }
        let submitted = recording.submit();
        assert!(submitted.is_ok() || is_refused, "{:?}", submitted.err());
        if is_refused {
            self.device.faults().clear();
        }
        Found { model: self.model.judge(&self.device.take_journal()), device: self.device.take_hazards() }
    }
}

/// Runs worlds as tenure makes them.
fn run(profile: Profile) {
    let (mut uses, mut seed) = (0, 0);
    while uses < USES {
        let mut world = World::new(profile, seed);
        let end = uses + USES_OF_A_WORLD;
        while uses < end {
            uses += world.record();
            if world.random.percent(15) {
                let Found { model, device } = world.submit(true);
                assert_eq!(model, Ok(()), "{} seed {seed}: {device:?}", profile.name());
                assert!(device.is_empty(), "{} seed {seed}: {}", profile.name(), device[0]);
            }
        }
        seed += 1;
    }
}

/// Runs worlds with one changed barrier each, until the change is found.
fn run_changed(profile: Profile) {
    let mut found = 0;
    for seed in 0..CHANGED_WORLDS {
        let mut world = World::new(profile, seed);
        let states = [State::COPY_SRC, State::COPY_DST];
        let state = states[world.random.below(2)];
        let change = match world.random.below(3) {
            0 => BarrierChange::Before(state),
            1 => BarrierChange::After(state),
            _ => BarrierChange::Lost,
        };
        world.device.faults().change_barrier(1 + world.random.below(40) as u64, change);
        for _ in 0..200 {
            world.record();
            if !world.random.percent(15) {
                continue;
            }
            let Found { model, device } = world.submit(false);
            assert_eq!(
                model.is_err(),
                !device.is_empty(),
                "{} seed {seed}, {change:?}: the model says {model:?}, the device {:?}",
                profile.name(),
                device.first().map(ToString::to_string)
            );
            if model.is_err() {
                found += 1;
                break;
            }
        }
    }
    assert!(found * 2 > CHANGED_WORLDS, "{}: {found} of {CHANGED_WORLDS}", profile.name());
}

macro_rules! profiles {
    ($($name:ident: $profile:ident,)*) => {$(
        mod $name {
            #[test]
            fn legal_programs_have_no_hazard() {
                super::run(tenure_sim::Profile::$profile);
            }

            #[test]
            fn a_wrong_barrier_is_found_by_both_or_by_neither() {
                super::run_changed(tenure_sim::Profile::$profile);
            }
        }
    )*
        #[test]
        fn every_profile_is_here() {
            assert_eq!(Profile::ALL, [$(Profile::$profile),*]);
        }
    };
}

profiles! {
    d3d12_tier1: D3D12_TIER1,
    d3d12_tier2: D3D12_TIER2,
    d3d12_rebar: D3D12_REBAR,
    d3d12_uma: D3D12_UMA,
    d3d12_enhanced: D3D12_ENHANCED,
    vulkan_nvidia: VULKAN_NVIDIA,
    vulkan_amd_small_bar: VULKAN_AMD_SMALL_BAR,
    vulkan_intel: VULKAN_INTEL,
    vulkan_mobile: VULKAN_MOBILE,
    vulkan_lavapipe: VULKAN_LAVAPIPE,
}
