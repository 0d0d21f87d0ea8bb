//! Plans: templates, extractions and checks on top of the requests.

use std::fs;

use anyhow::{Context, Result};

use super::{CONNECTIONS, Findings, ratio_outcome};
use crate::bench::client::{self, OURS, PATH_IS_NO_TEXT, Work};
use crate::bench::contest::{Contest, Sample};
use crate::bench::goal::Bound::{AtLeast, AtMost};
use crate::bench::goal::Outcome;
use crate::bench::lab::Lab;

/// What the minimal server answers to every step of the plan.
const ANSWER: &str =
    r#"{"token":"t-81f3a0","total":42,"items":[{"id":17,"name":"lamp"},{"id":18,"name":"desk"}]}"#;

/// Three steps that use each other's results.
fn three_step_plan(base: &str, seconds: u64) -> String {
    format!(
        r#"name: three-steps
vars: {{ base: "{}" }}
workflows:
  Shop:
    vus: {CONNECTIONS}
    duration: {seconds}s
    steps:
      list:
        http: {{ url: "{{{{ base }}}}/items?page={{{{ vu.iteration }}}}" }}
        extract: {{ first: {{ json: "$.items[0].id" }} }}
        check: {{ status: 200 }}
      item:
        http: {{ url: "{{{{ base }}}}/items/{{{{ list.first }}}}", headers: {{ x-user: "{{{{ vu.id }}}}" }} }}
        extract: {{ token: {{ json: "$.token" }} }}
        check: {{ status: 200, expr: "item.json.total > 0" }}
      order:
        http: {{ url: "{{{{ base }}}}/orders/{{{{ list.first }}}}", headers: {{ authorization: "Bearer {{{{ item.token }}}}" }} }}
        check: {{ status: 200, expr: "order.json.total == 42" }}
"#,
        base.trim_end_matches('/')
    )
}

pub(super) fn three_steps(lab: &Lab, findings: &mut Findings) -> Result<()> {
    let (server, url) = lab.minimal(ANSWER)?;
    let file = lab.folder.join("three-steps.yaml");
    fs::write(&file, three_step_plan(&url, lab.seconds))?;
    let plan = file.to_str().context(PATH_IS_NO_TEXT)?;
    let work = Work { url: &url, connections: CONNECTIONS, seconds: lab.seconds };
    let clients = [client::wrk(work), lab.ours(OURS, plan, "")?];
    let title = "a plan of three steps with templates, JSON extractions and checks, minimal server";
    let contest = Contest::hold(lab, title, &server, &clients)?;
    findings.add_ratio(
        "CPU per request, plan of 3 steps with templates, JSON extraction and checks",
        "× wrk",
        (AtMost(1.4), AtMost(1.1)),
        (&contest, Sample::cpu_us),
    );
    findings.contests.push(contest);
    Ok(())
}

fn check_plan(url: &str, seconds: u64) -> String {
    format!(
        "name: check\nworkflows:\n  W:\n    vus: {CONNECTIONS}\n    duration: {seconds}s\n    steps:\n      get:\n        \
         http: {{ url: \"{url}\" }}\n        check: {{ status: 200, expr: \"get.body | length > 0\" }}\n"
    )
}

/// A status check and a read body, which is where users of k6 begin.
pub(super) fn k6(lab: &Lab, findings: &mut Findings) -> Result<()> {
    let goal = "k6's work (status check, body read): CPU of k6";
    let (must, stretch) = (AtLeast(12.0), Some(AtLeast(16.0)));
    let unit = "× ours";
    let Some(k6) = lab.k6() else {
        let why = Outcome::NotMeasured("k6 could not be installed".into());
        findings.add(goal, unit, must, stretch, why);
        return Ok(());
    };
    let nginx = lab.nginx()?;
    let file = lab.folder.join("check.yaml");
    fs::write(&file, check_plan(&nginx.plain, lab.seconds))?;
    let plan = file.to_str().context(PATH_IS_NO_TEXT)?;
    let work = Work { url: &nginx.plain, connections: CONNECTIONS, seconds: lab.seconds };
    let clients = [lab.ours(OURS, plan, "")?, client::k6(k6, &lab.folder, work)?];
    let contest = Contest::hold(lab, "a status check and a read body, nginx", &nginx.server, &clients)?;
    findings.add(goal, unit, must, stretch, ratio_outcome(contest.ratio("k6", Sample::cpu_us)));
    findings.contests.push(contest);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_have_their_holes_where_templates_want_them() {
        let plan = three_step_plan("http://127.0.0.1:80/", 6);
        assert!(plan.contains(r#"vars: { base: "http://127.0.0.1:80" }"#), "{plan}");
        assert!(plan.contains(r#"http: { url: "{{ base }}/items/{{ list.first }}""#), "{plan}");
        assert!(plan.contains("duration: 6s"), "{plan}");
        assert!(serde_json::from_str::<serde_json::Value>(ANSWER).is_ok());
    }
}
