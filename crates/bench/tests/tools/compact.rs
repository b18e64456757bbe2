//! Compaction, as a user measures it.

use std::path::Path;

use crate::program::{rows, succeeded};

#[test]
fn nothing_moves_in_vain_and_little_is_left_over() {
    let water = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/wgpu-ex-water.csv.gz");
    let water = water.display().to_string();
    let said = succeeded(&["compact", "--rounds", "1", "--only", "HeapPools", &water]);
    let rows = rows(&said);
    assert_eq!(rows.len(), 4, "{said}");
    for row in rows {
        let figure = |column: usize| row[column].parse::<f64>().unwrap();
        let [before, after] = [figure(3), figure(4)];
        assert!(after <= before && figure(6) <= 1.0, "{row:?}");
        assert_eq!(row[9], "0", "{row:?}");
        // What is sparse and large enough to be worth it ends dense.
        let (number, _) = row[2].split_once(',').unwrap();
        if number.parse::<u32>().unwrap() > 1000 {
            assert!(figure(5) < 0.5 && figure(6) >= 0.95, "{row:?}");
        }
    }
}
