//! Plans that are right.

use hyperscale_plan::explain::explain;
use hyperscale_plan::model::Plan;
use hyperscale_plan::model::http::{Body, Resume};
use hyperscale_plan::model::step::{Action, Call, StepKind};
use hyperscale_plan::model::workflow::{ArrivalKind, IterationCount, Load};
use hyperscale_plan::render;
use hyperscale_types::Span;

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

#[test]
fn yaml_toml_and_json_give_the_same_plan() {
    for name in ["checkout", "everything"] {
        let [yaml, toml, json] = ["yaml", "toml", "json"].map(|format| {
            // Only the text itself differs.
            format!("{:#?}", Plan { source: None, ..good(&format!("{name}.{format}")) })
        });
        assert!(yaml == toml, "{name}: TOML differs\n{}", difference(&yaml, &toml));
        assert!(yaml == json, "{name}: JSON differs\n{}", difference(&yaml, &json));
    }
}

fn difference(a: &str, b: &str) -> String {
    let lines = a.lines().zip(b.lines()).find(|(a, b)| a != b);
    lines.map_or_else(|| "one is longer".to_owned(), |(a, b)| format!("{a}\n{b}"))
}

#[test]
fn every_load_model_is_read() {
    let plan = good("everything.yaml");
    let load = |at: usize| &plan.workflows[at].load;
    assert!(matches!(
        load(0),
        Load::Iterations { vus: 1, count: IterationCount::Shared(1), max_duration: None }
    ));
    assert!(
        matches!(load(1), Load::Closed { vus } if vus.peak_vus() == 100 && vus.length() == Span::from_secs(90))
    );
    assert!(matches!(load(2), Load::Open { rate, max_vus: 7, .. } if (rate.peak() - 1.5).abs() < 1e-9));
    assert!(matches!(load(3), Load::Iterations { vus: 3, count: IterationCount::PerVu(4), .. }));
    assert!(matches!(load(4), Load::Paced { vus: 2, interval, .. } if *interval == Span::from_millis(500)));
    assert_eq!(
        plan.workflows[4].timing.ramp,
        Span::from_secs(1),
        "a tenth of the duration, at most a second"
    );
}

#[test]
fn defaults_are_merged_from_plan_and_workflow() {
    let plan = good("everything.yaml");
    let request = |step: usize| match &plan.workflows[1].steps.steps[step].kind {
        StepKind::Call(Call::Http(request)) => request,
        other => panic!("{other:?}"),
    };
    let headers = |step: usize| -> Vec<(&str, &str)> {
        request(step).headers.iter().map(|(name, value)| (name.as_str(), value.source())).collect()
    };
    assert_eq!(headers(0), [("accept", "text/html"), ("x-region", "{{ region }}")]);
    assert_eq!(headers(1), [("x-region", "{{ region }}")], "an empty list takes a default away");
    assert_eq!(request(0).transport.connections, Some(4));
    assert_eq!(request(0).limits.timeout, Span::from_secs(10));
    assert_eq!(request(0).transport.tls.resume, Resume::Off);
    assert!(matches!(request(1).body, Body::Multipart(_)));
    assert_eq!(request(1).method, "POST", "a request with a body posts unless told otherwise");
}

#[test]
fn needs_follow_from_everything_that_refers_to_a_step() {
    let plan = good("everything.yaml");
    let shop = &plan.workflows[1];
    let cart = shop.steps.steps[0].needs;
    assert!(cart.result && cart.headers && cart.body);
    let enter = shop.vu_setup.steps[0].needs;
    assert!(enter.result && enter.headers && enter.body, "cookie, regex and JSON are extracted");
    let upload = shop.steps.steps[1].needs;
    assert!(!upload.result && !upload.headers && !upload.body);
    assert!(shop.setup.steps[0].needs.body, "`vu_setup` and `teardown` read its JSON");
    assert!(plan.workflows[0].steps.steps[0].needs.body, "`provide` reads its JSON");
    assert_eq!(shop.data, [0, 1]);
    assert!(plan.workflows[0].provides[1].from_stats);
}

