//! The control of a camera: keys move it, the mouse turns it.

use glam::Vec3;

use crate::Camera;

/// Blocks in a second.
const SPEED: f32 = 60.0;

/// Radians for each pixel that the mouse is dragged.
const TURN: f32 = 0.004;

/// The steepest look up or down in radians: at the vertical, "up" of the picture would be undefined.
const STEEPEST: f32 = 1.5;

/// The longest step in seconds: a frame that took longer moves the camera no farther.
const LONGEST_STEP: f32 = 0.25;

/// The corners of the box that the camera stays in. It is well inside the box of the sky.
const BOUNDS: [Vec3; 2] = [Vec3::new(-400.0, 1.0, -400.0), Vec3::new(1700.0, 600.0, 1400.0)];

/// The direction in which a key moves the camera, as seen by the camera.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Where it looks.
    Forward,
    /// Against where it looks.
    Backward,
    /// To the left, at the same height.
    Left,
    /// To the right, at the same height.
    Right,
}

/// A camera that flies: its position, where it looks, and which keys are down.
#[derive(Clone, Debug)]
pub struct Flight {
    camera: Camera,
    /// From the position to the point that it looks at. It changes only when the camera turns, so that the first
    /// picture is exactly that of the camera.
    look: Vec3,
    /// The angle from the z axis toward the x axis, in radians.
    yaw: f32,
    /// The angle up from the horizon, in radians.
    pitch: f32,
    /// The directions whose keys are down, in the order of [`Direction`].
    held: [bool; 4],
}

impl Flight {
    /// Begins with the position of a camera, and with its look.
    #[must_use]
    pub fn new(camera: Camera) -> Self {
        let look = camera.target - camera.eye;
        let ahead = look.normalize_or(Vec3::Z);
        Self { camera, look, yaw: ahead.x.atan2(ahead.z), pitch: ahead.y.asin(), held: [false; 4] }
    }

    /// Notes a key that was pressed or released.
    pub const fn hold(&mut self, direction: Direction, is_down: bool) {
        self.held[direction as usize] = is_down;
    }

    /// Releases all keys: the window has lost the keyboard.
    pub const fn release_all(&mut self) {
        self.held = [false; 4];
    }

    /// Turns the camera after a mouse drag, in pixels to the right and down.
    pub fn turn(&mut self, [right, down]: [f32; 2]) {
        self.yaw = (self.yaw + right * TURN) % std::f32::consts::TAU;
        self.pitch = (self.pitch - down * TURN).clamp(-STEEPEST, STEEPEST);
        let level = self.pitch.cos();
        self.look = Vec3::new(self.yaw.sin() * level, self.pitch.sin(), self.yaw.cos() * level);
    }

    /// Moves the camera for a time in seconds. Opposite keys cancel each other.
    pub fn advance(&mut self, seconds: f32) {
        let [forward, backward, left, right] = self.held.map(|is_down| f32::from(u8::from(is_down)));
        let aside = Vec3::new(self.yaw.cos(), 0.0, -self.yaw.sin());
        let way = (forward - backward) * self.look.normalize_or_zero() + (right - left) * aside;
        let step = way.normalize_or_zero() * SPEED * seconds.clamp(0.0, LONGEST_STEP);
        if step != Vec3::ZERO {
            self.camera.eye = (self.camera.eye + step).clamp(BOUNDS[0], BOUNDS[1]);
        }
    }

    /// The camera for a picture with this width over height.
    #[must_use]
    pub fn camera(&self, aspect: f32) -> Camera {
        Camera { target: self.camera.eye + self.look, aspect, ..self.camera }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flight() -> Flight {
        Flight::new(Camera { target: Vec3::new(8.0, 90.0, 200.0), ..start() })
    }

    fn start() -> Camera {
        let eye = Vec3::new(8.0, 90.0, 100.0);
        Camera { eye, ..Camera::overlook(1.5) }
    }

    fn moved(directions: &[Direction]) -> Vec3 {
        let mut flight = flight();
        directions.iter().for_each(|direction| flight.hold(*direction, true));
        flight.advance(0.1);
        flight.camera(1.5).eye - start().eye
    }

    #[test]
    fn the_first_view_is_that_of_the_camera() {
        let overlook = Camera::overlook(1.5);
        let seen = |flight: &Flight| flight.camera(1.5).view_projection();
        let mut flight = Flight::new(overlook);
        flight.advance(1.0);
        assert_eq!(seen(&flight), overlook.view_projection());
        flight.turn([0.0, 0.0]);
        let ahead = (overlook.target - overlook.eye).normalize();
        assert!(flight.look.abs_diff_eq(ahead, 1e-5), "{}", flight.look);
    }

    #[test]
    fn keys_move_along_the_look_and_across_it() {
        let by = SPEED * 0.1;
        assert!(moved(&[Direction::Forward]).abs_diff_eq(Vec3::Z * by, 0.001));
        assert!(moved(&[Direction::Backward]).abs_diff_eq(Vec3::NEG_Z * by, 0.001));
        // With y up and z ahead, x is to the right.
        assert!(moved(&[Direction::Right]).abs_diff_eq(Vec3::X * by, 0.001));
        assert!(moved(&[Direction::Left]).abs_diff_eq(Vec3::NEG_X * by, 0.001));
        assert_eq!(moved(&[Direction::Left, Direction::Right]), Vec3::ZERO);
        let diagonal = moved(&[Direction::Forward, Direction::Left]);
        assert!((diagonal.length() - by).abs() < 0.001, "not faster than straight on: {diagonal}");
    }

    #[test]
    fn dragging_turns_in_the_same_direction() {
        let mut flight = flight();
        flight.turn([50.0, -50.0]);
        let look = flight.look;
        assert!(look.x > 0.1 && look.y > 0.1 && look.z > 0.1, "{look}");
        flight.turn([0.0, -1e9]);
        assert!(flight.camera(1.0).view_projection().is_finite(), "not beyond the zenith");
    }

    #[test]
    fn the_camera_stays_in_the_sky_and_stops_with_the_keys() {
        let mut flight = flight();
        flight.hold(Direction::Forward, true);
        (0..1000).for_each(|_| flight.advance(1e9));
        let end = flight.camera(1.0).eye;
        assert_eq!(end.z, BOUNDS[1].z);
        flight.hold(Direction::Forward, false);
        flight.hold(Direction::Left, true);
        flight.release_all();
        flight.advance(1.0);
        assert_eq!(flight.camera(1.0).eye, end);
    }
}
