//! Tests of the definition of a use.

use super::resolve::{ROOT, uses};
use super::source::Source;
use super::upward;

/// The uses of module `a` with this code, beside some other modules.
fn used_by_a(code: &str) -> Vec<String> {
    let text = format!(
        "mod a {{ {code} }}
         mod b {{ pub struct B; pub mod inner {{ pub struct In; }} pub use crate::d::D as FromD; }}
         mod c {{ pub fn c() {{}} made! {{ struct Made; }} }}
         mod d {{ pub struct D; pub(crate) use inner::*; mod inner {{ pub struct Deep; }} }}
         pub use b::{{B as Renamed, FromD}};
         pub use c::Made;
         pub use d::*;
         pub use tenure_plan::Plan;
         pub use tenure_plan as plans;
         struct OfRoot;"
    );
    let crates = ["tenure-plan".to_owned()];
    uses(&Source::of(&text), &crates)["a"].keys().cloned().collect()
}

#[test]
fn imports_name_modules_in_groups_and_with_new_names() {
    assert_eq!(used_by_a("use crate::{b::B, c::{self as other, c}};"), ["b", "c"]);
    assert_eq!(used_by_a("use crate::b as other; fn f() { other::inner::x(); }"), ["b"]);
    assert_eq!(used_by_a("use crate::b::*;"), ["b"]);
    assert_eq!(used_by_a("pub(crate) use super::c::c as run;"), ["c"]);
    assert_eq!(used_by_a("use crate::a::own; mod own {} use self::own as x;"), [""; 0]);
}

#[test]
fn parents_are_followed_from_nested_modules() {
    assert_eq!(used_by_a("mod x { use super::super::b::B; }"), ["b"]);
    assert_eq!(used_by_a("mod x { mod y { use super::super::super::c; } use super::z; }"), ["c"]);
    assert_eq!(used_by_a("mod x { use super::b; }"), [""; 0], "a::b is not b");
}

#[test]
fn a_name_of_the_root_is_of_the_module_that_defines_it() {
    assert_eq!(used_by_a("use crate::Renamed;"), ["b"]);
    assert_eq!(used_by_a("use crate::FromD;"), ["d"], "through another module's re-export");
    assert_eq!(used_by_a("use crate::{D, Deep};"), ["d"], "through globs");
    assert_eq!(used_by_a("use crate::Made;"), ["c"], "what a macro makes is where it was taken from");
    assert_eq!(used_by_a("use crate::OfRoot;"), [ROOT]);
}

#[test]
fn paths_count_wherever_they_are() {
    assert_eq!(used_by_a("fn f(x: &dyn crate::b::Trait) -> super::c::T { x.t() }"), ["b", "c"]);
    assert_eq!(used_by_a("impl From<crate::b::B> for X {}"), ["b"]);
    assert_eq!(used_by_a("fn f() { println!(\"{}\", crate::c::c()); }"), ["c"]);
    assert_eq!(
        used_by_a("macro_rules! m { () => { $crate::b::B; use crate::{c, d::D}; } }"),
        ["b", "c", "d"]
    );
    assert_eq!(used_by_a("fn f() { use crate::d::D; }"), ["d"]);
    assert_eq!(used_by_a("fn f() { <crate::b::B as Clone>::clone(&b) }"), ["b"]);
    assert_eq!(used_by_a("struct X { #[doc = \"crate::b::B\"] x: u32 }"), [""; 0]);
}

#[test]
fn other_crates_are_distinguished_from_modules_of_their_name() {
    assert_eq!(used_by_a("use tenure_plan::Plan;"), ["tenure-plan"]);
    assert_eq!(used_by_a("use tenure_plan as plan;"), ["tenure-plan"]);
    assert_eq!(used_by_a("fn f() { tenure_plan::plan(); std::mem::drop(1) }"), ["tenure-plan"]);
    assert_eq!(used_by_a("mod tenure_plan {} use tenure_plan::Plan;"), [""; 0]);
    assert_eq!(used_by_a("use crate::Plan;"), ["tenure-plan"], "through the root");
    assert_eq!(used_by_a("fn f() { crate::plans::plan() }"), ["tenure-plan"], "by another name");
}

#[test]
fn tests_and_documentation_do_not_count() {
    assert_eq!(used_by_a("#[cfg(test)] mod tests { use crate::b::B; }"), [""; 0]);
    assert_eq!(used_by_a("#[cfg(all(test, not(loom)))] use crate::b;"), [""; 0]);
    assert_eq!(used_by_a("#[cfg(any(test, feature = \"x\"))] use crate::b;"), ["b"]);
    assert_eq!(used_by_a("impl X { #[cfg(test)] fn f() { crate::b::f() } fn g() {} }"), [""; 0]);
    assert_eq!(used_by_a("#[test] fn f() { crate::b::f() }"), [""; 0]);
    assert_eq!(used_by_a("/// [`crate::b::B`]\nstruct X;"), [""; 0]);
    assert_eq!(used_by_a("pub(in crate::b) struct X;"), [""; 0]);
}

#[test]
fn a_glob_of_the_root_uses_all_of_it() {
    for code in
        ["use crate::*;", "use super::*;", "use crate as top;", "use super as top; fn f() { top::b::b() }"]
    {
        assert_eq!(used_by_a(code), [ROOT, "b", "c", "d"], "{code}");
    }
    assert_eq!(used_by_a("use crate::{self as top};"), [ROOT, "b", "c", "d"]);
    assert_eq!(used_by_a("mod x { use super::*; }"), [""; 0], "those of a");
    assert_eq!(used_by_a("mod x { use super::super::*; }"), [ROOT, "b", "c", "d"]);
    assert_eq!(used_by_a("extern crate self as top; fn f() { top::b::b() }"), [ROOT, "b", "c", "d"]);
}

#[test]
fn uses_in_macros_and_attributes_are_found() {
    assert_eq!(used_by_a("macro_rules! m { ($to:ident) => { crate::$to::x() } }"), [ROOT, "b", "c", "d"]);
    assert_eq!(used_by_a("#[serde(with = \"crate::b::inner\")] struct X;"), ["b"]);
}

#[test]
fn trait_objects_that_can_call_upwards_are_refused() {
    for code in [
        "struct A { b: OnceLock<Box<dyn Services<D>>> }",
        "struct A { b: std::cell::OnceCell<Arc<dyn Fn(u32) + Send>> }",
        "fn f(a: Weak<A>) { g(a as Mutex<Vec<Weak<dyn Follower<D>>>>) }",
        "struct A { kept: Box<dyn std::any::Any + Send + Sync> }",
    ] {
        assert_eq!(upward(&Source::of(code)).len(), 1, "{code}");
    }
    for code in [
        "fn end(payload: Box<dyn std::any::Any + Send + 'static>) {}",
        "pub trait Recorder {} struct A { recorder: OnceLock<Box<dyn Recorder>> }",
        "fn place(room: &dyn MakeRoom, kept: Box<dyn Send>, b: OnceLock<Box<[Weak<B>]>>) {}",
        "#[cfg(test)] mod tests { struct A { b: Weak<dyn B> } }",
    ] {
        assert_eq!(upward(&Source::of(code)), [""; 0], "{code}");
    }
}
