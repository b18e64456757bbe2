//! Dead ends met before.

/// 128 bits of a state: that two states share them does not happen.
pub(super) type Fingerprint = [u64; 2];

/// A table of dead ends. A newer one takes the place of an older one.
pub(super) struct Nogoods {
    table: Vec<Fingerprint>,
    kept: usize,
}

const FIRST_LEN: usize = 1 << 12;
const MOST_LEN: usize = 1 << 18;

impl Nogoods {
    pub(super) const fn new() -> Self {
        Self { table: Vec::new(), kept: 0 }
    }

    pub(super) fn holds(&self, of: Fingerprint) -> bool {
        !self.table.is_empty() && self.table[of[0] as usize & (self.table.len() - 1)] == of
    }

    pub(super) fn keep(&mut self, of: Fingerprint) {
        if self.table.is_empty() {
            self.table = vec![[0; 2]; FIRST_LEN];
        } else if self.kept > 4 * FIRST_LEN && self.table.len() < MOST_LEN {
            let old = core::mem::replace(&mut self.table, vec![[0; 2]; MOST_LEN]);
            for fingerprint in old {
                self.put(fingerprint);
            }
        }
        self.kept += 1;
        self.put(of);
    }

    fn put(&mut self, of: Fingerprint) {
        let slot = of[0] as usize & (self.table.len() - 1);
        self.table[slot] = of;
    }
}
