//! Plans that are right.

use hyperscale_plan::model::Plan;
use hyperscale_plan::render;

use crate::common::{folder, load_file};

fn good(name: &str) -> Plan {
    match load_file(&folder("good").join(name)) {
        Ok(loaded) => {
            assert!(loaded.warnings.is_empty(), "{}", render(&loaded.warnings));
            loaded.plan
        }
        Err(problems) => panic!("{}", render(&problems)),
    }
}

#[test]
fn the_example_of_the_contract_is_read_as_it_means() {
    let plan = good("checkout.yaml");
    let [auth, browse] = &*plan.workflows else { panic!("two workflows") };
    assert_eq!(auth.provides[0].to, [1]);
    assert_eq!(browse.uses[0].from, 0);
    assert_eq!(browse.steps.after, [vec![], vec![], vec![0, 1], vec![2]]);
    assert_eq!((auth.data.as_slice(), browse.data.as_slice()), (&[0][..], &[][..]));
    assert!(auth.steps.steps[0].needs.body, "a token is read from the body");
    assert!(!browse.steps.steps[1].needs.result, "nobody looks at the answer of `config`");
    assert_eq!(plan.thresholds.len(), 2);
    assert!(plan.thresholds[1].abort);
}
