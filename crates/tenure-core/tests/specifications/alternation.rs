//! Queues that use one texture alternately: the commands that reach the device, step by step.

use tenure_core::device::QueueSerial;
use tenure_core::{Config, Format, Gpu, Queue, QueueId, State, Subresource, Texture, TextureDesc, Usage};
use tenure_sim::{Device, DeviceConfig, Lag, Profile, Step};

const GRAPHICS: QueueId = QueueId(0);
const COMPUTE: QueueId = QueueId(1);
const COPY: QueueId = QueueId(2);

struct Bench {
    device: Device,
    gpu: Gpu<Device>,
    image: Texture<Device>,
}

/// The commands of one recording that reached the device.
struct RecordingOutcome {
    /// The queue and serial of its last submission.
    at: QueueSerial,
    submissions: usize,
    waits: Vec<QueueSerial>,
    /// Transitions, as before and after, and whether they are halves of transfers.
    transitions: Vec<(State, State, bool)>,
}

impl Bench {
    fn new(profile: Profile) -> Self {
        let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::None).journal(true));
        let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
        let usage = Usage::SHADER_READ | Usage::UNORDERED_ACCESS | Usage::COPY_SRC | Usage::COPY_DST;
        let image = gpu.create_texture(&TextureDesc::d2(16, 16, Format::Rgba8Unorm, usage)).unwrap();
        Self { device, gpu, image }
    }

    /// One use of the texture in a recording of its own.
    fn record_use(&self, queue: QueueId, state: State) -> RecordingOutcome {
        let mut recording = self.gpu.record(Queue::Id(queue), "use").unwrap();
        recording.use_resource(&self.image, Subresource::All, state).unwrap();
        recording.barriers();
        recording.raw().use_texture(self.image.raw(), Subresource::All, state);
        recording.submit().unwrap();
        let hazards = self.device.take_hazards();
        assert!(hazards.is_empty(), "{state:?} on {queue:?}: {}", hazards[0]);
        let at = QueueSerial { queue, serial: 0 };
        let mut outcome = RecordingOutcome { at, submissions: 0, waits: Vec::new(), transitions: Vec::new() };
        for step in self.device.take_journal() {
            match step {
                Step::Submission { at, waits, .. } => {
                    (outcome.at, outcome.waits) = (at, waits);
                    outcome.submissions += 1;
                }
                Step::Transition { before, after, transfer, .. } => {
                    outcome.transitions.push((before, after, transfer.is_some()));
                }
                _ => {}
            }
        }
        assert_eq!(outcome.at.queue, queue);
        outcome
    }

    /// Fills the texture on the graphics queue.
    fn fill(&self) {
        self.record_use(GRAPHICS, State::COPY_DST);
    }
}

const READS: [(QueueId, State); 3] =
    [(GRAPHICS, State::PIXEL_SHADER), (COMPUTE, State::NON_PIXEL_SHADER), (COPY, State::COPY_SRC)];

/// On Direct3D 12, with either kind of barriers, a texture that is only read belongs to no queue.
#[test]
fn alternating_reads_need_no_barrier_and_no_extra_submission() {
    for profile in [Profile::D3D12_ENHANCED, Profile::D3D12_TIER2] {
        let bench = Bench::new(profile);
        bench.fill();
        for (queue, state) in READS {
            bench.record_use(queue, state);
        }
        for round in 0..30 {
            // Not always in the same order.
            for index in 0..READS.len() {
                let (queue, state) = READS[(index * (1 + round % 2) + round) % READS.len()];
                let outcome = bench.record_use(queue, state);
                assert_eq!(outcome.transitions, [], "{} round {round} {state:?}", profile.name());
                assert_eq!(outcome.submissions, 1, "{} round {round} {state:?}", profile.name());
            }
        }
    }
}

/// On Vulkan each change of the queue transfers the texture in two halves, the first in a submission of its own.
#[test]
fn families_hand_over_textures_that_they_read() {
    let bench = Bench::new(Profile::VULKAN_NVIDIA);
    bench.fill();
    for _ in 0..10 {
        for (queue, state) in [READS[1], READS[0]] {
            let outcome = bench.record_use(queue, state);
            assert_eq!((outcome.submissions, outcome.transitions.len()), (2, 2));
            assert!(outcome.transitions.iter().all(|(.., is_half)| *is_half));
        }
    }
}

/// A layout change is one transition on the queue that needs it, after all readers.
#[test]
fn another_queue_changes_the_layout_after_all_readers() {
    let bench = Bench::new(Profile::D3D12_ENHANCED);
    bench.fill();
    for _ in 0..10 {
        let readers = READS.map(|(queue, state)| bench.record_use(queue, state).at);
        let written = bench.record_use(COMPUTE, State::UNORDERED_ACCESS);
        assert_eq!(written.transitions, [(State::NON_PIXEL_SHADER, State::UNORDERED_ACCESS, false)]);
        assert_eq!(written.submissions, 1);
        for reader in readers.into_iter().filter(|reader| reader.queue != COMPUTE) {
            assert!(written.waits.contains(&reader), "{:?} lacks {reader:?}", written.waits);
        }
        let read = bench.record_use(GRAPHICS, State::PIXEL_SHADER);
        assert_eq!(read.transitions, [(State::UNORDERED_ACCESS, State::PIXEL_SHADER, false)]);
        assert_eq!(read.submissions, 1);
        assert!(read.waits.contains(&written.at), "{:?}", read.waits);
    }
}

/// Copy queues change no layouts: another queue does, once, in a submission of its own.
#[test]
fn a_copy_queue_finds_its_layout() {
    let bench = Bench::new(Profile::D3D12_ENHANCED);
    bench.record_use(COMPUTE, State::UNORDERED_ACCESS);
    let copied = bench.record_use(COPY, State::COPY_SRC);
    assert_eq!(copied.transitions, [(State::UNORDERED_ACCESS, State::COPY_SRC, false)]);
    assert_eq!(copied.submissions, 2);
    assert_eq!(bench.record_use(COPY, State::COPY_DST).submissions, 1);
    let read = bench.record_use(GRAPHICS, State::PIXEL_SHADER);
    assert_eq!((read.transitions, read.submissions), (vec![], 1));
}
