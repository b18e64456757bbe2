//! The memory of the frame's resources.

use tenure::device::Device;
use tenure::{
    Buffer, Error, Frame, Gpu, Queue, Recording, State, SyncPoint, Texture,
    error::TransientRule,
    transient::{Resources, TransientBuffer, TransientDesc, TransientTexture},
};

use crate::DeferredFrame;
use crate::perform::{Thing, use_all};
use crate::script::Step;

/// The ways in which resources share memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// By the plan of the graph.
    Planned,
    /// Pass by pass: the first pass that uses a resource acquires it, and it is dropped after the last.
    Online,
    /// Not at all: each resource is created once and lives as long as the renderer.
    Apart,
}

/// The frame's resources, by how they share memory.
pub(crate) enum Memory<D: Device> {
    /// The graph acquires them.
    Graph,
    /// Passes acquire them; `None` outside the passes that use a resource.
    Online(Vec<Option<Lease<D>>>),
    /// Each resource has memory of its own.
    Apart(Vec<Lasting<D>>),
}

/// A transient resource that a pass has acquired.
pub(crate) enum Lease<D: Device> {
    Texture(TransientTexture<D>),
    Buffer(TransientBuffer<D>),
}

/// A resource that exists for longer than a frame.
pub(crate) enum Lasting<D: Device> {
    Texture(Texture<D>),
    Buffer(Buffer<D>),
}

impl<D: Device> Memory<D> {
    pub(crate) fn new(gpu: &Gpu<D>, frame: &DeferredFrame, sharing: Sharing) -> Result<Self, Error> {
        match sharing {
            Sharing::Planned => Ok(Self::Graph),
            Sharing::Online => Ok(Self::Online(frame.resources().iter().map(|_| None).collect())),
            Sharing::Apart => {
                let create = |(_, desc): &(_, TransientDesc)| match desc {
                    TransientDesc::Texture(desc) => gpu.create_texture(desc).map(Lasting::Texture),
                    TransientDesc::Buffer(desc) => {
                        gpu.create_buffer(&desc.clone().own_resource()).map(Lasting::Buffer)
                    }
                };
                Ok(Self::Apart(frame.resources().iter().map(create).collect::<Result<_, _>>()?))
            }
        }
    }

    /// Records and submits all passes. Consecutive passes on one queue share a recording.
    pub(crate) fn execute(
        &mut self,
        frame: &Frame<D>,
        deferred: &DeferredFrame,
        steps: &[Step],
        mut perform: impl FnMut(&Step, &mut Recording<D>, &Self) -> Result<(), Error>,
    ) -> Result<SyncPoint, Error> {
        let mut done = SyncPoint::NONE;
        for steps in steps.chunk_by(|one, other| one.queue == other.queue) {
            let Some(first) = steps.first() else { continue };
            let mut recording = frame.record(Queue::Id(first.queue), first.name)?;
            for step in steps {
                self.acquire(step, &recording, deferred)?;
                self.enter(step, &mut recording)?;
                perform(step, &mut recording, self)?;
                self.leave(step, &mut recording)?;
                self.release(step);
            }
            done.merge(&frame.submit(recording)?);
        }
        Ok(done)
    }

    /// Requests the states that a pass declared for its resources.
    fn enter(&self, step: &Step, recording: &mut Recording<D>) -> Result<(), Error> {
        let (commands, _) = recording.split();
        for (resource, state) in &step.states {
            use_all(commands, self.find(*resource)?, *state)?;
        }
        commands.barriers();
        Ok(())
    }

    /// Puts textures into the state `COMMON` after their last pass, if another queue was the first to use them.
    /// With the legacy states of Direct3D 12, a compute or copy queue cannot transition a texture from a state
    /// that only graphics queues know: the next frame would have to create a new texture.
    fn leave(&self, step: &Step, recording: &mut Recording<D>) -> Result<(), Error> {
        if matches!(self, Self::Online(_)) {
            let (commands, _) = recording.split();
            for resource in &step.left {
                use_all(commands, self.find(*resource)?, State::COMMON)?;
            }
            commands.barriers();
        }
        Ok(())
    }

    fn acquire(
        &mut self,
        step: &Step,
        recording: &Recording<D>,
        deferred: &DeferredFrame,
    ) -> Result<(), Error> {
        let Self::Online(leases) = self else { return Ok(()) };
        for resource in &step.first {
            let (Some((_, desc)), Some(lease)) =
                (deferred.resources().get(*resource), leases.get_mut(*resource))
            else {
                continue;
            };
            *lease = Some(match desc {
                TransientDesc::Texture(desc) => Lease::Texture(recording.transient_texture(desc)?),
                TransientDesc::Buffer(desc) => Lease::Buffer(recording.transient_buffer(desc)?),
            });
        }
        Ok(())
    }

    fn release(&mut self, step: &Step) {
        if let Self::Online(leases) = self {
            for resource in &step.last {
                if let Some(lease) = leases.get_mut(*resource) {
                    *lease = None;
                }
            }
        }
    }

    pub(crate) fn find(&self, resource: usize) -> Result<Thing<'_, D>, Error> {
        let found = match self {
            Self::Graph => None,
            Self::Online(leases) => leases.get(resource).and_then(Option::as_ref).map(|lease| match lease {
                Lease::Texture(texture) => Thing::Texture(texture),
                Lease::Buffer(buffer) => Thing::Buffer(buffer),
            }),
            Self::Apart(lasting) => lasting.get(resource).map(|lasting| match lasting {
                Lasting::Texture(texture) => Thing::Texture(texture),
                Lasting::Buffer(buffer) => Thing::Buffer(buffer),
            }),
        };
        let rule = TransientRule::NotDeclared;
        found.ok_or(Error::Transient { name: "resource of the frame".into(), rule })
    }
}

impl DeferredFrame {
    /// A resource that the current pass declared.
    pub(crate) fn find<'t, D: Device>(
        &self,
        resource: usize,
        resources: &'t Resources<'_, D>,
    ) -> Result<Thing<'t, D>, Error> {
        let rule = TransientRule::NotDeclared;
        let missing = || Error::Transient { name: "resource of the frame".into(), rule };
        let (id, desc) = self.resources().get(resource).ok_or_else(missing)?;
        match desc {
            TransientDesc::Texture(_) => resources.texture(*id).map(Thing::Texture),
            TransientDesc::Buffer(_) => resources.buffer(*id).map(Thing::Buffer),
        }
    }
}
