//! Adopted resources: created by the program, or imported by a backend, and then managed by tenure.

use std::fmt;
use std::sync::Arc;

use super::{Buffer, BufferDesc, HandleInner, Labels, Texture, TextureDesc, refuse_read_only};
use crate::api_resource::ApiResource;
use crate::callback::run_caught;
use crate::context::Context;
use crate::device::{
    Allowed, BufferInfo, Device, DeviceError, Mapping, ObjectRef, Permit, ResourceDesc, State,
};
use crate::memory::{AdoptedOwner, Backing, Location};
use crate::permit::OwnPermit as _;
use crate::record::TraceId;
use crate::registry::ObjectKind;
use crate::state::StateError;
use crate::{Error, Name};

/// A resource that was not adopted: the reason, and the unchanged resource.
#[non_exhaustive]
pub struct Rejected<D: Device> {
    /// The reason.
    pub error: Error,
    /// The resource.
    pub object: D::Resource,
}

impl<D: Device> fmt::Debug for Rejected<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rejected").field("error", &self.error).finish_non_exhaustive()
    }
}

impl<D: Device> fmt::Display for Rejected<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not adopted: {}", self.error)
    }
}

impl<D: Device> std::error::Error for Rejected<D> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// A resource to adopt, with its description.
struct Adoption<'a> {
    name: &'a Name,
    resource: ResourceDesc,
    is_mapped: bool,
    /// Whether the program may read its memory through a pointer of its own.
    is_read_by_cpu: bool,
    /// The state in which its last use before the adoption left it.
    state: State,
}

impl Adoption<'_> {
    fn check<D: Device>(&self, context: &Context<D>) -> Result<(), Error> {
        context.check_open()?;
        let checked = match &self.resource {
            ResourceDesc::Buffer(_) => self.resource.validate(),
            // Only images of swap chains are presented, and those are always adopted.
            ResourceDesc::Texture(info) => info.validate(),
        };
        checked.map_err(|source| Error::device(self.name, source))?;
        let allowed = State::allowed_for(self.resource.usage());
        let refuse = |source| Err(Error::State { name: self.name.clone(), source });
        if !self.state.is_valid() {
            return refuse(StateError::InvalidCombination { state: self.state });
        }
        if !allowed.contains(self.state) {
            return refuse(StateError::NotAllowedForUsage { state: self.state, allowed });
        }
        Ok(())
    }

    /// The object with its owner, which is dropped if the object is rejected.
    fn take<D: Device>(
        &self,
        context: &Context<D>,
        object: D::Resource,
        read_only: State,
        owner: Option<AdoptedOwner>,
    ) -> Result<Backing<D>, Rejected<D>> {
        let taken = match refuse_read_only(self.name, read_only, ADOPTED) {
            Ok(()) => self.take_in(context, object),
            Err(error) => Err((error, object)),
        };
        match taken {
            Ok(backing) => Ok(Backing { location: Location::Adopted(owner), ..backing }),
            Err((error, object)) => {
                // Its destructor may panic, and the program must get the object back.
                run_caught("an owner's destructor", || drop(owner));
                Err(Rejected { error, object })
            }
        }
    }

    fn take_in<D: Device>(
        &self,
        context: &Context<D>,
        object: D::Resource,
    ) -> Result<Backing<D>, (Error, D::Resource)> {
        if let Err(error) = self.check(context) {
            return Err((error, object));
        }
        let mapping = match self.is_mapped.then(|| context.device().map(&object)).transpose() {
            Ok(mapping) => mapping,
            Err(source) => return Err((context.refused(self.name, source), object)),
        };
        if let (ResourceDesc::Buffer(info), Some(found)) = (&self.resource, &mapping)
            && found.size() < info.size
        {
            let source = DeviceError::invalid_desc("size", info.size, Allowed::AtMost(found.size()));
            drop(mapping);
            return Err((Error::device(self.name, source), object));
        }
        if !self.name.is_empty() {
            context.device().set_name(Permit::own(), ObjectRef::Resource(&object), self.name.as_str());
        }
        context.pools.objects.note_adopted();
        let mut api_resource = ApiResource::new(
            context.device(),
            object,
            &self.resource,
            mapping,
            Some(self.state),
            (None, None),
        );
        api_resource.is_read_by_cpu |= self.is_read_by_cpu;
        Ok(Backing { api_resource: Arc::new(api_resource), location: Location::Adopted(None) })
    }
}

/// The remedy for an adopted resource whose description is read-only.
const ADOPTED: &str = "it is adopted: call Gpu::make_read_only once it has its content";

impl<D: Device> Buffer<D> {
    pub(crate) fn adopt(
        context: &Arc<Context<D>>,
        object: D::Resource,
        desc: &BufferDesc,
        state: State,
        owner: Option<AdoptedOwner>,
    ) -> Result<Self, Rejected<D>> {
        let resource = ResourceDesc::Buffer(BufferInfo::new(desc.size, desc.usage));
        let (is_mapped, is_read_by_cpu) = (desc.memory.is_mapped(), owner.is_some());
        let adoption = Adoption { name: &desc.name, resource, is_mapped, is_read_by_cpu, state };
        let backing = adoption.take(context, object, desc.read_only, owner)?;
        let inner = HandleInner::new(
            context,
            Labels::of(&desc.name, &desc.tag),
            ObjectKind::Buffer,
            backing,
            desc.size,
            TraceId::default(),
        );
        // The program has the object, too, and may use it in commands.
        inner.note_named();
        Ok(Self::from_parts(inner, desc.usage, desc.memory))
    }
}

impl<D: Device> Texture<D> {
    pub(crate) fn adopt(
        context: &Arc<Context<D>>,
        object: D::Resource,
        desc: &TextureDesc,
        state: State,
        owner: Option<AdoptedOwner>,
    ) -> Result<Self, Rejected<D>> {
        let resource = ResourceDesc::Texture(desc.info.clone());
        let adoption =
            Adoption { name: &desc.name, resource, is_mapped: false, is_read_by_cpu: false, state };
        let backing = adoption.take(context, object, desc.read_only, owner)?;
        let size = desc.info.packed_bytes().unwrap_or(u64::MAX);
        let inner = HandleInner::new(
            context,
            Labels::of(&desc.name, &desc.tag),
            ObjectKind::Texture,
            backing,
            size,
            TraceId::default(),
        );
        // The program has the object, too, and may use it in commands.
        inner.note_named();
        Ok(Self::from_parts(inner, desc.info.clone()))
    }
}
