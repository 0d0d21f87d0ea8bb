//! The agent card: who the agent is, where it is reached, what it can do.
//!
//! One document for both versions: 1.0 reads `supportedInterfaces`, 0.3 reads `url` and `protocolVersion`, and each leaves out what it
//! does not know.

use hyperscale_api::A2aVersion;
use hyperscale_tasks::runtime::Executors;
use serde_json::{Map, Value, json};

/// Names what `params` of the extension hold: the JSON Schemas of the inputs of all skills.
const EXECUTORS: &str = "urn:hyperscale:a2a:executors";
const DESCRIPTION: &str = "Runs durable tasks: load tests and the work around them. Send a data part with one task, {\"executor\": SKILL, \
                           \"inputs\": {…}}, or with a tree of tasks that wait for each other, {\"tasks\": {NAME: {\"executor\": SKILL, \
                           \"inputs\": {…}, \"depends\": [NAME]}}}; or the same as YAML in a text part. Results are artifacts.";

/// The card of a node with these executors, which is reached at this address.
pub(crate) fn card(executors: &Executors, url: &str, needs_token: bool) -> Value {
    let names = executors.names();
    let described = names.iter().filter_map(|name| Some((name, executors.get(name)?.schema())));
    let schemas: Map<String, Value> = described.map(|(name, schema)| (name.clone(), schema)).collect();
    let interface = |version: A2aVersion| json!({ "url": url, "protocolBinding": "JSONRPC", "protocolVersion": version.as_str() });
    let mut card = json!({
        "name": "Hyperscale",
        "description": DESCRIPTION,
        "version": env!("CARGO_PKG_VERSION"),
        "supportedInterfaces": A2aVersion::ALL.map(interface),
        "url": url,
        "preferredTransport": "JSONRPC",
        "protocolVersion": "0.3.0",
        "capabilities": {
            "streaming": true,
            "pushNotifications": false,
            "extendedAgentCard": false,
            "stateTransitionHistory": false,
            "extensions": [{
                "uri": EXECUTORS,
                "description": "JSON Schemas of the inputs of all skills",
                "required": false,
                "params": { "schemas": schemas },
            }],
        },
        "defaultInputModes": ["application/json", "application/yaml", "text/plain"],
        "defaultOutputModes": ["application/json"],
        "skills": schemas.iter().map(skill).collect::<Vec<_>>(),
    });
    if needs_token {
        // 1.0 names the scheme by its member, 0.3 by its type.
        card["securitySchemes"] = json!({
            "bearer": { "httpAuthSecurityScheme": { "scheme": "bearer" }, "type": "http", "scheme": "bearer" },
        });
        card["securityRequirements"] = json!([{ "schemes": { "bearer": { "list": [] } } }]);
        card["security"] = json!([{ "bearer": [] }]);
    }
    card
}

fn skill((name, schema): (&String, &Value)) -> Value {
    let example = |inputs: &Value| json!({ "executor": name, "inputs": inputs }).to_string();
    let examples = schema["examples"].as_array().into_iter().flatten();
    json!({
        "id": name,
        "name": name,
        "description": schema["description"],
        "tags": ["task", name],
        "examples": examples.map(example).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use hyperscale_tasks::runtime::executors::{Aggregate, Wait};

    use super::*;

    fn of(needs_token: bool) -> Value {
        card(&Executors::default().with(Wait).with(Aggregate), "http://127.0.0.1:7200/", needs_token)
    }

    #[test]
    fn card_is_read_by_both_versions() {
        let card = of(false);
        for (at, version) in ["1.0", "0.3"].into_iter().enumerate() {
            assert_eq!(
                card["supportedInterfaces"][at],
                json!({ "url": "http://127.0.0.1:7200/", "protocolBinding": "JSONRPC", "protocolVersion": version })
            );
        }
        assert_eq!(
            (&card["protocolVersion"], &card["url"], &card["preferredTransport"]),
            (&json!("0.3.0"), &json!("http://127.0.0.1:7200/"), &json!("JSONRPC"))
        );
        for member in
            ["name", "description", "version", "capabilities", "defaultInputModes", "defaultOutputModes"]
        {
            assert!(!card[member].is_null(), "both versions require {member}");
        }
        assert!(card.get("securitySchemes").is_none() && card.get("security").is_none());
    }

    #[test]
    fn skills_are_the_executors_with_their_schemas() {
        let card = of(false);
        let skills = card["skills"].as_array().unwrap();
        assert_eq!(
            skills.iter().map(|skill| skill["id"].as_str().unwrap()).collect::<Vec<_>>(),
            ["aggregate", "wait"]
        );
        let wait = &skills[1];
        assert_eq!(wait["description"], "Waits for some time.");
        assert_eq!(wait["examples"], json!(["{\"executor\":\"wait\",\"inputs\":{\"duration\":\"1m30s\"}}"]));
        let extension = &card["capabilities"]["extensions"][0];
        assert_eq!(extension["params"]["schemas"]["wait"]["required"], json!(["duration"]));
    }

    #[test]
    fn token_is_a_security_scheme_of_both_versions() {
        let card = of(true);
        let scheme = &card["securitySchemes"]["bearer"];
        assert_eq!(scheme["httpAuthSecurityScheme"]["scheme"], "bearer");
        assert_eq!((&scheme["type"], &scheme["scheme"]), (&json!("http"), &json!("bearer")));
        assert_eq!(card["securityRequirements"], json!([{ "schemes": { "bearer": { "list": [] } } }]));
        assert_eq!(card["security"], json!([{ "bearer": [] }]));
    }
}
