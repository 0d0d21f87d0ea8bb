// The list of tasks: one page of it at a time, filtered by the server. The address has the filter and the page.
import { sentence } from "./dialog.js";
import { breakable, el, message } from "./dom.js";
import { pill, plural, shortTime, took, words, zone } from "./format.js";
import { every, paced } from "./pace.js";
import { call, isAborted } from "./rpc.js";

const PAGE = 50;
const STATES = ["pending", "in_progress", "completed", "failed", "cancelled"];
/** Pause between looks at the server while events come. */
const REFRESH_MS = 2_000;
/** Progress makes no events: it is asked for this often while a task of the page runs. */
const PROGRESS_MS = 5_000;
/** Pause after the last key in a field before the list follows it. */
const TYPED_MS = 400;
/** What a task becomes by an event, where the event itself does not say. */
const BECOMES = {
  created: "pending", assigned: "in_progress", started: "in_progress", completed: "completed", failed: "failed",
  retried: "pending", reassigned: "pending", cancelled: "cancelled",
};

const paramsOf = (query) => {
  const text = (name) => query.get(name)?.trim() || undefined;
  return { status: text("status"), executor: text("executor"), name: text("name"), tree: text("tree"), roots: query.has("roots") || undefined, after: text("after") };
};
const addressOf = (params) => {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (value) query.set(name, value === true ? "1" : value);
  const text = query.toString();
  return `#/tasks${text ? `?${text}` : ""}`;
};

/** Where the page before a page began, as far as this visit knows. */
const before = new Map();

