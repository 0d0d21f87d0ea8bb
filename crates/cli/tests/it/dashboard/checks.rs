//! What people do with the dashboard, step by step, in a browser and against a server that has nothing to do with either.

use serde_json::{Value, json};

use super::browser::Browser;

/// Rows of a page of the list.
const PAGE: usize = 50;

/// The list has one page, filters are in the address and survive a reload, and older pages can be reached.
pub(crate) fn list_is_paged_and_filtered_by_the_server(browser: &mut Browser, base: &str) {
    browser.go(&format!("{base}/#/tasks"));
    browser.ask("await page.create(...Array.from({ length: 120 }, (_, at) => ({ name: `paged-${at}`, executor: 'wait', inputs: { duration: '0s' } })))");
    browser.go(&format!("{base}/#/tasks?name=paged-"));
    browser.ask(&format!("await page.until('a full page', () => page.rows().length === {PAGE})"));
    let first = browser.ask("page.rows()[0].id");
    browser.ask("await page.press('Older')");
    browser.ask(&format!("await page.until('older tasks', () => page.rows()[0].id !== {first} && location.hash.includes('after='))"));
    browser.ask("await page.press('« Newest')");
    browser.ask(&format!("await page.until('the newest tasks', () => page.rows()[0].id === {first})"));

    browser.ask("page.fill('#f-status', 'completed')");
    browser.ask("await page.until('completed ones', () => page.rows().length > 0 && page.rows().every((row) => row.state.endsWith('completed')))");
    browser.reload();
    browser.ask("await page.until('the same after a reload', () => page.rows().length > 0)");
    let kept =
        browser.ask("[document.querySelector('#f-status').value, document.querySelector('#f-name').value]");
    assert_eq!(kept, json!(["completed", "paged-"]));
    browser.ask("page.fill('#f-name', 'no such task')");
    browser.ask("await page.until('what to do', () => page.text(document.querySelector('.empty')).includes('No task matches'))");
    fits(browser);
}

/// New tasks do not move what is read; a button shows them.
pub(crate) fn new_tasks_are_announced_and_rows_stay(browser: &mut Browser, base: &str) {
    browser.go(&format!("{base}/#/tasks"));
    let prefix = format!("announced-{}", browser.ask("Date.now()"));
    let create = |name: &str| {
        format!(
            "await page.create({{ name: '{prefix}-{name}', executor: 'wait', inputs: {{ duration: '0s' }} }})"
        )
    };
    browser.ask(&create("first"));
    browser.go(&format!("{base}/#/tasks?name={prefix}"));
    browser.ask(
        "await page.until('the first task', () => page.rows().length === 1 && page.connection() === 'live')",
    );
    let before = browser.ask("page.rows().map((row) => row.id)");
    browser.ask(&create("second"));
    browser.ask("await page.until('the button', () => page.pressable('1 new task'))");
    assert_eq!(browser.ask("page.rows().map((row) => row.id)"), before);
    browser.ask("await page.press('1 new task')");
    browser.ask("await page.until('the second task', () => page.rows()[0].name.endsWith('second'))");
    assert_eq!(browser.ask("page.rows().slice(1).map((row) => row.id)"), before);
    browser.ask("await page.until('the end of both without a reload', () => page.rows().every((row) => row.state.endsWith('completed')))");
}

/// Everything works without a pointer: links, dialogs, and the way back out of them.
pub(crate) fn keyboard_opens_and_leaves_things(browser: &mut Browser, base: &str) {
    const TAB: (&str, u32) = ("Tab", 9);
    browser.go(&format!("{base}/#/tasks"));
    let id = browser.ask(
        "(await page.create({ name: 'by-keyboard', executor: 'wait', inputs: { duration: '1h' } }))[0].id",
    );
    browser.go(&format!("{base}/#/tasks?name=by-keyboard"));
    browser.ask("await page.until('the task', () => page.rows().length > 0)");
    let is_there = format!("document.activeElement.hash === '#/tasks/' + {id}");
    let reached = (0..40).any(|_| {
        browser.key(TAB.0, TAB.1);
        browser.ask(&is_there) == true
    });
    assert!(reached, "tab reaches the first row");
    browser.key("Enter", 13);
    browser.ask("await page.until('its page', () => page.pressable('Cancel task'))");
    browser.ask("page.pressable('Cancel task').focus()");
    browser.key("Enter", 13);
    browser.ask("await page.until('the question', () => document.querySelector('dialog[open]')?.contains(document.activeElement))");
    browser.key("Escape", 27);
    browser.ask("await page.until('the way back', () => !document.querySelector('dialog') && page.text(document.activeElement).startsWith('Cancel task'))");
    assert_ne!(browser.ask(&format!("(await page.rpc('tasks.get', {{ task: {id} }})).status")), "cancelled");
    browser.ask(&format!("await page.rpc('tasks.cancel', {{ task: {id} }})"));
}

