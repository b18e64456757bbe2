//! Where the world is seen from.

use glam::camera::lh::proj::directx::perspective_infinite_reverse;
use glam::camera::lh::view::look_at_mat4;
use glam::{Mat4, Vec3, Vec4};

use crate::terrain::SUN;

/// Bytes of the shader's constants.
pub const CONSTANTS_SIZE: u64 = size_of::<Constants>() as u64;

/// What the shader knows of the scene. The uniform of binding 0.
#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct Constants {
    view_projection: [f32; 16],
    /// Where the eye is; the fourth: how dense the fog is.
    eye: [f32; 4],
    /// Toward the sun.
    sun: [f32; 4],
}

/// An eye and what it looks at.
#[derive(Clone, Copy, Debug)]
pub struct Camera {
    /// Where it is, in blocks.
    pub eye: Vec3,
    /// What it looks at.
    pub target: Vec3,
    /// How high it sees, in radians.
    pub view_angle: f32,
    /// Width over height.
    pub aspect: f32,
    /// The fog's density: at its reciprocal, two thirds are gone.
    pub fog: f32,
}

impl Camera {
    /// The view that the examples show.
    #[must_use]
    pub fn overlook(aspect: f32) -> Self {
        let (eye, target) = (Vec3::new(628.0, 90.0, 56.0), Vec3::new(640.0, 58.0, 258.0));
        Self { eye, target, view_angle: 45_f32.to_radians(), aspect, fog: 1.0 / 900.0 }
    }

    /// From blocks to clip space: y up, depth 1 at the nearest and 0 at infinity.
    #[must_use]
    pub fn view_projection(&self) -> Mat4 {
        let projection = perspective_infinite_reverse(self.view_angle, self.aspect, 0.5);
        projection * look_at_mat4(self.eye, self.target, Vec3::Y)
    }

    /// The bytes of the shader's constants.
    #[must_use]
    pub fn constants(&self) -> [u8; CONSTANTS_SIZE as usize] {
        let constants = Constants {
            view_projection: self.view_projection().to_cols_array(),
            eye: self.eye.extend(self.fog).to_array(),
            sun: SUN.normalize().extend(0.0).to_array(),
        };
        bytemuck::cast(constants)
    }

    /// True unless a box is certainly out of sight.
    #[must_use]
    pub fn may_see(&self, [low, high]: [Vec3; 2]) -> bool {
        self.edges().into_iter().all(|edge| {
            let farthest = Vec3::select(edge.truncate().cmpge(Vec3::ZERO), high, low);
            edge.dot(farthest.extend(1.0)) >= 0.0
        })
    }

    /// The planes around what it sees: left, right, bottom, top, near. Inside is positive.
    fn edges(&self) -> [Vec4; 5] {
        let rows = self.view_projection().transpose();
        let [x, y, z, w] = [rows.x_axis, rows.y_axis, rows.z_axis, rows.w_axis];
        [w + x, w - x, w + y, w - y, w - z]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_sees_what_it_looks_at_and_not_what_is_behind() {
        let camera = Camera::overlook(16.0 / 9.0);
        let around = |centre: Vec3| [centre - 8.0, centre + 8.0];
        assert!(camera.may_see(around(camera.target)));
        assert!(camera.may_see(around(camera.eye)), "it is inside");
        assert!(!camera.may_see(around(camera.eye - 40.0 * (camera.target - camera.eye).normalize())));
        assert!(!camera.may_see(around(camera.target + Vec3::X * 5000.0)));
    }

    #[test]
    fn what_is_nearer_has_more_depth() {
        let camera = Camera::overlook(1.0);
        let depth = |share: f32| {
            let clip = camera.view_projection() * camera.eye.lerp(camera.target, share).extend(1.0);
            clip.z / clip.w
        };
        assert!(depth(0.1) > depth(0.5) && depth(0.5) > depth(1.0) && depth(1.0) > 0.0);
    }
}
