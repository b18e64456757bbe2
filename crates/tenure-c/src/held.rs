//! Objects behind handles that the handle does not always own: transient resources, and borrowed resources of graphs and swap
//! chains.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

use tenure_core::device::Device;
use tenure_core::present::SharedImage;
use tenure_core::transient::graph::ResourceId;
use tenure_core::transient::{Resources, Transient, TransientResource};
use tenure_core::{Buffer, Name, Needed, Recording, SwapchainImage, Texture, Used};

use crate::slot::{AnyHandle, Handle, Object};
use crate::types::*;

/// A buffer or texture.
pub(crate) enum ResourceOf<D: Device, R: TransientResource<D>> {
    /// Owned by the handle.
    Own(R),
    /// A transient resource, whose memory the handle owns.
    Transient(Transient<D, R>),
    /// Borrowed by a pass from its graph, with the resources of the pass for views.
    OfPass(Lent<R>, Lent<Resources<'static, D>>, ResourceId),
    /// An image of a swap chain, which owns the texture.
    OfSwapchain { resource: Lent<R>, _owner: Arc<SharedImage<D>> },
}

/// The object behind a `tn_Buffer`.
pub(crate) type BufferOf<D> = ResourceOf<D, Buffer<D>>;
/// The object behind a `tn_Texture`.
pub(crate) type TextureOf<D> = ResourceOf<D, Texture<D>>;

impl<D: Device> BufferOf<D> {
    pub(crate) fn name(&self) -> &Name {
        match self {
            Self::Transient(transient) => transient.name(),
            Self::OfPass(resource, resources, id) => {
                resources.name_of(*id).unwrap_or_else(|| resource.name())
            }
            Self::Own(_) | Self::OfSwapchain { .. } => (**self).name(),
        }
    }
}

impl<D: Device> TextureOf<D> {
    /// The texture of an image, with a reference to the image.
    pub(crate) fn of_image(image: &SwapchainImage<D>) -> Self {
        let resource = Lent(NonNull::from(image.texture()));
        Self::OfSwapchain { resource, _owner: image.shared().clone() }
    }

    pub(crate) fn name(&self) -> &Name {
        match self {
            Self::Transient(transient) => transient.name(),
            Self::OfPass(resource, resources, id) => {
                resources.name_of(*id).unwrap_or_else(|| resource.name())
            }
            Self::Own(_) | Self::OfSwapchain { .. } => (**self).name(),
        }
    }
}

impl<D: Device, R: TransientResource<D>> Deref for ResourceOf<D, R> {
    type Target = R;

    #[inline]
    fn deref(&self) -> &R {
        match self {
            Self::Own(resource) => resource,
            Self::Transient(transient) => transient,
            Self::OfPass(resource, ..) | Self::OfSwapchain { resource, .. } => resource,
        }
    }
}

impl<'a, D: Device> From<&'a BufferOf<D>> for Used<'a, D> {
    fn from(buffer: &'a BufferOf<D>) -> Self {
        Self::from(&**buffer)
    }
}

impl<'a, D: Device> From<&'a TextureOf<D>> for Used<'a, D> {
    fn from(texture: &'a TextureOf<D>) -> Self {
        Self::from(&**texture)
    }
}

impl<'a, D: Device> From<&'a BufferOf<D>> for Needed<'a, D> {
    fn from(buffer: &'a BufferOf<D>) -> Self {
        Self::from(&**buffer)
    }
}

impl<'a, D: Device> From<&'a TextureOf<D>> for Needed<'a, D> {
    fn from(texture: &'a TextureOf<D>) -> Self {
        Self::from(&**texture)
    }
}

/// The object behind a `tn_Recording`.
#[expect(clippy::large_enum_variant, reason = "nearly all are the large one, and slots have room for it")]
pub(crate) enum RecordingOf<D: Device> {
    /// Owned by the handle.
    Own(Recording<D>),
    /// Borrowed by a pass from its graph.
    OfPass(LentMut<Recording<D>>),
}

impl<D: Device> RecordingOf<D> {
    /// The recording, which fails for one that a graph submits.
    pub(crate) fn into_own(self) -> Result<Recording<D>, Failure> {
        match self {
            Self::Own(recording) => Ok(recording),
            Self::OfPass(_) => Err(of_graph()),
        }
    }

