//! What is easily lost on the way from another tool to a plan, one thing each.

use hyperscale_convert::{Converted, Options, convert};
use serde_json::{Value, json};

use crate::support::{assert_valid, converted};

fn from(text: &str) -> Converted {
    let converted = converted("input", text.as_bytes());
    assert_valid(&converted);
    converted
}

/// A step, by its place in the plan.
fn step(converted: &Converted, at: usize) -> Value {
    let steps = converted.plan["workflows"]["Main"]["steps"].as_object().unwrap();
    steps.values().nth(at).unwrap_or_else(|| panic!("no step {at}: {}", converted.plan)).clone()
}

#[track_caller]
fn assert_note(converted: &Converted, part: &str) {
    assert!(converted.notes.iter().any(|note| note.message.contains(part)), "{part}: {:?}", converted.notes);
}

#[test]
fn a_host_that_differs_from_the_url_is_kept() {
    let other = from("curl http://127.0.0.1:8080/ -H 'Host: shop.example.com'");
    assert_eq!(step(&other, 0)["http"]["headers"]["Host"], "shop.example.com");
    let same = from("curl http://127.0.0.1:8080/ -H 'Host: 127.0.0.1:8080' -H 'x-a: 1'");
    assert_eq!(step(&same, 0)["http"]["headers"], json!({ "x-a": "1" }));
}

#[test]
fn bodies_from_standard_input_are_left_out_and_the_method_stays() {
    for command in [
        "curl http://h/ --data-binary @-",
        "curl http://h/ -d @- <<EOF\n{ \"it's\": 1 }\nEOF",
        "curl http://h/ --json @- < body.json",
    ] {
        let converted = from(command);
        assert_note(&converted, "standard input");
        let http = &step(&converted, 0)["http"];
        assert_eq!(
            (&http["method"], http.get("file"), http.get("body")),
            (&json!("POST"), None, None),
            "{http}"
        );
        assert_eq!(converted.requests, 1, "{}", converted.plan);
    }
}

#[test]
fn variables_of_steps_that_were_left_out_are_forgotten() {
    let converted = from("curl http://h/\ncurl 'http://a b/' -H \"x: $GONE\"");
    assert_note(&converted, "left out");
    assert_eq!(converted.plan["vars"], json!({ "base": "http://h" }));
}

#[test]
fn commands_inside_of_commands_become_variables_with_a_note() {
    let converted = from("curl http://h/ -H \"x-key: $(cat token)\" -H 'x-when: `date`' -H x-now:`date`");
    let http = &step(&converted, 0)["http"];
    assert_eq!(
        http["headers"],
        json!({ "x-key": "{{ cat_token }}", "x-when": "`date`", "x-now": "{{ date }}" })
    );
    assert_note(&converted, "the shell would run `cat token`: set CAT_TOKEN, or give --var cat_token=…");
}

#[test]
fn commands_copied_for_windows_are_understood() {
    let text = "curl ^\"http://h/a?b=1^&c=^%^20^\" ^\r\n  -H ^\"accept: */*^\" ^\r\n  --data-raw ^\"^{^\\^\"a^\\^\":1^}^\" ^\r\n  -H ^\"content-type: application/json^\"";
    let converted = from(text);
    let http = &step(&converted, 0)["http"];
    assert_eq!((&http["url"], &http["json"]), (&json!("{{ base }}/a?b=1&c=%20"), &json!({ "a": 1 })));
    assert_eq!(http["headers"], json!({ "accept": "*/*" }));
}

fn har(entries: &Value) -> String {
    json!({ "log": { "entries": entries } }).to_string()
}

fn entry(url: &str, post: &Value) -> Value {
    json!({ "request": { "method": "POST", "url": url, "headers": [], "postData": post }, "response": { "status": 200 } })
}

#[test]
fn multipart_bodies_recorded_as_text_are_sent_as_recorded() {
    let text = "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--b--\r\n";
    let post = json!({ "mimeType": "multipart/form-data; boundary=b", "params": [], "text": text });
    let converted = from(&har(&json!([entry("http://h/", &post)])));
    let http = &step(&converted, 0)["http"];
    assert_eq!(http["body"], text);
    assert_eq!(http["headers"]["content-type"], "multipart/form-data; boundary=b");
}

#[test]
fn bodies_in_base64_are_decoded_and_what_is_no_text_is_said() {
    let post = |text: &str| json!({ "mimeType": "text/plain", "encoding": "base64", "text": text });
    let entries = json!([entry("http://h/", &post("aGVsbG8=")), entry("http://h/", &post("/////w=="))]);
    let converted = from(&har(&entries));
    assert_eq!(step(&converted, 0)["http"]["body"], "hello");
    assert_eq!(step(&converted, 1)["http"].get("body"), None);
    assert_note(&converted, "the body is not a text");
}

