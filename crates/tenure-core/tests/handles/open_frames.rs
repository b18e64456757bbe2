//! Frames that have begun and not ended.

use tenure_core::{Config, Error, FrameConfig, Gpu};
use tenure_sim::{Lag, Profile};

use super::device;

#[test]
fn no_more_frames_are_open_than_may_be_in_flight() {
    for limit in [1, 3] {
        let device = device(Profile::DISCRETE, Lag::None);
        let config = Config::from(FrameConfig::default().in_flight(limit));
        let gpu = Gpu::new(device.clone(), config).unwrap();
        let mut frames: Vec<_> = (0..limit).map(|_| gpu.begin_frame().unwrap()).collect();
        let Err(error) = gpu.begin_frame() else { panic!("a frame too many") };
        assert_eq!(error, Error::TooManyFrames { open: limit, limit });
        assert_eq!(gpu.stats().frames, u64::from(limit), "none has begun");
        // Ended or dropped, one makes room for one.
        frames.remove(0).end().unwrap();
        frames.push(gpu.begin_frame().unwrap());
        drop(frames.pop());
        assert_eq!(gpu.begin_frame().unwrap().number(), u64::from(limit) + 2);
        drop(frames);
        assert!(gpu.shutdown().is_clean());
        drop(gpu);
        device.check_clean().unwrap();
    }
}