    /// As [`into_own`](Self::into_own).
    pub(crate) fn check_own(&self) -> Result<(), Failure> {
        if let Self::Own(_) = self { Ok(()) } else { Err(of_graph()) }
    }
}

#[cold]
fn of_graph() -> Failure {
    let text = "the recording of a pass is submitted by tn_frame_execute, not by its tn_PassFn";
    Failure::new(TN_ERROR_CALLBACK, text)
}

impl<D: Device> Deref for RecordingOf<D> {
    type Target = Recording<D>;

    #[inline]
    fn deref(&self) -> &Recording<D> {
        match self {
            Self::Own(recording) => recording,
            Self::OfPass(recording) => recording,
        }
    }
}

impl<D: Device> DerefMut for RecordingOf<D> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Recording<D> {
        match self {
            Self::Own(recording) => recording,
            Self::OfPass(recording) => recording,
        }
    }
}

/// A shared borrow without a lifetime, in an object behind a handle of [`Loans`], or beside the owner.
pub(crate) struct Lent<T>(NonNull<T>);

// SAFETY: as `&T`.
unsafe impl<T: Sync> Send for Lent<T> {}
// SAFETY: as `&T`.
unsafe impl<T: Sync> Sync for Lent<T> {}

impl<T> Deref for Lent<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the creator guarantees that the borrow is valid. The header requires that no other thread uses a handle of a
        // pass after its callback returns.
        unsafe { self.0.as_ref() }
    }
}

/// A mutable borrow without a lifetime, in an object behind a handle of [`Loans`].
pub(crate) struct LentMut<T>(NonNull<T>);

// SAFETY: as `&mut T`.
unsafe impl<T: Send> Send for LentMut<T> {}
// SAFETY: as `&mut T`.
unsafe impl<T: Sync> Sync for LentMut<T> {}

impl<T> Deref for LentMut<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the creator guarantees that the borrow is valid, and that nothing else uses the value.
        unsafe { self.0.as_ref() }
    }
}

impl<T> DerefMut for LentMut<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`.
        unsafe { self.0.as_mut() }
    }
}

/// Handles that are released when this is dropped, unless the program has already released them.
#[derive(Default)]
pub(crate) struct Loans(Vec<(AnyHandle, fn(AnyHandle))>);

impl Loans {
    /// Creates a handle of an object.
    ///
    /// # Errors
    /// `TN_ERROR_HANDLE` if all slots are in use.
    pub(crate) fn lend<T: Object>(&mut self, object: T) -> Result<Handle<T>, Failure> {
        let handle = T::slots().reserve()?.fill(object);
        // SAFETY: the loans end when the calls of the pass are over.
        self.0.push((handle.into(), |handle| unsafe { handle.of::<T>().end_loan() }));
        Ok(handle)
    }
}

impl Drop for Loans {
    fn drop(&mut self) {
        for (handle, end) in self.0.drain(..) {
            end(handle);
        }
    }
}

/// A recording borrowed by a pass.
///
/// # Safety
/// The result must be dropped before the borrow ends, and nothing else may use the recording until then.
pub(crate) unsafe fn lent_recording<D: Device>(recording: &mut Recording<D>) -> RecordingOf<D> {
    RecordingOf::OfPass(LentMut(NonNull::from(recording)))
}

/// A texture borrowed by a pass.
///
/// # Safety
/// The result must be dropped before the borrow ends.
///
/// # Errors
/// `TN_ERROR_TRANSIENT` unless the pass has declared it as a texture.
pub(crate) unsafe fn lent_texture<D: Device>(
    resources: &Resources<'_, D>,
    id: ResourceId,
) -> Result<TextureOf<D>, Failure> {
    let texture = Lent(NonNull::from(resources.texture(id)?));
    Ok(ResourceOf::OfPass(texture, Lent(NonNull::from(resources).cast()), id))
}

/// A buffer borrowed by a pass.
///
/// # Safety
/// As [`lent_texture`].
///
/// # Errors
/// `TN_ERROR_TRANSIENT` unless the pass has declared it as a buffer.
pub(crate) unsafe fn lent_buffer<D: Device>(
    resources: &Resources<'_, D>,
    id: ResourceId,
) -> Result<BufferOf<D>, Failure> {
    let buffer = Lent(NonNull::from(resources.buffer(id)?));
    Ok(ResourceOf::OfPass(buffer, Lent(NonNull::from(resources).cast()), id))
}