#[test]
fn a_list_of_steps_keeps_its_order_and_forks_where_it_says() {
    let plan = good("everything.yaml");
    let graph = &plan.workflows[1].steps;
    assert_eq!(graph.after[4], [1, 2, 3]);
    assert!(!graph.is_sequence());
    assert!(matches!(&graph.steps[4].kind, StepKind::Action(Action::Set(_))));
    assert_eq!(graph.order, [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn explanations_say_what_is_prepared_and_what_is_filled() {
    for name in ["checkout", "everything"] {
        insta::assert_snapshot!(format!("explain_{name}"), explain(&good(&format!("{name}.yaml")), 8));
    }
    let json = serde_json::to_string_pretty(&explain(&good("checkout.yaml"), 8)).expect("it is data");
    insta::assert_snapshot!("explain_checkout_json", json);
}

#[test]
fn a_mix_splits_the_load_of_the_plan() {
    let plan = good("mix.yaml");
    let [login, browse, buy] = &*plan.workflows else { panic!("three workflows") };
    assert!(matches!(login.load, Load::Iterations { .. }), "it has load keys of its own");
    let rate = |workflow: &hyperscale_plan::model::Workflow| match &workflow.load {
        Load::Open { rate, arrivals: ArrivalKind::Dealt(_), max_vus, .. } => (rate.peak(), *max_vus),
        other => panic!("{other:?}"),
    };
    assert_eq!((rate(browse), rate(buy)), ((350.0, 700), (150.0, 300)));
    assert_eq!((&*browse.depends, &*buy.depends), (&[0][..], &[0][..]), "they begin together");
    assert_eq!([browse.timing.start_after, buy.timing.start_after], [Span::from_secs(2); 2]);
    assert_eq!(
        (browse.timing.graceful_stop, buy.timing.graceful_stop),
        (Span::from_secs(30), Span::from_secs(5))
    );
    let mix = plan.mix.expect("the plan has a load");
    assert_eq!(mix.rates(1_000.0), [700.0, 300.0]);
    assert_eq!(mix.vus(11), [8, 3]);
}

#[test]
fn a_mix_splits_vus_and_iterations_exactly() {
    let plan = |load: &str| {
        let steps = "steps: { a: { http: http://localhost/ } }";
        let text =
            format!("load: {{ {load} }}\nworkflows: {{ A: {{ weight: 2, {steps} }}, B: {{ {steps} }} }}");
        let source = hyperscale_plan::Source::file(std::path::Path::new("p.yaml"), text.as_bytes());
        let plan = hyperscale_plan::load(&source, &crate::common::world());
        plan.unwrap_or_else(|problems| panic!("{}", render(&problems))).plan
    };
    let loads =
        |load: &str| plan(load).workflows.into_iter().map(|workflow| workflow.load).collect::<Vec<_>>();
    let closed = loads("stages: [ { to: 10, over: 10s }, { to: 0, over: 5s } ]");
    let peak = |load: &Load| match load {
        Load::Closed { vus } => vus.peak_vus(),
        other => panic!("{other:?}"),
    };
    let peaks: Vec<u32> = closed.iter().map(peak).collect();
    assert_eq!(peaks, [7, 3]);
    let counts = |load: &Load| match load {
        Load::Iterations { vus, count, .. } => (*vus, *count),
        other => panic!("{other:?}"),
    };
    let shared: Vec<_> = loads("vus: 4, iterations: 100").iter().map(counts).collect();
    assert_eq!(shared, [(3, IterationCount::Shared(67)), (1, IterationCount::Shared(33))]);
    let each: Vec<_> = loads("vus: 4, iterations_per_vu: 5").iter().map(counts).collect();
    assert_eq!(each, [(3, IterationCount::PerVu(5)), (1, IterationCount::PerVu(5))]);
    let mut changed = plan("vus: 4, duration: 1m");
    let vus = |vus| hyperscale_plan::Overrides { vus: Some(vus), ..Default::default() };
    hyperscale_plan::override_load(&mut changed, &vus(9)).expect("it fits");
    assert_eq!(
        changed.workflows.iter().map(hyperscale_plan::model::Workflow::vus_max).collect::<Vec<_>>(),
        [6, 3]
    );
    let problems = hyperscale_plan::override_load(&mut changed, &vus(1)).expect_err("too few");
    assert!(render(&problems).contains("2 workflows share"), "{}", render(&problems));
}

#[test]
fn batches_say_who_shares_cores_and_who_waits() {
    let steps = "steps: { a: { http: http://localhost/ } }";
    let text = format!(
        "workflows:\n  A: {{ vus: 9, duration: 1s, {steps} }}\n  B: {{ vus: 9, duration: 1s, {steps} }}\n  \
         C: {{ vus: 1, duration: 1s, {steps} }}\n  H: {{ vus: 9, duration: 1s, priority: high, {steps} }}\n  \
         After: {{ depends: [H], {steps} }}\n"
    );
    let source = hyperscale_plan::Source::file(std::path::Path::new("p.yaml"), text.as_bytes());
    let plan = hyperscale_plan::load(&source, &crate::common::world()).expect("a plan").plan;
    let batches = |cores| explain(&plan, cores).batches.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(batches(8), ["H on 6 cores, A + B + C share 2 cores", "After on 1 core"]);
    assert_eq!(
        batches(2),
        [
            "H on 2 cores; A ready, waiting_for_cores (at least 1); B ready, waiting_for_cores (at least 1); \
             C ready, waiting_for_cores (at least 1)",
            "A + After + B + C share 2 cores",
        ]
    );
}
