//! Playing a program with each manager.

use std::error::Error;
use std::time::Duration;

use cpu_time::ThreadTime;

use super::programs::{Frame, Program};
use super::report::Line;
use super::{Contender, DeviceName, Manager};
use crate::Result;
use crate::counting::Count;
use crate::instructions::collected;
use crate::timing::median_ns;

/// Rounds that are not measured: the pools grow in them.
const WARM_UP: usize = 2;

/// A manager that plays, its times, and its other figures.
struct Player<'a> {
    contender: &'a Contender,
    manager: Box<dyn Manager>,
    times: Vec<Duration>,
    line: Line,
}

/// The figures of all managers in one program.
pub(super) fn measure(program: Program, contenders: &[Contender], rounds: u32) -> Result<Vec<Line>> {
    let frames = program.round()?;
    let mut players = Vec::new();
    for contender in contenders.iter().filter(|contender| (contender.plays)(program)) {
        let player = Player::new(program, contender, &frames);
        players.push(player.map_err(failed(contender, program))?);
    }
    for _ in 0..rounds {
        for player in &mut players {
            let start = ThreadTime::now();
            let played = frames.iter().try_for_each(|frame| player.manager.play(frame));
            player.times.push(start.elapsed());
            played.map_err(failed(player.contender, program))?;
        }
    }
    let line = |player: Player<'_>| Line { ns: median_ns(player.times, program.times()), ..player.line };
    Ok(players.into_iter().map(line).collect())
}

/// The name of [`counted_round`] in the program.
const COUNTED: &str = "counted_round";

/// Plays a round. A function of its own, so that callgrind can count in it.
#[inline(never)]
fn counted_round(manager: &mut dyn Manager, frames: &[Frame]) -> Result {
    frames.iter().try_for_each(|frame| manager.play(frame))
}

/// Plays the program and with the manager of these names on the null device: rounds in which the pools grow, then a
/// counted one.
///
/// # Errors
/// Those of the manager; there is no such program or manager.
pub(super) fn play_counted(names: &[String], contenders: &[Contender]) -> Result {
    let unknown = || format!("no such program and manager: {names:?}");
    let [program, manager] = names else { return Err(unknown().into()) };
    let program = Program::ALL.iter().find(|(_, name)| name == program).ok_or_else(unknown)?.0;
    let is_it = |it: &&Contender| it.manager == manager && it.device == DeviceName::Null;
    let contender = contenders.iter().find(is_it).ok_or_else(unknown)?;
    let mut manager = (contender.open)()?;
    manager.prepare(program)?;
    let frames = program.round()?;
    for _ in 0..WARM_UP {
        frames.iter().try_for_each(|frame| manager.play(frame))?;
    }
    counted_round(&mut *manager, &frames)
}

/// Adds the instructions on the null device to a line.
///
/// # Errors
/// There is no callgrind.
pub(super) fn count_instructions(line: &mut Line) -> Result {
    if line.device == DeviceName::Null {
        // The program with all managers has no other commands.
        let command = std::env::args().nth(1).filter(|first| first == "managers");
        let counted = ["--counted", line.program.name(), line.manager];
        let counted: Vec<_> = command.as_deref().into_iter().chain(counted).collect();
        let instructions = collected(&counted, COUNTED)?;
        line.instructions = Some(instructions as f64 / line.program.times() as f64);
    }
    Ok(())
}

/// Says in an error who failed, and where.
fn failed(contender: &Contender, program: Program) -> impl Fn(Box<dyn Error>) -> String {
    let failed = format!("{} on {}, {}", contender.manager, contender.device.name(), program.name());
    move |error| format!("{failed}: {error}")
}

impl<'a> Player<'a> {
    /// Opens a manager, plays until its pools have grown, and takes the counts that would disturb the
    /// measurement of time.
    fn new(program: Program, contender: &'a Contender, frames: &[Frame]) -> Result<Self> {
        let mut manager = (contender.open)()?;
        manager.prepare(program)?;
        let mut reserved = manager.reserved();
        for _ in 0..WARM_UP {
            for frame in frames {
                manager.play(frame)?;
                reserved = reserved.max(manager.reserved());
            }
        }
        let before = manager.driver_creations();
        let count = Count::start();
        let played = frames.iter().try_for_each(|frame| manager.play(frame));
        let allocations = count.allocations();
        drop(count);
        played?;
        let driver_creations = before.zip(manager.driver_creations()).map(|(before, now)| now - before);
        let each = |count: u64| count as f64 / program.times() as f64;
        let line = Line {
            program,
            manager: contender.manager,
            device: contender.device,
            target: (contender.target)(program),
            ns: 0.0,
            allocations: each(allocations as u64),
            reserved,
            driver_creations: driver_creations.map(each),
            instructions: None,
        };
        Ok(Self { contender, manager, times: Vec::new(), line })
    }
}
