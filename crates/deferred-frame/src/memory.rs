//! The memory of the frame's resources.

use tenure::device::Device;
use tenure::{
    Buffer, Error, Frame, Gpu, Queue, Recording, Resources, State, SyncPoint, Texture, TransientBuffer,
    TransientDesc, TransientRule, TransientTexture,
};

use crate::DeferredFrame;
use crate::perform::{Thing, use_all};
use crate::script::Step;

/// How resources share memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// As the plan of the graph says.
    Planned,
    /// Pass by pass: acquired by the first that uses them, dropped after the last.
    Online,
    /// Not at all: created once, and there until the end.
    Apart,
}

/// Where the frame's resources live.
pub(crate) enum Memory<D: Device> {
    /// In the graph's plan.
    Graph,
    /// Where passes acquire them.
    Online(Vec<Option<Lease<D>>>),
    /// Without sharing: each resource has its own memory.
    Apart(Vec<Lasting<D>>),
}

/// A resource while passes use it.
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

    /// Records and submits all passes, those that follow each other on a queue together.
    pub(crate) fn execute(
        &mut self,
        frame: &Frame<'_, D>,
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

    /// Brings what a pass uses into the states that it declared.
    fn enter(&self, step: &Step, recording: &mut Recording<D>) -> Result<(), Error> {
        let (commands, _) = recording.split();
        for (resource, state) in &step.states {
            use_all(commands, self.find(*resource)?, *state)?;
        }
        commands.barriers();
        Ok(())
    }

    /// Leaves what is acquired on queues without graphics in a state that those know: with the legacy states
    /// of Direct3D 12 the next frame cannot take it from another one, and would have to make it anew.
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
    /// A resource that the pass at hand declared.
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
