//! The visible default values of this crate and of the original.

macro_rules! defaults {
    ($name:ident, $krate:ident) => {
        #[test]
        fn $name() {
            use $krate::{AllocationError, AllocatorDebugSettings};

            let mut settings = AllocatorDebugSettings::default();
            assert!(settings.log_leaks_on_shutdown);
            assert!(!settings.log_memory_information && !settings.log_allocations && !settings.log_frees);
            assert!(!settings.store_stack_traces && !settings.log_stack_traces);
            settings.log_allocations = true;
            let _ = format!("{settings:?}");
            assert_eq!(AllocationError::OutOfMemory.to_string(), "Out of memory");
            assert_eq!(AllocationError::Internal("x".into()).to_string(), "Internal error: x");
        }
    };
}

defaults!(ours, gpu_allocator);
defaults!(theirs, original);
