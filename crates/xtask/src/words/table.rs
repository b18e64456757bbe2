//! The retired words, and their replacements.

/// One word in all its forms, and its replacement.
pub(super) struct Retired {
    /// In small letters; identifiers are searched in any case, too.
    pub(super) forms: &'static [&'static str],
    pub(super) instead: &'static str,
    /// Prefixes of paths in which the word has its everyday meaning.
    pub(super) allowed_in: &'static [&'static str],
    /// Allowed phrases with the word, in small letters: `home directory`.
    pub(super) allowed_as: &'static [&'static str],
}

const fn retired(forms: &'static [&'static str], instead: &'static str) -> Retired {
    Retired { forms, instead, allowed_in: &[], allowed_as: &[] }
}

/// Noun clauses in comments and documents, and the maximum of each. Lower a number with each removed clause.
pub(super) const CLAUSES: [(&str, usize); 4] =
    [("what (?:is|was|are|were|has|have|had|it|they)", 5), ("so many", 0), ("of which", 0), ("whoever", 0)];

/// Words that are found everywhere: in identifiers, comments, documentation and messages.
pub(super) const RETIRED: &[Retired] = &[
    retired(&["ladder", "ladders"], "fallback chain"),
    retired(&["rung", "rungs"], "step of the fallback chain"),
    Retired {
        // Hill climbing, which a plan is compared with.
        allowed_in: &["crates/bench/src/plan/"],
        ..retired(&["climb", "climbs", "climbed", "climbing"], "try_each_memory_type")
    },
    Retired {
        // The present mode of that name, in all APIs: beside FIFO.
        allowed_as: &["presentmode", "present_mode", "present mode", "fifo", "    mailbox,"],
        ..retired(&["mailbox", "mailboxes"], "remote free list")
    },
    Retired {
        // There they are carved into the landscape, or drawn.
        allowed_in: &["crates/voxel-world/", "programs/"],
        allowed_as: &["small letters", "capital letters"],
        ..retired(&["letters"], "remote frees")
    },
    retired(&["pile", "piles"], "batch"),
    retired(&["shelf", "shelves"], "pool, pool table"),
    retired(&["seat", "seats"], "aliased range; thread slot"),
    retired(&["patience"], "block retention"),
    retired(&["grace"], "retention, hysteresis"),
    retired(&["regret", "regretted"], "hysteresis"),
    retired(&["loser", "losers"], "previous owners"),
    retired(&["lid", "lids"], "capacity"),
    retired(&["lessons"], "learned nogoods"),
    retired(&["twins"], "symmetry classes"),
    retired(&["era", "eras"], "window"),
    retired(&["meeting", "meetings"], "contention"),
    retired(&["parked"], "pending per queue"),
    Retired {
        allowed_as: &["home directory", "home folder", "cargo_home", "user's home", "\"home\""],
        ..retired(&["home", "homes"], "backing")
    },
    retired(&["estate", "estates"], "retired resource"),
    retired(&["keeper", "keepers"], "view guard"),
    retired(&["receipt", "receipts"], "free token"),
];

/// Everyday words that are not allowed as names of types.
pub(super) const NO_TYPES: &[(&str, &str)] = &[
    ("Fall", "AllocationFailure"),
    ("Form", "SetLayoutInner"),
    ("Garbage", "Retired"),
    ("Ground", "placement domain"),
    ("Held", "HandleInner"),
    ("Kinds", "ResourceDescTable"),
    ("Link", "RefShard"),
    ("Lone", "Dedicated"),
    ("Native", "ApiResource"),
    ("Place", "Location"),
    ("Sort", "PoolKey"),
    ("Spot", "Suballocation"),
    ("Turn", "AliasingHandoff"),
];