#[test]
fn third_parties_of_a_recording_are_listed_and_can_be_left_out() {
    let urls = [
        "http://shop.example:80/",
        "http://api.shop.example/",
        "https://count.example/",
        "http://notshop.example/",
    ];
    let text = har(&urls.iter().map(|url| entry(url, &Value::Null)).collect::<Value>());
    let all = from(&text);
    assert_eq!(all.requests, 4);
    assert_note(
        &all,
        "load goes to several hosts: api.shop.example (1), count.example (1), notshop.example (1), shop.example (1)",
    );
    let options = Options { only: vec!["Shop.example".to_owned()], ..Options::default() };
    let own = convert("input", text.as_bytes(), None, options).unwrap();
    assert_eq!(own.requests, 2);
    assert_note(&own, "requests to other hosts are left out: count.example (1), notshop.example (1)");
}

fn openapi(path: &str, operation: &Value) -> Converted {
    let document = json!({
        "openapi": "3.0.0",
        "servers": [{ "url": "http://h" }],
        "paths": { path: { "post": operation }, "/later": { "get": {} } },
    });
    from(&document.to_string())
}

fn with_body(media_type: &str, schema: &Value) -> Converted {
    openapi("/form", &json!({ "requestBody": { "content": { media_type: { "schema": schema } } } }))
}

#[test]
fn parts_of_a_path_that_nobody_declares_get_a_value_and_a_note() {
    let converted = openapi("/users/{id}", &json!({}));
    assert_eq!(step(&converted, 0)["http"]["url"], "{{ base }}/users/1");
    assert_note(&converted, "id=1 (of the path, declared nowhere)");
}

#[test]
fn optional_properties_with_an_example_are_sent() {
    let schema = json!({
        "required": ["a"],
        "properties": { "a": { "type": "integer" }, "b": { "type": "string", "example": "x" }, "c": { "type": "string" } },
    });
    assert_eq!(step(&with_body("application/json", &schema), 0)["http"]["json"], json!({ "a": 1, "b": "x" }));
}

#[test]
fn forms_in_which_nothing_is_required_are_filled() {
    let schema = json!({ "properties": { "name": { "type": "string" }, "file": { "type": "string", "format": "binary" } } });
    let form = with_body("application/x-www-form-urlencoded", &schema);
    assert_eq!(step(&form, 0)["http"]["form"], json!({ "name": "text", "file": "text" }));
    let upload = with_body("multipart/form-data", &schema);
    assert_eq!(step(&upload, 0)["http"]["multipart"], json!({ "name": "text", "file": { "file": "file" } }));
}

#[test]
fn a_refused_operation_does_not_skip_the_next_one() {
    let converted = openapi("/users/{id}", &json!({}));
    for at in 0..2 {
        let step = step(&converted, at);
        assert_eq!(step["expect"], json!({ "status": ["2xx", "3xx", "4xx"] }));
        assert_eq!(step["check"], json!({ "status": ["2xx", "3xx"] }));
    }
    assert_note(&converted, "4xx are taken as answers");
}

fn postman(variables: &Value, items: &Value) -> Converted {
    let document = json!({
        "info": { "name": "x", "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json" },
        "variable": variables,
        "item": items,
    });
    from(&document.to_string())
}

#[test]
fn values_that_scripts_keep_reach_later_requests() {
    let script = [
        "const json = pm.response.json();",
        "pm.environment.set('token', json.token);",
        "pm.test('ok', function () {",
        "  pm.response.to.have.status(200);",
        "});",
    ];
    let login = json!({ "name": "Log in", "request": { "method": "POST", "url": "http://h/login" },
        "event": [{ "listen": "test", "script": { "exec": script } }] });
    let auth = json!({ "type": "bearer", "bearer": [{ "key": "token", "value": "{{token}}" }] });
    let page = json!({ "name": "Page", "request": { "url": "http://h/page", "auth": auth } });
    let converted = postman(&json!([{ "key": "token", "value": "" }]), &json!([login, page]));
    let login = step(&converted, 0);
    assert_eq!(
        (&login["extract"], &login["check"]),
        (&json!({ "token": "$.token" }), &json!({ "status": 200 }))
    );
    assert_eq!(step(&converted, 1)["http"]["auth"]["bearer"], "{{ Log_in.token }}");
    assert!(converted.notes.is_empty(), "{:?}", converted.notes);
    assert_eq!(converted.plan["vars"], json!({ "base": "http://h" }));
}

#[test]
fn a_bearer_token_that_is_empty_is_said() {
    let auth = json!({ "type": "bearer", "bearer": [{ "key": "token", "value": "{{mine}}" }] });
    let page = json!({ "name": "Page", "request": { "url": "http://h/page", "auth": auth } });
    let converted = postman(&json!([{ "key": "mine", "value": "" }]), &json!([page]));
    assert_note(&converted, "the bearer token `{{mine}}` is empty in the collection");
}
