//! Fuzz harness of templates: they are text from outside, and what fills them is text from servers.

use super::tests::{Names, Values};
use super::*;

/// Whatever a template is, it is refused or filled, and what stands in a header, URL or JSON document stays inside.
#[test]
fn fuzz_template() {
    bolero::check!(name = "template").for_each(|bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let _ = Expr::parse(&text, &Names).map(|expr| expr.value(&Values));
        let Ok(template) = Template::parse(&text, &Names) else { return };
        let holes: usize = template.holes().count();
        assert!(template.is_constant() == (holes == 0));
        for escape in [Escape::Header, Escape::Url, Escape::JsonString, Escape::None] {
            let mut out = b"kept".to_vec();
            if template.fill(&Values, escape, &mut out).is_err() {
                assert_eq!(out, b"kept", "an error leaves nothing behind");
            }
            assert!(out.starts_with(b"kept"));
        }
        let document = serde_json::json!({ "a": text, "b": [text] });
        let Ok(json) = JsonTemplate::parse(&document, &Names) else { return };
        let mut out = Vec::new();
        if json.fill(&Values, &mut out).is_ok() {
            serde_json::from_slice::<serde_json::Value>(&out).expect("a filled document is JSON");
        }
    });
}
