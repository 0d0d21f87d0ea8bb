// One task: what it is, what it left, its tree and what happened, live.
import { confirm, notice, sentence } from "./dialog.js";
import { breakable, download, el, facts, json, longText, message, show } from "./dom.js";
import { eventList } from "./events.js";
import { percent, pill, plural, time, took, words } from "./format.js";
import { every, paced } from "./pace.js";
import { isRun, runView } from "./result.js";
import { call, isAborted } from "./rpc.js";
import { treeView } from "./tree.js";

/** Pause between looks at the tree while events come. */
const REFRESH_MS = 1_000;
/** The same for trees of more tasks than this. */
const LARGE = 200, LARGE_REFRESH_MS = 5_000;
/** Progress makes no events: it is asked for this often while a task runs. */
const PROGRESS_MS = 2_000;
const ENDED = new Set(["completed", "failed", "cancelled"]);

export const openTask = ({ place, id: first, signal, live, setTitle, changed }) => {
  let id = first, tree = null, stream = null, hasEnded = false;
  const head = el("div"), progress = el("div"), actions = el("div"), problem = el("div", { role: "alert" }), jumps = el("nav", { class: "jumps", "aria-label": "Parts of this page", hidden: true });
  const about = el("section"), outcome = el("div"), tasks = el("section", { hidden: true }), happened = el("section", { hidden: true }), inputs = el("section");
  place.append(el("p", { class: "trail" }, el("a", { href: "#/tasks" }, "Tasks")), head, progress, actions, problem, jumps, about, outcome, tasks, happened, inputs);
  show(head, "loading", () => el("p", { class: "loading" }, "Loading …"));
  const showTree = treeView(tasks);
  const events = eventList(happened, () => tree);

  const load = async () => {
    const read = await call("tasks.tree", { task: id }, signal).catch((error) => {
      if (isAborted(error)) return;
      if (!tree) missing(error); else problem.replaceChildren(message("bad", sentence("the tree could not be read again", error)));
    });
    if (!read) return;
    tree = read;
    problem.replaceChildren();
    render();
  };
  const missing = (error) => {
    setTitle("Task");
    for (const part of [progress, actions]) show(part, null, () => []);
    show(head, error.message, () => [
      el("h1", {}, "Task"), message("bad", sentence("the task could not be read", error)),
      el("p", {}, error.reason === "unreachable" ? "" : "Ended tasks are removed after the retention time. ", el("a", { href: "#/tasks" }, "All tasks")),
    ]);
  };
  const slow = paced(load, LARGE_REFRESH_MS, signal), fast = paced(load, REFRESH_MS, signal);
  const refresh = () => (tree && tree.tasks.length > LARGE ? slow() : fast());

  // --- what can be done
  const act = async (what, method, params) => {
    try {
      const result = await call(method, params, signal);
      changed();
      await load();
      follow();
      return result;
    } catch (error) {
      if (!isAborted(error)) notice(sentence(what, error));
      return null;
    }
  };
  const cancel = async (task) => {
    const text = task.status === "in_progress"
      ? "It is running: its executor is told to stop, and is killed after 10 s if it does not." : "It has not started and will not start.";
    const sure = await confirm(`Cancel ${task.name}?`, [text, "Tasks that require it fail with it."], { verb: "Cancel task", danger: true, signal });
    if (sure) act(`${task.name} was not cancelled`, "tasks.cancel", { task: task.id });
  };
  const cancelTree = async () => {
    const left = tree.tasks.filter((task) => !ENDED.has(task.status)).length;
    const sure = await confirm("Cancel the whole tree?", `${plural(left, "task")} of it ${left === 1 ? "has" : "have"} not ended and will be cancelled.`, { verb: "Cancel tree", danger: true, signal });
    if (sure) act("the tree was not cancelled", "tasks.cancel", { task: tree.tree, tree: true });
  };
  const retry = async (task) => {
    const sure = await confirm(`Retry ${task.name}?`, "It becomes pending with a new budget of attempts, and with it the tasks that failed only because of it. What it did before is not undone.", { verb: "Retry task", signal });
    if (sure) act(`${task.name} was not retried`, "tasks.retry", { task: task.id });
  };

  // --- what is shown
  const render = () => {
    const task = tree.tasks.find((one) => one.id === id);
    if (!task) return missing({ message: "it is not in its tree" });
    setTitle(task.name);
    const isOpen = tree.tasks.some((one) => !ENDED.has(one.status));
    // Buttons are not made again while progress changes: they keep their focus.
    show(head, [task.id, task.status], () => el("div", { class: "title" }, el("h1", {}, breakable(task.name)), pill(task.status)));
    show(progress, [task.id, task.status, task.progress, task.cancel_requested_at], () => howFar(task));
    show(actions, [task.id, task.status, task.cancel_requested_at, isOpen, tree.tasks.length], () => choices(task, isOpen));
    show(about, { ...task, inputs: null, result: null }, () => overview(task));
    show(outcome, [task.id, task.result], () => results(task));
    show(inputs, [task.id, task.inputs], () => given(task));
    showTree(tree, id);
    for (const part of [tasks, happened, jumps]) part.hidden = false;
    show(jumps, Boolean(outcome.firstElementChild), () => [["Result", outcome], ["Tree", tasks], ["Events", happened], ["Inputs", inputs]]
      .filter(([, part]) => part.firstElementChild).map(([name, part]) => el("button", { type: "button", onclick: () => jump(part) }, name)));
    events.names();
    follow();
  };
  const jump = (part) => {
    const heading = part.querySelector("h2");
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
    heading.scrollIntoView();
  };
  const howFar = (task) => [
    task.status === "in_progress" && typeof task.progress === "number" && el("p", { class: "progress" },
      el("progress", { max: "1", value: task.progress, "aria-label": `progress of ${task.name}` }), ` ${percent(task.progress)}`),
    task.cancel_requested_at && !ENDED.has(task.status) && message("warn", "Cancellation was requested; its executor is being stopped."),
  ];
  const choices = (task, isOpen) => el("p", { class: "actions" },
    !ENDED.has(task.status) && !task.cancel_requested_at && el("button", { type: "button", class: "danger", onclick: () => cancel(task) }, "Cancel task …"),
    task.status === "failed" && el("button", { type: "button", class: "primary", onclick: () => retry(task) }, "Retry task …"),
    isOpen && tree.tasks.length > 1 && el("button", { type: "button", class: "danger", onclick: cancelTree }, "Cancel tree …"));
  const overview = (task) => [
    el("h2", { class: "unseen" }, "About this task"),
    task.error && el("div", { class: `notice ${task.status === "failed" ? "bad" : "warn"}` },
      el("span", {}, el("b", {}, task.status === "failed" ? "Failed: " : "Last attempt failed: "), task.error)),
    task.unplaceable && el("p", { class: "notice warn" }, el("span", {}, el("b", {}, "Cannot run: "), task.unplaceable)),
    task.status === "pending" && task.unmet_deps > 0 && el("p", { class: "sub" }, `Waits for ${plural(task.unmet_deps, "dependency", "dependencies")}.`),
    facts([
      ["Executor", el("code", {}, task.executor)],
      ["Node", task.last_assigned_node && el("a", { href: "#/nodes" }, breakable(task.last_assigned_node))],
      ["Attempts", `${task.attempt} of at most ${Math.max(task.attempt, task.max_attempts)}${tried(task)}`],
      ["Took", task.started_at && took(task)],
      ["Submitted", time(task.created_at)],
      ["Started", task.started_at && time(task.started_at)],
      ["Ended", task.completed_at && time(task.completed_at)],
      ["Not before", task.status === "pending" && task.run_at > task.created_at ? time(task.run_at) : null],
      ["Cancel requested", task.cancel_requested_at && time(task.cancel_requested_at)],
      ["Priority", `${task.priority} (0 is the most urgent, 3 the least)`],
      ["Timeout", task.timeout_seconds && `${task.timeout_seconds} s per attempt`],
      ["Idempotency key", task.idempotency_key && el("code", {}, breakable(task.idempotency_key))],
      ["Id", el("code", {}, breakable(task.id))],
    ]),
  ];
  const tried = (task) => {
    const parts = [task.failures > 0 && plural(task.failures, "failure"), task.crashes > 0 && plural(task.crashes, "crash", "crashes")].filter(Boolean);
    return parts.length > 0 ? ` (${parts.join(", ")})` : "";
  };
  const results = (task) => {
    if (task.result === null || task.result === undefined) return [];
    const run = [task.result, task.result?.result].find(isRun);
    const save = download(task.result, `${words(task.name).replace(/[^\w.-]+/g, "-")}.json`);
    if (run) return runView(run, save);
    return el("section", {}, el("h2", {}, "Result"), json(task.result, "Result"), el("p", { class: "actions" }, save));
  };
  const given = (task) => {
    const isEmpty = task.inputs === null || task.inputs === undefined || Object.keys(task.inputs).length === 0;
    // Plans and scripts are texts of many lines: they are shown as such, and not as one string with escaped line ends.
    const isText = ([, value]) => typeof value === "string" && value.includes("\n");
    const entries = isEmpty || typeof task.inputs !== "object" ? [] : Object.entries(task.inputs);
    const texts = entries.filter(isText), others = entries.filter((entry) => !isText(entry));
    const rest = texts.length > 0 ? Object.fromEntries(others) : task.inputs;
    const note = task.depends_on?.length > 0 ? el("p", { class: "sub" }, "Results of its dependencies are added under their names when it runs.") : null;
    return [el("h2", {}, "Inputs"), isEmpty ? el("p", { class: "sub" }, "none") : (texts.length === 0 || others.length > 0) && json(rest, "Inputs"),
      texts.map(([name, text]) => [el("h3", {}, words(name)), longText(text, name)]), note];
  };

  // --- live
  const follow = () => {
    const isOpen = tree.tasks.some((task) => !ENDED.has(task.status));
    if (stream && !(hasEnded && isOpen)) return;
    stream?.close();
    hasEnded = false;
    events.clear();
    stream = live(`/events/${tree.tree}`, {
      onEvent: (event) => { events.add(event); refresh(); },
      onOpen: refresh,
      onState: ({ state }) => {
        if (state === "ended" || state === "refused") { hasEnded = true; refresh(); }
        events.state(state);
      },
    });
  };

  every(() => { if (tree?.tasks.some((task) => task.status === "in_progress")) refresh(); }, PROGRESS_MS, signal);
  load();
  return {
    update: ({ id: other }) => {
      if (!tree?.tasks.some((task) => task.id === other)) return false;
      id = other;
      problem.replaceChildren();
      render();
      refresh();
      scrollTo(0, 0);
      return true;
    },
  };
};
