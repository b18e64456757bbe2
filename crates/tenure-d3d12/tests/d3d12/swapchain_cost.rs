//! The cost of presenting compared with the bare calls, and its counters.

use std::time::{Duration, Instant};

use tenure_core::present::{SwapchainDesc, SwapchainImage};
use tenure_core::{PresentMode, Queue};
use tenure_d3d12::windows::Win32::Graphics::Direct3D12::{D3D12_FENCE_FLAG_NONE, ID3D12Fence};
use tenure_d3d12::windows::Win32::Graphics::Dxgi::DXGI_PRESENT;
use tenure_d3d12::windows::Win32::System::Threading::WaitForSingleObject;
use tenure_d3d12::{Device, Swapchain};

use crate::bench::GRAPHICS;
use crate::swapchain::gpu;
use crate::window::TestWindow;

const FRAMES: usize = 400;

/// The fastest tenth ends here: the others include other load of the machine.
fn quick(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 10]
}

/// Presenting takes one more submission, with tenure and in a program's own code. Prints the times with
/// `--nocapture`; they are not tested, because the machine may have other load.
#[test]
fn a_presentation_is_one_submission() {
    let (gpu, window) = (gpu(), TestWindow::new([64, 64]));
    let desc = SwapchainDesc::new([64, 64]).mode(PresentMode::Mailbox);
    let mut chain = Swapchain::new(&gpu, window.handle, &desc).unwrap();
    // SAFETY: takes no pointers.
    let fence: ID3D12Fence = unsafe { gpu.device().raw().CreateFence(0, D3D12_FENCE_FLAG_NONE) }.unwrap();
    let queue = gpu.device().queue(GRAPHICS).unwrap().clone();
    let (mut bare, mut ours) = (Vec::new(), Vec::new());
    let submit = |image: Option<&SwapchainImage<Device>>| {
        let mut list = gpu.record(Queue::Graphics, "nothing").unwrap();
        if let Some(image) = image {
            image.finish(&mut list).unwrap();
        }
        assert!(gpu.wait(&list.submit().unwrap(), Duration::from_secs(10)).unwrap());
    };
    for number in 0..FRAMES {
        if number % 2 == 0 {
            let (raw, waitable) = (chain.raw().unwrap(), chain.waitable().unwrap());
            let begun = Instant::now();
            // SAFETY: both are alive.
            unsafe {
                WaitForSingleObject(waitable, 10_000);
                std::hint::black_box(raw.GetCurrentBackBufferIndex());
            }
            let acquired = begun.elapsed();
            submit(None);
            let begun = Instant::now();
            // SAFETY: all are alive, and nothing else uses the queue.
            unsafe {
                raw.Present(0, DXGI_PRESENT(0)).unwrap();
                queue.Signal(&fence, number as u64 + 1).unwrap();
            }
            bare.push(acquired + begun.elapsed());
        } else {
            let begun = Instant::now();
            let image = chain.acquire().unwrap().unwrap();
            let acquired = begun.elapsed();
            submit(Some(&image));
            let begun = Instant::now();
            chain.present(image).unwrap();
            ours.push(acquired + begun.elapsed());
        }
        submit(None);
        window.pump();
    }
    let (bare, ours) = (quick(bare), quick(ours));
    // Two recordings a frame, and in every other frame a presentation of tenure's.
    assert_eq!(gpu.submitted().serial(GRAPHICS), (2 * FRAMES + FRAMES / 2) as u64);
    println!("bare calls {bare:?}, tenure {ours:?}: {:?} more", ours.saturating_sub(bare));
}
