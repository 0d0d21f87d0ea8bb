use minijinja::Value;
use serde_json::json;

use super::*;

/// `base` and `token` are variables, `login` a step, `data.users` a row, `vu.id` a number.
pub(super) struct Names;

impl Resolver for Names {
    fn resolve(&self, words: &[&str]) -> Result<(Root, usize), String> {
        match words {
            ["base", ..] => Ok((Root::Var(0), 1)),
            ["get-user", ..] => Ok((Root::Var(1), 1)),
            ["login", ..] => Ok((Root::Step(0), 1)),
            ["skipped", ..] => Ok((Root::Step(1), 1)),
            ["data", "users", ..] => Ok((Root::Data(0), 2)),
            ["vu", "id", ..] => Ok((Root::VuId, 2)),
            ["random", ..] => Ok((Root::Random, 1)),
            [name, ..] => Err(format!("unknown name `{name}`")),
            [] => Err("no name".to_owned()),
        }
    }
}

pub(super) struct Values;

impl Scope for Values {
    fn root(&self, root: Root) -> Value {
        match root {
            Root::Var(0) => "http://a/b".into(),
            Root::Var(_) => Value::from_pairs([("id", 5)]),
            Root::Step(0) => serde_json::from_value(
                json!({"token": "a b\"c", "n": 3, "ok": true, "none": null, "list": [1, {"x": "y"}], "h": {"x-id": "7"}}),
            )
            .expect("JSON is a value"),
            Root::Data(_) => Value::from_pairs([("name", "zoë")]),
            Root::VuId => 9.into(),
            Root::Random => Value::from_function(|low: i64, _high: i64| low),
            _ => Value::UNDEFINED,
        }
    }
}

fn fill(source: &str, escape: Escape) -> Result<String, String> {
    let template = Template::parse(source, &Names).map_err(|e| format!("{}: {e}", e.offset))?;
    let mut out = b"kept:".to_vec();
    let result = template.fill(&Values, escape, &mut out);
    let text = String::from_utf8(out).expect("text");
    match result {
        Ok(()) => Ok(text["kept:".len()..].to_owned()),
        Err(e) => {
            assert_eq!(text, "kept:", "an error leaves nothing behind");
            Err(e.to_string())
        }
    }
}

