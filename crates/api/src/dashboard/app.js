// The frame: which page is open, the counts above it, whether it is live.
import { counts } from "./counts.js";
import { clearNotices } from "./dialog.js";
import { el } from "./dom.js";
import { tick } from "./format.js";
import { follow } from "./stream.js";
import { openNodes } from "./nodes.js";
import { openSchedule } from "./schedule.js";
import { openSchedules } from "./schedules.js";
import { openTask } from "./task.js";
import { openTasks } from "./tasks.js";

/** The address after `#`: `/tasks?status=failed` is the page `tasks` with a query, `/tasks/<id>` one task. */
const read = () => {
  const [path, query = ""] = location.hash.replace(/^#/, "").split("?");
  let [page = "", id] = path.split("/").filter(Boolean);
  try { id = id && decodeURIComponent(id); } catch { /* shown as it is */ }
  return { page: page || "tasks", id, query: new URLSearchParams(query) };
};

const PAGES = {
  tasks: [openTasks, openTask],
  schedules: [openSchedules, openSchedule],
  nodes: [openNodes, openNodes],
};

const main = document.getElementById("page");
let open = null;

const route = () => {
  const { page, id, query } = read();
  const known = PAGES[page];
  if (location.hash === "#page") return main.focus();
  if (!known) {
    location.replace("#/tasks");
    return;
  }
  const opens = known[id ? 1 : 0];
  for (const link of document.querySelectorAll("#pages a")) {
    const isHere = link.hash === `#/${page}`;
    if (isHere) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  bar.select(page === "tasks" && !id ? query.get("status") ?? "" : null);
  // The same page with another query or another task of its tree stays: nothing flickers, focus stays.
  if (open?.opens === opens && open.page.update?.({ id, query })) return;
  open?.controller.abort();
  clearNotices();
  connection.replaceChildren();
  const controller = new AbortController();
  const place = el("div");
  main.replaceChildren(place);
  const isFirst = open === null;
  open = { opens, controller };
  open.page = opens({ place, id, query, signal: controller.signal, live: (path, handlers) => live(path, handlers, controller.signal), setTitle, changed: bar.changed });
  if (!isFirst) { scrollTo(0, 0); main.focus({ preventScroll: true }); }
};

const setTitle = (title) => { document.title = title ? `${title} · Hyperscale` : "Hyperscale"; };

// --- whether the page is live

const connection = document.getElementById("connection");
const SAY = {
  connecting: ["", "connecting …"], live: ["good", "live"], ended: ["", "the tree has ended"],
  paused: ["", "paused while the tab is hidden"],
};
const say = ({ state, at, error }, stream) => {
  connection.dataset.state = state;
  const [tone, text] = SAY[state] ?? ["bad", state === "lost" ? "connection lost" : `no live events: ${error?.message ?? ""}`];
  connection.className = `connection ${tone}`;
  const parts = [el("span", { class: "dot", "aria-hidden": "true" }), el("span", {}, text)];
  if (state === "lost") {
    parts.push(at ? el("span", { class: "sub", "aria-hidden": "true" }, `next try in ${Math.max(1, Math.ceil((at - Date.now()) / 1_000))} s`) : el("span", { class: "sub" }, "trying …"));
    parts.push(el("button", { type: "button", onclick: () => stream().retry() }, "Retry now"));
  }
  connection.replaceChildren(...parts);
};

/** Events of all tasks may be many: after a longer pause the list is read again instead. */
const RESUME_MS_MAX = 60_000;
/** Follows a stream as long as its page is open. Every event may have changed the counts. */
const live = (path, { onEvent, onState = () => {}, ...handlers }, signal) => {
  let stream;
  stream = follow(path, {
    ...handlers,
    resume_ms_max: path === "/events/tasks" ? RESUME_MS_MAX : undefined,
    onOpen: () => { bar.changed(); handlers.onOpen?.(); },
    onEvent: (event, kind) => { bar.changed(); onEvent?.(event, kind); },
    onState: (state) => { if (!signal.aborted) { say(state, () => stream); onState(state); } },
  });
  signal.addEventListener("abort", () => stream.close(), { once: true });
  return stream;
};

const bar = counts(document.getElementById("counts"));
addEventListener("hashchange", route);
setInterval(tick, 1_000);
route();
