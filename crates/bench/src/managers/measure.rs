//! Playing a program with each manager.

use std::time::Duration;

use cpu_time::ThreadTime;

use super::programs::{CONSTANTS, Frame, Program, UPLOAD_BYTES};
use super::report::Line;
use super::{Contender, DeviceName, Manager};
use crate::counting::Count;
use crate::timing::median_ns;

/// Rounds that are not measured: the pools grow in them.
const WARM_UP: usize = 2;

/// A manager that plays, and what it has taken.
struct Player<'a> {
    contender: &'a Contender,
    manager: Box<dyn Manager>,
    times: Vec<Duration>,
    allocations: usize,
    driver_creations: Option<u64>,
    reserved: Option<u64>,
}

/// Those whose devices can be opened; of the others it is printed why not.
pub(super) fn available(contenders: Vec<Contender>) -> Vec<Contender> {
    let opens = |contender: &Contender| match (contender.open)() {
        Ok(_) => true,
        Err(error) => {
            let Contender { manager, device, .. } = contender;
            eprintln!("left out: {manager}, {}: {error}", DeviceName::name(*device));
            false
        }
    };
    contenders.into_iter().filter(opens).collect()
}

/// The figures of all managers in one program.
pub(super) fn measure(program: Program, contenders: &[Contender], rounds: u32) -> Result<Vec<Line>, String> {
    let frames = program.round()?;
    let mut players = Vec::new();
    for contender in contenders.iter().filter(|contender| (contender.plays)(program)) {
        let player = Player::new(program, contender, &frames);
        players.push(player.map_err(|error| failed(contender, program, &error))?);
    }
    for _ in 0..rounds {
        for player in &mut players {
            let start = ThreadTime::now();
            let played = play(&mut *player.manager, &frames);
            player.times.push(start.elapsed());
            played.map_err(|error| failed(player.contender, program, &error))?;
        }
    }
    Ok(players.into_iter().map(|player| player.line(program)).collect())
}

fn failed(contender: &Contender, program: Program, error: &str) -> String {
    format!("{} on {}, {}: {error}", contender.manager, contender.device.name(), program.name())
}

impl<'a> Player<'a> {
    /// Opens a manager, plays until its pools have grown, and counts what cannot be counted while time is measured.
    fn new(program: Program, contender: &'a Contender, frames: &[Frame]) -> Result<Self, String> {
        let mut manager = (contender.open)()?;
        manager.prepare(program)?;
        let mut reserved = manager.reserved();
        for _ in 0..WARM_UP {
            for frame in frames {
                play(&mut *manager, std::slice::from_ref(frame))?;
                reserved = reserved.max(manager.reserved());
            }
        }
        let before = manager.driver_creations();
        let count = Count::start();
        let played = play(&mut *manager, frames);
        let allocations = count.allocations();
        drop(count);
        played?;
        let driver_creations = before.zip(manager.driver_creations()).map(|(before, now)| now - before);
        Ok(Self { contender, manager, times: Vec::new(), allocations, driver_creations, reserved })
    }

    fn line(self, program: Program) -> Line {
        Line {
            program,
            manager: self.contender.manager,
            device: self.contender.device,
            target: (self.contender.target)(program),
            ns: median_ns(self.times, program.times()),
            allocations: self.allocations as f64 / program.times() as f64,
            reserved: self.reserved,
            driver_creations: self.driver_creations.map(|count| count as f64 / program.times() as f64),
        }
    }
}

fn play(manager: &mut dyn Manager, frames: &[Frame]) -> Result<(), String> {
    static BYTES: [u8; UPLOAD_BYTES] = [7; UPLOAD_BYTES];
    static VALUES: [[u32; 16]; CONSTANTS] = [[7; 16]; CONSTANTS];
    frames.iter().try_for_each(|frame| match frame {
        Frame::Create(calls) => manager.create(calls),
        Frame::Upload => manager.upload(&BYTES),
        Frame::Passes(passes) => manager.record(*passes),
        Frame::Lists(passes) => manager.record_lists(*passes),
        Frame::Constants => manager.write_constants(&VALUES),
    })
}
