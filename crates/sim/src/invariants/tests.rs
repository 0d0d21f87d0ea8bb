use super::*;

#[derive(Debug)]
struct Always(Verdict);

impl Invariant for Always {
    fn name(&self) -> &'static str {
        "always"
    }

    fn see(&mut self, _: &Seen<'_>) -> Verdict {
        self.0.clone()
    }
}

#[test]
fn first_objection_is_kept() {
    let mut judges = Judges::of(vec![Box::new(Always(Ok(())))]);
    judges.object("a", Moment(1), None, "first".into());
    judges.object("b", Moment(2), None, "second".into());
    assert_eq!(judges.violation().map(|it| it.invariant), Some("a"));
    assert!(Judges::all().is_thorough() && !judges.is_thorough());
}

#[test]
fn every_invariant_has_its_own_name() {
    let judges = Judges::all();
    let names: std::collections::BTreeSet<_> = judges.watching.iter().map(|it| it.name()).collect();
    assert_eq!(names.len(), judges.watching.len());
}

#[test]
fn black_box_hides_what_is_inside_and_nothing_else() {
    let names = |judges: &Judges| judges.watching.iter().map(|it| it.name()).collect::<Vec<_>>();
    let (all, outside) = (names(&Judges::all()), names(&Judges::black_box()));
    assert!(WHITE_BOX.iter().all(|name| all.contains(name) && !outside.contains(name)));
    assert_eq!(outside.len() + WHITE_BOX.len(), all.len());
}
