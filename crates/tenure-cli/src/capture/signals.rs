//! Handling of terminating signals while the recorded program runs, so that its recording can still be written.

/// Keeps terminating signals from ending this program until it is dropped.
///
/// Signals of the keyboard reach the recorded program directly. Others are passed on to it.
pub(super) use held::SignalGuard;

#[cfg(unix)]
mod held {
    use std::sync::atomic::{AtomicI32, Ordering};

    const HANGUP: i32 = 1;
    const INTERRUPT: i32 = 2;
    const QUIT: i32 = 3;
    const TERMINATE: i32 = 15;
    const ALL: [i32; 4] = [HANGUP, INTERRUPT, QUIT, TERMINATE];

    /// Process id of the recorded program; 0 for none.
    static PROGRAM: AtomicI32 = AtomicI32::new(0);

    unsafe extern "C" {
        fn signal(number: i32, handler: usize) -> usize;
        fn kill(process: i32, number: i32) -> i32;
    }

    pub(in super::super) struct SignalGuard {
        /// The previous handlers.
        handlers: [usize; ALL.len()],
    }

    impl SignalGuard {
        /// To be called after the start of the program, which would inherit ignored signals.
        pub(in super::super) fn for_program(process: u32) -> Self {
            PROGRAM.store(i32::try_from(process).unwrap_or(0), Ordering::Relaxed);
            let handler = handled as extern "C" fn(i32) as usize;
            // SAFETY: the handler only makes a call that is allowed in one.
            Self { handlers: ALL.map(|number| unsafe { signal(number, handler) }) }
        }
    }

    impl Drop for SignalGuard {
        fn drop(&mut self) {
            // The id of a finished process may be reused.
            PROGRAM.store(0, Ordering::Relaxed);
            for (number, handler) in ALL.into_iter().zip(self.handlers) {
                // SAFETY: the handler was returned by `signal`.
                unsafe { signal(number, handler) };
            }
        }
    }

    extern "C" fn handled(number: i32) {
        let process = PROGRAM.load(Ordering::Relaxed);
        if matches!(number, HANGUP | TERMINATE) && process > 0 {
            // SAFETY: the call is allowed in a handler. It fails only if the process has ended.
            unsafe { kill(process, number) };
        }
    }
}

#[cfg(windows)]
mod held {
    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn SetConsoleCtrlHandler(handler: extern "system" fn(u32) -> i32, add: i32) -> i32;
    }

    pub(in super::super) struct SignalGuard;

    impl SignalGuard {
        pub(in super::super) fn for_program(_process: u32) -> Self {
            // SAFETY: the handler does nothing.
            unsafe { SetConsoleCtrlHandler(handled, 1) };
            Self
        }
    }

    impl Drop for SignalGuard {
        fn drop(&mut self) {
            // SAFETY: the handler that was added.
            unsafe { SetConsoleCtrlHandler(handled, 0) };
        }
    }

    extern "system" fn handled(_event: u32) -> i32 {
        1
    }
}