/// A tree is followed to its end: states, order, events.
pub(crate) fn tree_is_followed_to_its_end(browser: &mut Browser, base: &str) {
    browser.go(&format!("{base}/#/tasks"));
    let tasks = "[{ name: 'last', executor: 'aggregate', depends_on: [{ task: 'middle' }, { task: 'extra', required: false }] }, \
                  { name: 'middle', executor: 'wait', inputs: { duration: '1s' }, depends_on: [{ task: 'begin' }] }, \
                  { name: 'begin', executor: 'wait', inputs: { duration: '0s' } }, { name: 'extra', executor: 'wait', inputs: { duration: '0s' }, depends_on: [{ task: 'begin' }] }]";
    let id = browser.ask(&format!("(await page.create(...{tasks}))[0].id"));
    browser.ask(&format!("location.hash = '#/tasks/' + {id}"));
    browser.ask("await page.until('the whole tree completed', () => page.all('.tree .pill').length === 4 && page.all('.tree .pill').every((pill) => page.text(pill).endsWith('completed')))");
    browser.ask("await page.until('the end of the stream', () => page.connection() === 'ended')");
    let order = browser.ask("page.all('.tree .row > a').map((link) => link.textContent)");
    let place = |name: &str| order.as_array().unwrap().iter().position(|one| one == name).unwrap();
    assert!(place("begin") < place("middle") && place("middle") < place("last"), "{order}");
    let waits = browser.ask("page.all('.tree .waits').map(page.text)");
    assert!(waits.to_string().contains("extra (optional)"), "{waits}");
    let times = browser.ask("page.all('table.events time').map((time) => time.dateTime)");
    let times: Vec<&str> = times.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(times.len() >= 12 && times.is_sorted(), "{times:?}");
    fits(browser);
}

/// Nothing is cancelled without a confirmation; what is refused says why.
pub(crate) fn cancelling_asks_first_and_errors_are_shown(browser: &mut Browser, base: &str) {
    browser.go(&format!("{base}/#/tasks"));
    let id = browser
        .ask("(await page.create({ name: 'endless', executor: 'wait', inputs: { duration: '1h' } }))[0].id");
    let state = format!("(await page.rpc('tasks.get', {{ task: {id} }})).status");
    browser.ask(&format!("location.hash = '#/tasks/' + {id}"));
    browser.ask("await page.press('Cancel task')");
    browser.ask("await page.press('Back')");
    assert_ne!(browser.ask(&state), "cancelled");
    browser.ask("await page.press('Cancel task')");
    // Somebody else is faster: the page says what the server says.
    browser.ask(&format!("await page.rpc('tasks.cancel', {{ task: {id} }})"));
    browser.ask(&format!("await page.until('the cancellation', async () => {state} === 'cancelled')"));
    browser.ask("await page.press('Cancel task')");
    browser.ask("await page.until('the state, or why not', () => page.text(document.querySelector('h1 + .pill')).endsWith('cancelled') || page.text(document.querySelector('#notices')).includes('cancelled'))");
    fits(browser);
}

/// The result of a load test has the numbers of its JSON.
pub(crate) fn load_test_is_shown_with_its_charts(browser: &mut Browser, base: &str, task: &str) {
    browser.go(&format!("{base}/#/tasks/{task}"));
    let charts = browser.ask("await page.until('charts', () => page.charts().length === 4 && page.charts())");
    let run = browser.ask(&format!("await page.rpc('tasks.get', {{ task: '{task}' }}).then(({{ result }}) => result.series ? result : result.result)"));
    let points = run["series"].as_array().unwrap().len();
    let drawn = charts[0]["points"][0].as_u64().unwrap() as usize;
    assert!(drawn == points || drawn + 1 == points, "{drawn} of {points}");
    let tiles = browser.ask("page.tiles()");
    let digits = |text: &Value| text.as_str().unwrap().replace(',', "");
    assert_eq!(digits(&tiles["requests"]), run["totals"]["requests"].to_string());
    let tip = browser.ask(
        "(() => { const chart = document.querySelector('#chart-rate'); chart.focus(); \
         chart.dispatchEvent(new KeyboardEvent('keydown', { key: 'End', bubbles: true })); return document.querySelector('.tip').textContent; })()",
    );
    assert!(tip.as_str().unwrap().contains("/s"), "{tip}");
    fits(browser);
}

/// The token is asked for, wrong ones are refused, and it is kept for this tab only.
pub(crate) fn token_is_asked_for(browser: &mut Browser, base: &str, token: &str) {
    let enter = |text: &str| {
        format!("(document.querySelector('#token').value = '{text}', await page.press('Continue'))")
    };
    browser.go(base);
    browser.ask("await page.until('the question', () => document.querySelector('dialog[open] #token'))");
    fits(browser);
    browser.ask(&enter("wrong-token"));
    browser.ask("await page.until('the refusal', () => page.text(document.querySelector('dialog[open]'))?.includes('wrong'))");
    browser.ask(&enter(token));
    browser.ask("await page.until('live events', () => page.connection() === 'live')");
    browser.reload();
    browser.ask("await page.until('live events without a question', () => page.connection() === 'live' && !document.querySelector('dialog'))");
    assert_eq!(browser.ask("localStorage.length"), 0);
}

