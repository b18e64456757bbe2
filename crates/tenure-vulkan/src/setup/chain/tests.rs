use super::*;

fn chain(features: &vk::PhysicalDeviceFeatures2<'_>) -> Result<Chain, CreateError> {
    // SAFETY: the structures that the tests link are alive.
    unsafe { Chain::copied(features) }
}

fn on(chain: &Chain, kind: vk::StructureType) -> Vec<&'static str> {
    chain.find(kind).map(|index| chain.links[index].on().collect()).unwrap_or_default()
}

fn names(chain: &Chain) -> Vec<&'static str> {
    chain.links.iter().map(|link| link.structure.name).collect()
}

#[test]
fn a_part_has_its_features_in_the_whole() {
    let parts = known_structures::structures().filter_map(|part| Some((part, whole_of(part.kind)?)));
    let mut count = 0;
    for (part, whole) in parts {
        let whole = known(whole).unwrap();
        assert!(part.features.iter().all(|feature| whole.features.contains(feature)), "{}", part.name);
        count += 1;
    }
    assert_eq!(count, 6 + 13 + 13);
    for (_, whole, feature) in IMPLIED {
        assert!(known(whole).unwrap().features.contains(&feature), "{feature}");
    }
}

/// tenure's features are set in the program's structure: the same one, or a whole version's.
#[test]
fn features_meet_in_one_structure() {
    let mut whole = vk::PhysicalDeviceVulkan12Features::default().sampler_filter_minmax(true);
    let mut same = vk::PhysicalDeviceSynchronization2Features::default();
    let program = vk::PhysicalDeviceFeatures2::default().push_next(&mut whole).push_next(&mut same);
    let mut merged = chain(&program).unwrap();
    let mut timeline = vk::PhysicalDeviceTimelineSemaphoreFeatures::default().timeline_semaphore(true);
    let mut sync = vk::PhysicalDeviceSynchronization2Features::default().synchronization2(true);
    let mut other = vk::PhysicalDeviceMaintenance4Features::default().maintenance4(true);
    let basic = vk::PhysicalDeviceFeatures::default().shader_int64(true);
    let own = vk::PhysicalDeviceFeatures2::default().features(basic);
    let own = own.push_next(&mut timeline).push_next(&mut sync).push_next(&mut other);
    merged.add(&chain(&own).unwrap());
    let expected = [
        "VkPhysicalDeviceFeatures",
        "VkPhysicalDeviceSynchronization2Features",
        "VkPhysicalDeviceVulkan12Features",
        "VkPhysicalDeviceMaintenance4Features",
    ];
    assert_eq!(names(&merged), expected);
    use vk::StructureType as T;
    assert_eq!(on(&merged, T::PHYSICAL_DEVICE_FEATURES_2), ["shader_int64"]);
    let found = on(&merged, T::PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
    assert_eq!(found, ["sampler_filter_minmax", "timeline_semaphore"]);
    assert_eq!(on(&merged, T::PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES), ["synchronization2"]);
    assert_eq!((whole.timeline_semaphore, same.synchronization2), (vk::FALSE, vk::FALSE), "the program's");
}

/// The copies are structures that the API reads.
#[test]
fn a_linked_copy_reads_as_the_structures() {
    let mut whole = vk::PhysicalDeviceVulkan13Features::default().dynamic_rendering(true);
    let mut unknown = vk::BaseInStructure { s_type: vk::StructureType::from_raw(-7), ..Default::default() };
    let mut program = vk::PhysicalDeviceFeatures2::default().push_next(&mut whole);
    program.features.logic_op = vk::TRUE;
    let expected = core::ptr::from_mut(&mut unknown).cast::<c_void>();
    // SAFETY: it is the only other structure in the chain.
    unsafe { (*program.p_next.cast::<vk::BaseOutStructure<'_>>()).p_next = expected.cast() };
    let mut copied = chain(&program).unwrap();
    let head = copied.link().cast::<vk::PhysicalDeviceFeatures2<'_>>();
    // SAFETY: the copies are alive, and of these types.
    unsafe {
        assert_eq!(((*head).s_type, (*head).features.logic_op), (program.s_type, vk::TRUE));
        let next = (*head).p_next.cast::<vk::PhysicalDeviceVulkan13Features<'_>>();
        assert!(next.cast_const() != &raw const whole);
        assert_eq!(((*next).dynamic_rendering, (*next).maintenance4), (vk::TRUE, vk::FALSE));
        assert_eq!((*next).p_next, expected, "not copied, and behind all others");
    }
}

#[test]
fn chains_that_vulkan_forbids_are_refused() {
    let message = |features: &vk::PhysicalDeviceFeatures2<'_>| chain(features).err().unwrap().to_string();
    let mut whole = vk::PhysicalDeviceVulkan12Features::default();
    let mut part = vk::PhysicalDeviceTimelineSemaphoreFeatures::default();
    let both = vk::PhysicalDeviceFeatures2::default().push_next(&mut whole).push_next(&mut part);
    let found = message(&both);
    assert!(
        found.contains("VkPhysicalDeviceVulkan12Features and VkPhysicalDeviceTimelineSemaphore"),
        "{found}"
    );

    let mut twice = [vk::PhysicalDeviceMultiviewFeatures::default(); 2];
    let [one, other] = &mut twice;
    let found = message(&vk::PhysicalDeviceFeatures2::default().push_next(one).push_next(other));
    assert!(found.contains("once") && found.contains("VkPhysicalDeviceMultiviewFeatures"), "{found}");

    let mut multiview = vk::PhysicalDeviceMultiviewFeatures::default();
    let mut unknown = vk::BaseInStructure { s_type: vk::StructureType::from_raw(-7), ..Default::default() };
    unknown.p_next = core::ptr::from_mut(&mut multiview).cast();
    let next = core::ptr::from_mut(&mut unknown).cast();
    let mut features = vk::PhysicalDeviceFeatures2 { p_next: next, ..Default::default() };
    let found = message(&features);
    assert!(found.contains("at the end") && found.contains("VkPhysicalDeviceMultiview"), "{found}");

    let mut endless = vk::BaseOutStructure { s_type: vk::StructureType::from_raw(-7), ..Default::default() };
    let at = &raw mut endless;
    // SAFETY: it is alive, and this is the only pointer to it.
    unsafe { (*at).p_next = at };
    features.p_next = at.cast();
    assert!(message(&features).contains("1025 structures"));
    let info = vk::DeviceCreateInfo { p_next: at.cast(), ..Default::default() };
    // SAFETY: all that it points to is alive.
    let created = unsafe { Chain::of_device(&info) };
    assert!(created.err().unwrap().to_string().contains("1025 structures"));
}

#[test]
fn missing_features_are_named() {
    let wanted = vk::PhysicalDeviceFeatures::default().shader_int64(true).sparse_residency_image2_d(true);
    let offered = vk::PhysicalDeviceFeatures::default().shader_int64(true);
    let of = |features| chain(&vk::PhysicalDeviceFeatures2::default().features(features)).unwrap();
    let missing = of(wanted).missing(&of(offered));
    assert_eq!(missing, Some(("VkPhysicalDeviceFeatures", "sparse_residency_image2_d")));
    assert_eq!(as_specified("sparse_residency_image2_d"), "sparseResidencyImage2D");
    assert_eq!(as_specified("storage_buffer16_bit_access"), "storageBuffer16BitAccess");
    assert_eq!(of(offered).missing(&of(wanted)), None);
}

#[test]
fn extensions_bring_their_features() {
    let mut whole = vk::PhysicalDeviceVulkan12Features::default();
    let program = vk::PhysicalDeviceFeatures2::default().push_next(&mut whole);
    let mut found = chain(&program).unwrap();
    found.add_implied(&[c"VK_EXT_descriptor_indexing".to_owned()]);
    assert_eq!(on(&found, vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_2_FEATURES), ["descriptor_indexing"]);
}

/// Features that are enabled by a version's structure are found in the extensions' structures, and the reverse.
#[test]
fn features_of_a_created_device_are_read() {
    let basic = vk::PhysicalDeviceFeatures::default().shader_int64(true);
    let mut whole =
        vk::PhysicalDeviceVulkan12Features::default().timeline_semaphore(true).runtime_descriptor_array(true);
    let mut group = vk::DeviceGroupDeviceCreateInfo::default();
    let mut rays = vk::PhysicalDeviceRayQueryFeaturesKHR::default().ray_query(true);
    let info = vk::DeviceCreateInfo::default()
        .enabled_features(&basic)
        .push_next(&mut whole)
        .push_next(&mut group)
        .push_next(&mut rays);
    // SAFETY: all that it points to is alive.
    let device = unsafe { Chain::of_device(&info) }.unwrap();
    let mut timeline = vk::PhysicalDeviceTimelineSemaphoreFeatures::default();
    let mut indexing = vk::PhysicalDeviceDescriptorIndexingFeatures::default();
    let mut sync = vk::PhysicalDeviceSynchronization2Features::default();
    let mut query = vk::PhysicalDeviceRayQueryFeaturesKHR::default();
    let mut features = vk::PhysicalDeviceFeatures2::default()
        .push_next(&mut timeline)
        .push_next(&mut indexing)
        .push_next(&mut sync)
        .push_next(&mut query);
    // SAFETY: as above, and it is not in use elsewhere.
    unsafe { device.copy_to(ptr::from_mut(&mut features).cast()) };
    assert_eq!((features.features.shader_int64, features.features.logic_op), (vk::TRUE, vk::FALSE));
    assert_eq!((timeline.timeline_semaphore, sync.synchronization2), (vk::TRUE, vk::FALSE));
    assert_eq!((indexing.runtime_descriptor_array, query.ray_query), (vk::TRUE, vk::TRUE));
    assert_eq!(indexing.descriptor_binding_partially_bound, vk::FALSE);
}
