//! Layouts that a program made itself.

use crate::harness::PERMIT;
use conformance::{Look, Through};
use tenure_core::device::{SetWrite, prelude::*};
use tenure_core::{BindingKind, SetBinding};
use tenure_vulkan::ash::vk;
use tenure_vulkan::{Ownership, SetLayout};

use super::room::{Room, words};
use crate::harness::{Vulkan, validated};

/// Seen by compute shaders alone.
fn made(room: &Room) -> vk::DescriptorSetLayout {
    let binding = vk::DescriptorSetLayoutBinding::default()
        .binding(3)
        .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
        .descriptor_count(2)
        .stage_flags(vk::ShaderStageFlags::COMPUTE);
    let bindings = [binding];
    let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
    // SAFETY: the device is alive; the tests destroy it.
    unsafe { room.device.raw().create_descriptor_set_layout(&info, None) }.unwrap()
}

#[test]
fn a_programs_layout_is_adopted() {
    let room = Room::new(Vulkan::new(validated()));
    room.furnish();
    let bindings = [SetBinding::new(3, BindingKind::Buffer).count(2)];
    for ownership in [Ownership::Tenure, Ownership::Caller] {
        let raw = made(&room);
        // SAFETY: it is just made, with just this binding, and destroyed at the end.
        let layout = unsafe { SetLayout::from_raw(&room.device, raw, &bindings, ownership) }.unwrap();
        assert_eq!((layout.raw(), layout.bindings()), (raw, &bindings[..]));
        let block = room.device.create_set_pool(PERMIT, &layout, 2).unwrap();
        let write = |element| SetWrite { binding: 3, element, source: room.source(1 + element) };
        room.device.write_set(PERMIT, &block, 1, &[write(0), write(1)]).unwrap();
        let through = Through::Set { layout: &layout, block: &block, set: 1, binding: 3, element: 1 };
        assert_eq!(room.look(Look::Buffer, through), words(2));
        room.device.destroy_set_pool(PERMIT, block);
        room.device.destroy_set_layout(PERMIT, layout);
        if ownership == Ownership::Caller {
            // SAFETY: tenure is done with it.
            unsafe { room.device.raw().destroy_descriptor_set_layout(raw, None) };
        }
    }
    room.end();
}

/// Bindings that no layout has are refused, and the layout stays the caller's.
#[test]
fn bad_bindings_are_refused() {
    let room = Room::new(Vulkan::new(validated()));
    let raw = made(&room);
    let of = |binding, count| SetBinding { binding, kind: BindingKind::Buffer, count };
    for bindings in [vec![of(3, 1), of(3, 1)], vec![of(3, 0)]] {
        // SAFETY: it is refused before it is used.
        let refused = unsafe { SetLayout::from_raw(&room.device, raw, &bindings, Ownership::Tenure) };
        assert!(refused.is_err());
    }
    // SAFETY: nobody else has it.
    unsafe { room.device.raw().destroy_descriptor_set_layout(raw, None) };
    room.end();
}