/// The loss of the connection is seen, and what happened meanwhile is shown after it.
pub(crate) fn lost_connection_is_seen_and_comes_back(
    browser: &mut Browser,
    base: &str,
    stop: impl FnOnce(),
    start: impl FnOnce(),
) {
    browser.go(&format!("{base}/#/tasks"));
    browser.ask("await page.until('live events', () => page.connection() === 'live')");
    stop();
    browser.ask("await page.until('the loss', () => page.connection() === 'lost' && page.text(document.querySelector('#connection')).includes('connection lost'))");
    fits(browser);
    start();
    browser.ask("await page.until('live events again', () => page.connection() === 'live')");
    browser
        .ask("await page.create({ name: 'after the loss', executor: 'wait', inputs: { duration: '0s' } })");
    browser.ask("await page.until('news', () => page.rows().some((row) => row.name === 'after the loss') || page.pressable('1 new task'))");
}

/// A schedule is created through the API, paused, resumed, triggered and deleted in the page.
pub(crate) fn schedule_is_paused_resumed_triggered_and_deleted(browser: &mut Browser, base: &str) {
    browser.go(&format!("{base}/#/schedules"));
    browser.ask(
        "await page.rpc('schedules.create', { name: 'checked', trigger: { interval: { seconds: 86400 } }, \
         tree: { tasks: [{ name: 'of-schedule', executor: 'wait', inputs: { duration: '0s' } }] } })",
    );
    browser.reload();
    browser.ask("await page.press('checked')");
    browser.ask("await page.press('Pause')");
    browser.ask("await page.press('Pause')");
    browser.ask("await page.until('the pause', () => document.querySelector('.pill.paused'))");
    browser.ask("await page.press('Resume')");
    browser.ask("await page.until('the end of the pause', () => !document.querySelector('.pill.paused'))");
    browser.ask("await page.press('Run now')");
    browser.ask("await page.press('Run now')");
    browser.ask("await page.until('the task of its run', () => page.text(document.querySelector('h1')) === 'of-schedule')");
    browser.ask("location.hash = '#/schedules/checked'");
    browser.ask("await page.until('its run', () => page.all('.runs li').length === 1)");
    fits(browser);
    browser.ask("await page.press('Delete')");
    browser.ask("await page.press('Delete schedule')");
    browser.ask("await page.until('the list without it', () => location.hash === '#/schedules' && page.text(document.querySelector('h1')) === 'Schedules')");
    browser.ask("await page.until('its absence', async () => !(await page.rpc('schedules.list')).schedules.some((one) => one.name === 'checked'))");
}

/// Every node is shown with its health, and the leader by name.
pub(crate) fn nodes_and_leader_are_shown(browser: &mut Browser, base: &str) {
    browser.go(&format!("{base}/#/nodes"));
    browser.ask("await page.until('nodes', () => document.querySelector('.cards .pill'))");
    let leader =
        browser.ask("await page.until('a leader', async () => (await page.rpc('nodes.list')).leader?.node)");
    browser.ask(&format!("await page.until('the leader', () => page.text(document.querySelector('.leader'))?.includes({leader}))"));
    fits(browser);
}

/// Texts of others stay texts.
pub(crate) fn hostile_texts_are_not_run(browser: &mut Browser, base: &str) {
    browser.go(&format!("{base}/#/tasks"));
    let name = "<img src=x onerror=alert(1)>";
    let id = browser.ask(&format!("(await page.create({{ name: '{name}', executor: 'wait', inputs: {{ duration: '0s', note: '{name}' }} }}).catch(() => page.create({{ name: '{name}', executor: 'wait', inputs: {{ duration: '0s' }} }})))[0].id"));
    browser.ask(&format!("await page.until('the name as text', () => page.rows().some((row) => row.name === '{name}') || page.pressable('1 new task'))"));
    browser.ask(&format!("location.hash = '#/tasks/' + {id}"));
    browser.ask(&format!(
        "await page.until('the name as text', () => page.text(document.querySelector('h1')) === '{name}')"
    ));
    assert_eq!(browser.ask("[page.alerts(), page.all('main img').length]"), json!([0, 0]));
    fits(browser);
}

/// The page is not wider than the screen, breaks no words, names everything that can be pressed, and has not complained.
pub(crate) fn fits(browser: &mut Browser) {
    let seen = browser.ask(
        "({ wide: page.wide(), broken: page.broken(), unnamed: page.unnamed(), alerts: page.alerts() })",
    );
    assert_eq!(seen, json!({ "wide": [], "broken": [], "unnamed": [], "alerts": 0 }));
    // A server that is stopped, and a token that is missing, are told by the browser too.
    let problems = browser.problems();
    let unexpected: Vec<&String> =
        problems.iter().filter(|text| !text.contains("net::ERR_") && !text.contains("401")).collect();
    assert!(unexpected.is_empty(), "{unexpected:#?}");
}