export const openTasks = ({ place, query, signal, live, setTitle }) => {
  setTitle("Tasks");
  let params = paramsOf(query), rows = new Map(), isShown = false, asked = 0, hasFailed = false;
  const dirty = new Set();

  // --- filter
  const status = el("select", { id: "f-status" }, el("option", { value: "" }, "all"), STATES.map((state) => el("option", { value: state }, words(state))));
  const executor = el("input", { id: "f-executor", list: "executors", autocomplete: "off", spellcheck: "false", placeholder: "all" });
  const executors = el("datalist", { id: "executors" });
  const name = el("input", { id: "f-name", type: "search", autocomplete: "off", spellcheck: "false", placeholder: "all" });
  const roots = el("input", { id: "f-roots", type: "checkbox" });
  const go = ({ replace = false } = {}) => {
    clearTimeout(typed);
    const to = addressOf({ status: status.value, executor: executor.value.trim(), name: name.value.trim(), tree: params.tree, roots: roots.checked });
    if (to === addressOf({ ...params, after: undefined })) return;
    if (replace) { history.replaceState(null, "", to); dispatchEvent(new HashChangeEvent("hashchange")); } else location.hash = to;
  };
  let typed;
  const onInput = (event) => {
    clearTimeout(typed);
    if (event.target === name || event.target === executor) typed = setTimeout(() => go({ replace: true }), TYPED_MS);
  };
  signal.addEventListener("abort", () => clearTimeout(typed), { once: true });
  const form = el("form", { class: "filter", role: "search", "aria-label": "Filter of tasks", oninput: onInput, onchange: () => go(), onsubmit: (event) => { event.preventDefault(); go(); } },
    el("div", {}, el("label", { for: "f-status" }, "State"), status),
    el("div", {}, el("label", { for: "f-executor" }, "Executor"), executor, executors),
    el("div", {}, el("label", { for: "f-name" }, "Name begins with"), name),
    el("div", { class: "check" }, roots, el("label", { for: "f-roots" }, "Only the first task of each tree")),
    el("button", { class: "unseen" }, "Apply"));
  const fill = () => {
    for (const [field, value] of [[status, params.status], [executor, params.executor], [name, params.name]]) {
      if (field !== document.activeElement || field.value.trim() !== (value ?? "")) field.value = value ?? "";
    }
    roots.checked = Boolean(params.roots);
  };
  call("system.methods", {}, signal).then(
    (known) => executors.replaceChildren(...Object.keys(known.executors ?? {}).map((value) => el("option", { value }))), () => {});

  // --- list
  const fresh = el("div", { class: "fresh", role: "status" });
  const body = el("tbody");
  const heads = ["State", "Task", "Executor", "Attempt", "Node", `Submitted (${zone()})`, "Took"];
  const list = el("table", { class: "tasks" }, el("caption", { class: "unseen" }, "Tasks, newest first"),
    el("thead", {}, el("tr", {}, heads.map((title, at) => el("th", { scope: "col", class: `c${at}` }, title)))), body);
  const box = el("div", { class: "box" }, list);
  const empty = el("div", { class: "empty", hidden: true });
  const problem = el("div", { role: "alert" });
  const pages = el("nav", { class: "pager", "aria-label": "Pages of the list" });
  place.append(el("h1", {}, "Tasks"), form, problem, fresh, box, empty, pages);

  const fillRow = (row, task) => {
    row.task = task;
    const of = [task.executor, task.last_assigned_node].filter(Boolean).join(" · ");
    const cells = [
      [pill(task.status), task.status === "in_progress" && typeof task.progress === "number" && bar(task)],
      [el("a", { href: `#/tasks/${task.id}` }, breakable(task.name)), el("small", { class: "narrow" }, breakable(of)),
        task.unplaceable && el("small", { class: "warn" }, task.unplaceable),
        task.status === "failed" && task.error && el("small", { class: "bad one" }, task.error)],
      task.executor, task.attempt > 0 ? `${task.attempt} of ${Math.max(task.attempt, task.max_attempts)}` : "–", breakable(task.last_assigned_node ?? "–"), shortTime(task.created_at), took(task),
    ];
    // The link keeps its focus: only what differs is replaced.
    const isNew = row.node.childElementCount === 0;
    cells.forEach((content, at) => {
      const made = el(at === 1 ? "th" : "td", { class: `c${at}`, scope: at === 1 ? "row" : undefined }, content);
      const old = row.node.children[at];
      if (isNew) row.node.append(made);
      else if (!old.isEqualNode(made)) {
        const hadFocus = old.contains(document.activeElement);
        old.replaceWith(made);
        if (hadFocus) made.querySelector("a")?.focus();
      }
    });
    row.node.classList.toggle("left", Boolean(params.status) && task.status !== params.status);
  };
  const bar = (task) => el("progress", { max: "1", value: task.progress, "aria-label": `progress of ${task.name}` });

  const render = (result) => {
    isShown = true;
    rows = new Map(result.tasks.map((task) => [task.id, { node: el("tr"), task }]));
    for (const row of rows.values()) fillRow(row, row.task);
    body.replaceChildren(...[...rows.values()].map((row) => row.node));
    fresh.replaceChildren();
    box.hidden = rows.size === 0;
    empty.hidden = rows.size > 0;
    if (rows.size === 0) empty.replaceChildren(...nothing(params));
    if (result.next) before.set(result.next, params.after ?? "");
    const to = (after) => addressOf({ ...params, after });
    pages.replaceChildren(...[
      params.after && el("a", { class: "button", href: to(undefined) }, "« Newest"),
      params.after && before.get(params.after) && el("a", { class: "button", href: to(before.get(params.after)) }, "‹ Newer"),
      result.next && el("a", { class: "button", href: to(result.next) }, "Older ›"),
    ].filter(Boolean));
    pages.hidden = pages.childElementCount === 0;
  };

  const fetchPage = (number) => call("tasks.list", { ...params, limit: PAGE }, signal).then((result) => {
    if (number !== asked) return null;
    if (hasFailed) { hasFailed = false; problem.replaceChildren(); }
    return result;
  }, (error) => {
    if (isAborted(error) || number !== asked) return null;
    hasFailed = true;
    problem.replaceChildren(message("bad", sentence("the list could not be read", error)));
    return null;
  });

  const load = async () => {
    const number = asked += 1;
    box.setAttribute("aria-busy", "true");
    const result = await fetchPage(number);
    if (number === asked) box.removeAttribute("aria-busy");
    if (result) render(result);
  };

  // --- live: rows change where they are, new ones are announced
  const refresh = paced(async () => {
    const result = await fetchPage(asked);
    if (!result) return;
    if (!isShown || rows.size === 0) return render(result);
    for (const task of result.tasks) if (rows.has(task.id)) fillRow(rows.get(task.id), task);
    if (params.after) return;
    const others = result.tasks.filter((task) => !rows.has(task.id)).length;
    if (others === 0) return fresh.replaceChildren();
    const text = others >= PAGE ? `${PAGE} or more new tasks` : plural(others, "new task");
    if (fresh.firstElementChild) fresh.firstElementChild.firstChild.data = text;
    else fresh.replaceChildren(el("button", { type: "button", onclick: () => { load(); place.querySelector("h1").scrollIntoView(); } }, text, el("span", {}, " – show")));
  }, REFRESH_MS, signal);

  const paint = () => { for (const row of dirty) fillRow(row, row.task); dirty.clear(); };
  const onEvent = (event) => {
    const row = rows.get(event.task);
    if (row) {
      const status = event.status ?? BECOMES[event.kind] ?? row.task.status;
      const isEnd = ["completed", "failed", "cancelled"].includes(status);
      row.task = {
        ...row.task, status, progress: event.progress ?? row.task.progress, attempt: event.attempt ?? row.task.attempt,
        last_assigned_node: event.node ?? row.task.last_assigned_node,
        started_at: row.task.started_at ?? (status === "in_progress" ? event.at : null),
        completed_at: isEnd ? row.task.completed_at ?? event.at : null,
      };
      if (dirty.size === 0) requestAnimationFrame(paint);
      dirty.add(row);
    }
    if (!row || event.kind !== "assigned") refresh();
  };
  live("/events/tasks", { onEvent, onOpen: refresh });
  every(() => { if ([...rows.values()].some(({ task }) => task.status === "in_progress")) refresh(); }, PROGRESS_MS, signal);

  fill();
  load();
  return {
    update: ({ query: changed }) => {
      params = paramsOf(changed);
      fill();
      load();
      return true;
    },
  };
};

const EXAMPLE = `tasks:
  pause:
    executor: wait
    inputs: { duration: 2s }
  load:
    executor: load_test
    depends: [pause]
    inputs: { plan: plan.yaml }
  report:
    executor: aggregate
    depends: [load]
`;

/** What to do where there is nothing. */
const nothing = (params) => {
  const isFiltered = params.status || params.executor || params.name || params.tree || params.roots || params.after;
  if (isFiltered) {
    return [el("h2", {}, "No task matches"), el("p", {}, params.after ? "There are no older tasks. " : "Change the filter, or ", el("a", { href: "#/tasks" }, "show all tasks"), ".")];
  }
  return [
    el("h2", {}, "No tasks yet"),
    el("p", {}, "Write a file ", el("code", {}, "tree.yaml"), " and submit it; it appears here by itself."),
    el("pre", { tabindex: "0", "aria-label": "Example of tree.yaml" }, el("code", {}, EXAMPLE)),
    el("pre", { tabindex: "0", "aria-label": "Command" }, el("code", {}, "hyperscale tasks create tree.yaml")),
  ];
};
