//! Create, map, submit, wait, copy: on every profile.

use crate::common::{buffer, finish, heap_for, record, upload_type};
use tenure_core::device::{CommandList as _, Mapping as _, *};
use tenure_sim::{Device, DeviceConfig, Lag, Profile};

#[test]
fn bytes_go_up_across_and_back_on_every_profile_and_lag() {
    for profile in Profile::ALL {
        for lag in [Lag::None, Lag::Submissions(3), Lag::Random { max: 9 }] {
            let device = Device::with_config(DeviceConfig::new(*profile).lag(lag).seed(5));
            let (up, back) = (upload_type(&device, false), upload_type(&device, true));
            let src = device.create_committed(&buffer(1000, Usage::COPY_SRC), up).unwrap();
            let desc = buffer(1000, Usage::COPY_SRC | Usage::COPY_DST);
            let (heap, offset) = heap_for(&device, &desc);
            let middle = device.create_placed(Permit::checked(), &desc, &heap, offset).unwrap();
            let dst = device.create_committed(&buffer(1000, Usage::COPY_DST), back).unwrap();
            let bytes: Vec<u8> = (0..1000).map(|byte| (byte % 251) as u8).collect();
            device.map(&src).unwrap().write(0, &bytes).unwrap();

            let list = record(&device, QueueId(0), |list| {
                list.copy_buffer(&src, 0, &middle, 0, 1000);
                list.barriers(&[Barrier::Transition {
                    resource: &middle,
                    subresource: Subresource::All,
                    before: State::COPY_DST,
                    after: State::COPY_SRC,
                    transfer: None,
                }]);
                list.copy_buffer(&middle, 0, &dst, 0, 1000);
                list.make_visible_to_cpu(State::COPY_DST);
            });
            device.submit(Permit::checked(), QueueId(0), &[&list], &[], 1).unwrap();
            finish(&device, QueueId(0), 1);
            let mut out = vec![0; 1000];
            device.map(&dst).unwrap().read(0, &mut out).unwrap();
            assert_eq!(out, bytes);

            device.destroy_list(Permit::checked(), list);
            [src, middle, dst]
                .into_iter()
                .for_each(|resource| device.destroy_resource(Permit::checked(), resource));
            device.destroy_heap(Permit::checked(), heap);
            device.check_clean().unwrap();
        }
    }
}