#[test]
fn paths_expressions_and_blocks_are_filled() {
    for (source, wanted) in [
        ("plain", "plain"),
        ("", ""),
        ("{{ base }}/users", "http://a/b/users"),
        ("{{login.token}}", "a b\"c"),
        ("{{ login.list[1].x }}-{{ login.h['x-id'] }}", "y-7"),
        ("{{ login.list }}", r#"[1,{"x":"y"}]"#),
        ("{{ login.none }}", "null"),
        ("{{ data.users.name }} {{ vu.id }}", "zoë 9"),
        ("{{ get-user.id }}", "5"),
        ("{{ login.n + 1 }}", "4"),
        ("{{ login.n-1 }}", "2"),
        ("{{ data.users.name | upper }}", "ZOË"),
        ("{{ '}}' ~ login.n }}", "}}3"),
        ("{{ {'a': {'b': 1}} }}", r#"{"a":{"b":1}}"#),
        ("{{ random(3, 4) }}", "3"),
        ("{% if login.ok %}yes {{ vu.id }}{% else %}no{% endif %}", "yes 9"),
    ] {
        assert_eq!(fill(source, Escape::None).as_deref(), Ok(wanted), "{source}");
    }
}

#[test]
fn what_is_not_there_is_an_error_and_writes_nothing() {
    for (source, wanted) in [
        ("a{{ login.missing }}b", "`login.missing` is not there"),
        ("{{ skipped.token }}", "`skipped.token` is not there"),
        ("{{ login.list[9] }}", "`login.list[9]` is not there"),
        ("{{ nobody }}", "3: unknown name `nobody`"),
        ("{{ nobody + 1 }}", "3: unknown name `nobody`"),
        ("x{{ login", "1: `{{` is never closed with `}}`"),
        ("{{ }}", "3: `{{ }}` is empty"),
    ] {
        assert_eq!(fill(source, Escape::None), Err(wanted.to_owned()), "{source}");
    }
    assert!(fill("{{ login.missing + 1 }}", Escape::None).is_err());
}

#[test]
fn an_endless_template_is_stopped() {
    let source = "{% for a in range(9999) %}{% for b in range(9999) %}{{ b }}{% endfor %}{% endfor %}";
    assert!(fill(source, Escape::None).is_err());
}

#[test]
fn values_are_escaped_for_their_place() {
    assert_eq!(fill("/x?q={{ login.token }}", Escape::Url).as_deref(), Ok("/x?q=a%20b%22c"));
    assert_eq!(fill("{{ login.token }}", Escape::Form).as_deref(), Ok("a+b%22c"));
    assert_eq!(fill("{{ data.users.name }}", Escape::Url).as_deref(), Ok("zo%C3%AB"));
    assert_eq!(fill("{{ login.token }}", Escape::JsonString).as_deref(), Ok(r#"a b\"c"#));
    assert!(fill("{{ login.token }}", Escape::UrlVerbatim).is_err());
    for text in ["a\\nb", "a\\rb", "a\\r\\nb", "\\u0000"] {
        assert!(fill(&format!("{{{{ '{text}' }}}}"), Escape::Header).is_err(), "{text}: no header injection");
    }
}

#[test]
fn a_single_hole_keeps_its_type() {
    let value = |source| Template::parse(source, &Names).expect(source).value(&Values).expect(source);
    assert_eq!(value("{{ login.n }}"), Value::from(3));
    assert_eq!(value("{{ login.n }}!"), Value::from("3!"));
}

#[test]
fn json_documents_keep_types_and_order() {
    let document =
        json!({"b": "{{ login.n }}", "a": ["{{ login.token }}", "x{{ login.token }}", 1.5, null], "c\"": {}});
    let template = JsonTemplate::parse(&document, &Names).expect("parses");
    let mut out = Vec::new();
    template.fill(&Values, &mut out).expect("fills");
    assert_eq!(
        String::from_utf8(out).expect("text"),
        r#"{"b":3,"a":["a b\"c","xa b\"c",1.5,null],"c\"":{}}"#
    );
    assert!(JsonTemplate::parse(&json!([1, "x"]), &Names).expect("parses").as_constant().is_some());
}

#[test]
fn known_roots_are_prepared_into_constants() {
    let template = Template::parse("{{ base }}/u/{{ vu.id }}", &Names).expect("parses");
    let prepared = template.prepare(&Values, Root::is_constant, Escape::None).expect("prepares");
    assert!(matches!(prepared.pieces(), [Piece::Const(text), Piece::Hole(_)] if &**text == "http://a/b/u/"));
    let impure = Template::parse("{{ random(1, 2) }}", &Names).expect("parses");
    assert!(!impure.prepare(&Values, |_| true, Escape::None).expect("prepares").is_constant());
}

#[test]
fn ordering_values_of_different_types_is_an_error() {
    for source in [
        "base < 5",
        "5 >= base",
        "login.list > 5",
        "login.none < 5",
        "login.ok < 5",
        "1 + 1 < base",
        "1 < 2 < base",
        "login.h['x-id'] > 100",
    ] {
        let said = Expr::parse(source, &Names).expect(source).is_true(&Values);
        assert!(matches!(said, Err(FillError::Failed { .. })), "{source}: {said:?}");
    }
    for (source, holds) in [
        ("base == 5", false),
        ("base != 5", true),
        ("base < 'zzz'", true),
        ("login.n < 3.5", true),
        ("1 < login.n < 4", true),
        ("4 > login.n > 3", false),
        ("login.h['x-id'] | int > 100", false),
    ] {
        assert_eq!(Expr::parse(source, &Names).expect(source).is_true(&Values), Ok(holds), "{source}");
    }
    assert_eq!(fill("{% if login.n < 4 %}<b>{% endif %}", Escape::None).as_deref(), Ok("<b>"));
    let said =
        fill("{% if base > 5 %}<b>{% endif %}", Escape::None).expect_err("a text has no order with a number");
    assert!(said.contains("cannot order a text and a number"), "{said}");
}
