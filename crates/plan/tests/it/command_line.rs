//! Plans of the command line: `run URL`, and numbers that replace those of a file.

use std::path::Path;

use hyperscale_plan::model::http::{Body, HttpVersion, Resume, Reuse};
use hyperscale_plan::model::workflow::{IterationCount, Load};
use hyperscale_plan::model::{Call, HttpRequest, Plan, StepKind};
use hyperscale_plan::{
    Given, Overrides, Source, UrlLoad, UrlOptions, UrlTls, from_url, load, override_load, render,
};
use hyperscale_types::{ByteSize, Rate, Span};
use minijinja::Value;

use crate::common::world;

fn url_plan(options: &UrlOptions) -> Plan {
    from_url(options).unwrap_or_else(|problems| panic!("{}", render(&problems))).plan
}

fn request(plan: &Plan) -> &HttpRequest {
    match &plan.workflows[0].steps.steps[0].kind {
        StepKind::Call(Call::Http(request)) => request,
        other => panic!("{other:?}"),
    }
}

fn url(url: &str) -> UrlOptions {
    UrlOptions { url: url.to_owned(), ..UrlOptions::default() }
}

#[test]
fn a_bare_url_is_ten_users_for_ten_seconds() {
    let plan = url_plan(&url("localhost:8080/x"));
    assert_eq!(plan.workflows[0].name.as_str(), "main");
    assert_eq!(plan.workflows[0].steps.steps[0].name.as_str(), "request");
    assert_eq!(request(&plan).url.source(), "http://localhost:8080/x");
    let Load::Closed { vus } = &plan.workflows[0].load else { panic!("closed") };
    assert_eq!((vus.peak_vus(), vus.length()), (10, Span::from_secs(10)));
}

#[test]
fn options_of_a_url_reach_the_request() {
    let plan = url_plan(&UrlOptions {
        method: Some("put".to_owned()),
        headers: ["X-A: 1:2", "x-b:3", "X-A: 4", "x-a: 5"].map(str::to_owned).into(),
        body: Some("hello".to_owned()),
        load: UrlLoad {
            rate: Some("50".to_owned()),
            vus: Some(7),
            duration: Some("3s".to_owned()),
            iterations: None,
        },
        http2: true,
        tls: UrlTls { insecure: true, ca: Some("ca.pem".to_owned()), ..UrlTls::default() },
        redirects: Some(0),
        max_body: Some("1KiB".to_owned()),
        no_keepalive: true,
        timeout: Some("1s".to_owned()),
        ..url("https://localhost/")
    });
    let request = request(&plan);
    assert_eq!(request.method, "PUT");
    let headers: Vec<_> =
        request.headers.iter().map(|(name, value)| (name.as_str(), value.source())).collect();
    assert_eq!(headers, [("x-a", "1:2"), ("x-a", "4"), ("x-a", "5"), ("x-b", "3")]);
    assert!(matches!(&request.body, Body::Text(text) if text.source() == "hello"));
    assert_eq!((request.transport.version, request.transport.reuse), (HttpVersion::Http2, Reuse::Call));
    assert!(request.transport.tls.insecure);
    assert_eq!(request.transport.tls.ca.as_deref(), Some(Path::new("ca.pem")));
    assert_eq!(request.limits.max_body, Some(ByteSize(1_024)));
    assert_eq!((request.limits.redirects, request.limits.timeout), (0, Span::from_secs(1)));
    assert!(matches!(plan.workflows[0].load, Load::Open { max_vus: 7, .. }));
}

#[test]
fn options_of_tls_reach_the_connection() {
    let text = |text: &str| Some(text.to_owned());
    for (word, resume) in [("off", Resume::Off), ("vu", Resume::Vu), ("shared", Resume::Shared)] {
        let tls =
            UrlTls { resume: text(word), cert: text("me.pem"), key: text("me.key"), ..UrlTls::default() };
        let plan = url_plan(&UrlOptions { tls, ..url("https://localhost/") });
        let tls = &request(&plan).transport.tls;
        assert_eq!(tls.resume, resume, "{word}");
        assert_eq!(tls.cert.as_deref(), Some(Path::new("me.pem")));
        assert_eq!(tls.key.as_deref(), Some(Path::new("me.key")));
    }
}

#[test]
fn wrong_options_are_problems_without_a_line() {
    for (options, wanted) in [
        (url("ftp://x/"), "scheme"),
        (url("http://a b/"), "host name"),
        (url(""), "no host"),
        (UrlOptions { headers: vec!["nonsense".to_owned()], ..url("http://x") }, "not a header"),
        (
            UrlOptions {
                load: UrlLoad { duration: Some("10".to_owned()), ..UrlLoad::default() },
                ..url("http://x")
            },
            "no unit",
        ),
        (
            UrlOptions {
                load: UrlLoad { rate: Some("fast".to_owned()), ..UrlLoad::default() },
                ..url("http://x")
            },
            "not a rate",
        ),
        (
            UrlOptions {
                load: UrlLoad { rate: Some("5".to_owned()), iterations: Some(3), ..UrlLoad::default() },
                ..url("http://x")
            },
            "contradict",
        ),
        (
            UrlOptions { load: UrlLoad { vus: Some(0), ..UrlLoad::default() }, ..url("http://x") },
            "out of range",
        ),
        (UrlOptions { body: Some("{{ nobody }}".to_owned()), ..url("http://x") }, "unknown name"),
    ] {
        let problems = from_url(&options).map(|_| ()).expect_err(wanted);
        let text = render(&problems);
        assert!(text.starts_with("command line: error: ") && text.contains(wanted), "{text}");
    }
}

