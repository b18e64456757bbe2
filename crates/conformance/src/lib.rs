//! One suite of tests that every tenure device must pass, unchanged.
//!
//! A backend implements [`Harness`] in a test of its own and expands [`suite!`] there, which makes
//! one `#[test]` for each case:
//!
//! ```
//! use conformance::{Harness, Probe};
//! use tenure_sim::{Device, List, Profile};
//!
//! struct Sim(Device);
//!
//! impl Harness for Sim {
//!     type Device = Device;
//!
//!     fn device(&self) -> Device {
//!         self.0.clone()
//!     }
//!
//!     fn probe(&self, list: &List, probe: &Probe<'_, Device>) {
//!         // A dispatch of a shader that reads the descriptor of `probe`.
//! #       let _ = (list, probe);
//!     }
//!
//!     fn problems(&self) -> Vec<String> {
//!         self.0.check_clean().err().iter().map(ToString::to_string).collect()
//!     }
//! }
//!
//! conformance::suite!(crate::Sim(Device::new(Profile::DISCRETE)));
//! # conformance::cases::buffers::every_location_keeps_its_bytes(&Sim(Device::new(Profile::DISCRETE)));
//! ```
//!
//! The cases move real bytes: the CPU writes them, the GPU copies them, and the CPU reads them back. A call that
//! needs a feature that the device lacks (see [`Features`](tenure_core::device::Features)) must be refused with
//! `Unsupported` and the name of the feature; no case is skipped.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

mod bench;
pub mod cases;
mod edges;
mod harness;
mod probe;
pub mod refusal;
mod shader_input;
mod shader_reads;
mod texels;

pub use harness::{Effort, Harness};
pub use probe::{Look, Probe, Through};

pub(crate) use harness::permit;

macro_rules! suite_of {
    (($dollar:tt) $($module:ident: $($case:ident)*;)*) => {
        /// Runs all cases one after the other, for programs that are not tests.
        ///
        /// # Panics
        /// When a case fails.
        pub fn run<H: Harness>(harness: impl Fn() -> H) {
            $($(cases::$module::$case(&harness());)*)*
        }

        /// Expands to one `#[test]` for each case. The argument is an expression that makes a fresh
        /// [`Harness`]($crate::Harness); each test evaluates it.
        #[macro_export]
        macro_rules! suite {
            ($dollar harness:expr) => {
                $($(
                    #[test]
                    fn $case() {
                        $dollar crate::cases::$module::$case(&$dollar harness);
                    }
                )*)*
            };
        }
    };
}

suite_of! { ($)
    properties:
        properties_keep_the_contract requirements_keep_the_contract every_memory_use_has_a_memory_type
        the_budget_covers_every_heap;
    buffers:
        every_location_keeps_its_bytes placed_buffers_keep_their_bytes
        committed_buffers_keep_their_bytes parts_are_copied_exactly
        odd_strides_start_at_whole_elements alignments_are_honoured addresses_follow_offsets
        acceleration_structures_have_buffers_where_offered;
    churn: contents_survive_their_neighbours contents_survive_with_large_slots_and_buddy_allocators;
    locations: edges_survive_in_every_location;
    mapped:
        upload_buffers_hold_written_bytes readback_buffers_show_copied_bytes
        gpu_upload_buffers_fall_back_to_other_memory only_mapped_buffers_are_reached_by_the_cpu;
    textures:
        mips_and_layers_keep_their_texels volumes_keep_their_texels
        block_compressed_mips_keep_their_texels regions_are_copied_exactly
        large_textures_have_memory_of_their_own targets_are_created
        views_in_other_formats_are_supported_or_refused;
    moving:
        buffers_that_move_keep_their_bytes textures_that_move_keep_their_texels shaders_find_moved_textures
        threads_find_moved_resources;
    read_only: shaders_read_without_names written_resources_become_read_only;
    texture_copies: textures_are_copied_on_every_queue subresources_are_copied_alone;
    mips: mips_are_averages_of_larger_ones mips_are_refused_by_name;
    depth_stencil:
        planes_keep_their_texels planes_are_copied_together planes_that_do_not_exist_are_refused;
    formats: colours_keep_their_texels formats_are_refused_by_name depth_formats_have_a_substitute;
    lifetimes:
        resources_outlive_their_handles_while_a_recording_is_open resources_outlive_their_handles_while_the_gpu_uses_them
        a_discarded_recording_holds_nothing_back objects_of_the_program_are_deferred
        values_wait_for_their_sync_point;
    frames: the_cpu_waits_when_it_is_too_far_ahead idle_memory_is_returned;
    queues:
        bytes_cross_queues waits_order_queues queues_work_side_by_side unknown_queues_are_refused
        recordings_submitted_together_run_in_order;
    external: external_submissions_are_counted external_errors_are_returned;
    sharing: shared_resources_come_back unshared_resources_are_refused;
    states:
        recordings_take_effect_in_the_order_of_submission subresources_have_states_of_their_own
        shaders_of_one_kind_have_states_of_their_own impossible_states_are_refused;
    transient:
        deferred_frames_are_the_same_with_and_without_aliasing repeated_graphs_create_nothing
        repeated_acquisitions_create_nothing changing_resolutions_stay_bounded;
    transient_targets:
        culled_passes_of_graphs_leave_nothing_behind culled_acquisitions_leave_nothing_behind;
    tiles:
        tiles_are_mapped_remapped_and_unmapped mappings_are_shared_by_copying
        reserved_textures_hold_texels tiles_out_of_range_are_refused;
    constants: constants_reach_the_gpu;
    rings: rings_keep_bytes_until_the_gpu_has_read_them;
    uploads:
        uploads_reach_buffers uploads_reach_every_kind_of_texture uploads_reach_regions_in_order
        uploads_are_waited_for staged_uploads_reach_buffers staged_uploads_reach_every_kind_of_texture
        staged_uploads_reach_regions_in_order staged_uploads_are_waited_for
        uploads_and_copies_take_effect_in_order;
    readbacks: readbacks_bring_bytes readbacks_bring_texels readbacks_are_waited_for;
    queries:
        timestamps_rise queries_without_draws_count_nothing statistics_count_dispatches
        queries_of_discarded_recordings_are_errors queries_begin_and_end_in_pairs
        repeated_queries_create_nothing gpu_times_arrive_in_the_statistics;
    rays:
        structures_have_ranges_of_their_own bad_copies_of_structures_change_nothing build_scratch_is_recycled;
    services: frames_of_many_threads_create_nothing;
    small: each_part_begins_small a_small_program_stays_small;
    pages: pages_are_reset_as_a_whole pages_keep_their_bytes;
    descriptors:
        shaders_read_every_kind_of_view views_read_exactly_their_part shaders_read_views_on_every_queue
        constants_are_bound_directly dynamic_constants_find_their_draws equal_samplers_are_one descriptors_without_device_support_are_refused;
    set_kinds: combined_samplers_sample_their_texture input_attachments_are_in_sets;
    recycling:
        descriptors_outlive_their_handles many_threads_take_descriptors
        slots_are_used_again_once_the_gpu_is_done errors_of_full_heaps_name_the_owner owners_of_descriptors_are_reported
        sets_are_recycled;
    stats: counters_agree_with_a_naive_count memory_is_counted_in_exactly_one_part names_are_kept;
    shutdown: shutdown_is_clean leaks_are_named_and_still_released;
    refusals:
        bad_buffers_change_nothing bad_textures_change_nothing accesses_out_of_range_change_nothing
        bad_copies_leave_the_recording_usable;
    threads: eight_threads_and_a_submitter;
}
