//! The camera.

use glam::camera::lh::proj::directx::perspective_infinite_reverse;
use glam::camera::lh::view::look_at_mat4;
use glam::{Mat4, Vec3, Vec4};

use crate::terrain::SUN;

/// Bytes of the shader's constants.
pub const CONSTANTS_SIZE: u64 = size_of::<Constants>() as u64;

/// The constants of the scene, as the shader declares them at binding 0.
#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct Constants {
    view_projection: [f32; 16],
    /// The position of the eye; the fourth component is the fog's density.
    eye: [f32; 4],
    /// The direction toward the sun.
    sun: [f32; 4],
}

/// A perspective camera.
#[derive(Clone, Copy, Debug)]
pub struct Camera {
    /// Its position, in blocks.
    pub eye: Vec3,
    /// The point that it looks at, in blocks.
    pub target: Vec3,
    /// The vertical field of view, in radians.
    pub view_angle: f32,
    /// Width over height.
    pub aspect: f32,
    /// The fog's density: at a distance of 1 / `fog` blocks the fog hides 63 % of a colour.
    pub fog: f32,
}

impl Camera {
    /// The view that the examples show.
    #[must_use]
    pub fn overlook(aspect: f32) -> Self {
        let (eye, target) = (Vec3::new(628.0, 90.0, 56.0), Vec3::new(640.0, 58.0, 258.0));
        Self { eye, target, view_angle: 45_f32.to_radians(), aspect, fog: 1.0 / 900.0 }
    }

    /// The transformation from blocks to clip space: y up, depth 1 at the near plane and 0 at infinity.
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

    /// False if a box lies outside one of the frustum's planes, so that no part of it is visible.
    #[must_use]
    pub fn may_see(&self, [low, high]: [Vec3; 2]) -> bool {
        self.frustum_planes().into_iter().all(|plane| {
            let farthest = Vec3::select(plane.truncate().cmpge(Vec3::ZERO), high, low);
            plane.dot(farthest.extend(1.0)) >= 0.0
        })
    }

    /// The planes of the view frustum: left, right, bottom, top, near. Distances are positive inside.
    fn frustum_planes(&self) -> [Vec4; 5] {
        let rows = self.view_projection().transpose();
        let [x, y, z, w] = [rows.x_axis, rows.y_axis, rows.z_axis, rows.w_axis];
        [w + x, w - x, w + y, w - y, w - z]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_boxes_in_the_frustum_are_visible() {
        let camera = Camera::overlook(16.0 / 9.0);
        let around = |centre: Vec3| [centre - 8.0, centre + 8.0];
        assert!(camera.may_see(around(camera.target)));
        assert!(camera.may_see(around(camera.eye)), "the eye is inside the box");
        assert!(!camera.may_see(around(camera.eye - 40.0 * (camera.target - camera.eye).normalize())));
        assert!(!camera.may_see(around(camera.target + Vec3::X * 5000.0)));
    }

    #[test]
    fn nearer_points_have_greater_depth() {
        let camera = Camera::overlook(1.0);
        let depth = |share: f32| {
            let clip = camera.view_projection() * camera.eye.lerp(camera.target, share).extend(1.0);
            clip.z / clip.w
        };
        assert!(depth(0.1) > depth(0.5) && depth(0.5) > depth(1.0) && depth(1.0) > 0.0);
    }
}