#[test]
fn a_number_of_iterations_begins_with_all_its_vus() {
    let counted = UrlOptions {
        load: UrlLoad { vus: Some(50), iterations: Some(1000), ..UrlLoad::default() },
        ..url("http://x")
    };
    assert_eq!(url_plan(&counted).workflows[0].timing.ramp, Span::ZERO);
    let bounded =
        UrlOptions { load: UrlLoad { duration: Some("5s".to_owned()), ..counted.load.clone() }, ..counted };
    assert_eq!(url_plan(&bounded).workflows[0].timing.ramp, Span::ZERO, "an upper bound is not a duration");
    assert_eq!(url_plan(&url("http://x")).workflows[0].timing.ramp, Span::from_secs(1));
    assert_eq!(plan("vus: 5, iterations_per_vu: 10").workflows[0].timing.ramp, Span::ZERO);
    assert_eq!(plan("vus: 5, iterations: 10, ramp: 2s").workflows[0].timing.ramp, Span::from_secs(2));
}

fn plan(load_keys: &str) -> Plan {
    let text =
        format!("workflows: {{ A: {{ {load_keys}, steps: {{ a: {{ http: http://localhost/ }} }} }} }}");
    let loaded = load(&Source::file(Path::new("p.yaml"), text.as_bytes()), &world());
    loaded.unwrap_or_else(|problems| panic!("{}", render(&problems))).plan
}

#[test]
fn overrides_replace_numbers_and_what_follows_from_them() {
    let mut closed = plan("vus: 5, duration: 1s");
    let longer = Overrides { vus: Some(50), duration: Some(Span::from_secs(60)), ..Overrides::default() };
    override_load(&mut closed, &longer).expect("the model has both");
    let Load::Closed { vus } = &closed.workflows[0].load else { panic!("closed") };
    assert_eq!((vus.peak_vus(), vus.length()), (50, Span::from_secs(60)));
    assert_eq!(closed.workflows[0].timing.ramp, Span::from_secs(1), "the default follows the duration");

    let mut open = plan("rate: 10/s, duration: 1s");
    let faster = Overrides { rate: Some(Rate::per_second(1000.0)), ..Overrides::default() };
    override_load(&mut open, &faster).expect("the model has a rate");
    assert!(matches!(&open.workflows[0].load, Load::Open { max_vus: 2000, .. }));

    let mut counted = plan("vus: 5, iterations: 10");
    let more = Overrides { vus: Some(2), iterations: Some(99), ..Overrides::default() };
    override_load(&mut counted, &more).expect("the model counts");
    let wanted = Load::Iterations { vus: 2, count: IterationCount::Shared(99), max_duration: None };
    assert_eq!(counted.workflows[0].load, wanted);
}

#[test]
fn overrides_are_refused_where_the_model_has_no_such_number() {
    let vus = Overrides { vus: Some(5), ..Overrides::default() };
    let rate = Overrides { rate: Some(Rate::per_second(5.0)), ..Overrides::default() };
    let duration = Overrides { duration: Some(Span::from_secs(5)), ..Overrides::default() };
    let iterations = Overrides { iterations: Some(5), ..Overrides::default() };
    for (keys, overrides, wanted) in [
        (
            "stages: [{ to: 5, over: 5s }]",
            vus,
            "--vus does not fit workflow `A`: its VUs are given by stages",
        ),
        ("vus: 5, duration: 1s", rate, "its load model is not open"),
        ("rate: 5/s, stages: [{ to: 9/s, over: 5s }]", rate, "its rate is given by stages"),
        ("iterations: 5", duration, "it runs a number of iterations"),
        ("vus: 5, duration: 1s", iterations, "does not count iterations"),
        ("vus: 5, duration: 1s", Overrides { vus: Some(0), ..vus }, "1 … 1000000"),
    ] {
        let mut plan = plan(keys);
        let before = plan.workflows[0].load.clone();
        let problems = override_load(&mut plan, &overrides).expect_err(wanted);
        assert!(problems[0].message.contains(wanted), "{}", render(&problems));
        assert_eq!(plan.workflows[0].load, before, "a refused override changes nothing");
    }
}

#[test]
fn given_variables_replace_those_of_the_file_and_keep_their_type() {
    let text = b"vars: { a: x, n: 5, on: false, must: }\nworkflows: { A: { steps: { s: { http: http://localhost/ } } } }";
    let with = |overrides: &[(&str, &str)]| {
        let overrides =
            overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        load(&Source::file(Path::new("p.yaml"), text), &Given { overrides, ..Given::default() })
    };
    let plan = with(&[("n", "7"), ("on", "true"), ("must", "{{ a }}")]).expect("all have values").plan;
    let values: Vec<&Value> = plan.vars.iter().map(|(_, value)| value).collect();
    assert_eq!(values, [&Value::from("x"), &Value::from(7), &Value::from(true), &Value::from("{{ a }}")]);
    for (overrides, wanted) in [
        (&[("must", "x"), ("n", "many")][..], "the variable is a number"),
        (&[("must", "x"), ("nn", "1")], "no variable `nn`"),
        (&[], "`must` has no value"),
    ] {
        let problems = with(overrides).map(|_| ()).expect_err(wanted);
        assert!(render(&problems).contains(wanted), "{}", render(&problems));
    }
}
