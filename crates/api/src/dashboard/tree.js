// The tasks of a tree: parts under their whole, each after what it waits for.
import { breakable, el } from "./dom.js";
import { count, percent, pill, plural, took } from "./format.js";

/** Tasks that are shown at once; a tree may have 10 000. */
const SHOWN = 200;

/** Place of every task in an order in which each comes after what it waits for; those that could run at once keep their order. */
const ranks = (tasks, known) => {
  const unmet = new Map(), dependants = new Map();
  for (const task of tasks) {
    const waits = (task.depends_on ?? []).filter((dependency) => known.has(dependency.task));
    unmet.set(task.id, waits.length);
    for (const { task: other } of waits) {
      if (!dependants.has(other)) dependants.set(other, []);
      dependants.get(other).push(task.id);
    }
  }
  const ready = tasks.filter((task) => unmet.get(task.id) === 0).map((task) => task.id);
  const rank = new Map();
  for (let at = 0; at < ready.length; at += 1) {
    rank.set(ready[at], at);
    for (const other of dependants.get(ready[at]) ?? []) {
      unmet.set(other, unmet.get(other) - 1);
      if (unmet.get(other) === 0) ready.push(other);
    }
  }
  return rank;
};

/** Tasks in order: parts below their parent, and among them dependencies before dependants. */
export const ordered = (tasks) => {
  const known = new Map(tasks.map((task) => [task.id, task]));
  const rank = ranks(tasks, known);
  const parts = new Map();
  for (const task of tasks) {
    const parent = known.has(task.parent) ? task.parent : null;
    if (!parts.has(parent)) parts.set(parent, []);
    parts.get(parent).push(task);
  }
  const all = [];
  const walk = (parent, depth) => {
    for (const task of (parts.get(parent) ?? []).sort((a, b) => rank.get(a.id) - rank.get(b.id))) {
      all.push({ task, depth });
      if (parts.has(task.id)) walk(task.id, depth + 1);
    }
  };
  walk(null, 0);
  return all;
};

/** Makes the view of a tree. The function it returns shows a state of it with one task marked; rows that have not changed stay. */
export const treeView = (place) => {
  const list = el("ol", { class: "tree" }), more = el("p", { class: "actions" }), summary = el("p", { class: "sub" });
  const rows = new Map();
  let limit = SHOWN;
  place.append(el("h2", {}, "Tree"), summary, list, more);

  const rowOf = ({ task, depth }, names, selected) => {
    const waits = (task.depends_on ?? []).map((one) => [names.get(one.task), one.required]).filter(([other]) => other);
    const signature = JSON.stringify([task.name, task.status, task.progress, task.attempt, task.started_at, task.completed_at, task.last_assigned_node,
      depth, task.id === selected, waits.map(([other, required]) => [other.id, other.status, required])]);
    const old = rows.get(task.id);
    if (old?.signature === signature) return old.node;
    const node = item(task, Math.min(depth, 6), waits, task.id === selected);
    if (old?.node.contains(document.activeElement)) requestAnimationFrame(() => node.querySelector("a")?.focus());
    rows.set(task.id, { signature, node });
    return node;
  };

  const update = (tree, selected) => {
    const names = new Map(tree.tasks.map((task) => [task.id, task]));
    const all = ordered(tree.tasks);
    const shown = all.slice(0, limit);
    const marked = all.slice(limit).filter(({ task }) => task.id === selected);
    const ended = tree.tasks.filter((task) => ["completed", "failed", "cancelled"].includes(task.status)).length;
    summary.textContent = tree.tasks.length === 1 ? "One task, without dependencies." : `${count(ended)} of ${plural(tree.tasks.length, "task")} ended.`;
    const nodes = [...shown, ...marked].map((entry) => rowOf(entry, names, selected));
    if (nodes.length !== list.childElementCount || nodes.some((node, at) => list.children[at] !== node)) list.replaceChildren(...nodes);
    const left = all.length - shown.length;
    const press = () => { limit += SHOWN; update(tree, selected); };
    more.replaceChildren(...(left > 0 ? [el("button", { type: "button", onclick: press }, `Show ${count(Math.min(SHOWN, left))} of ${count(left)} more`)] : []));
  };
  return update;
};

const item = (task, depth, waits, isSelected) => el("li", { class: `d${depth}${isSelected ? " selected" : ""}` },
  el("div", { class: "row" },
    pill(task.status),
    el("a", { href: `#/tasks/${task.id}`, "aria-current": isSelected ? "true" : undefined }, breakable(task.name)),
    el("span", { class: "sub" }, task.executor),
    task.started_at && el("span", { class: "sub" }, took(task)),
    task.attempt > 1 && el("span", { class: "sub" }, `attempt ${task.attempt}`),
    task.last_assigned_node && el("span", { class: "sub" }, "on ", breakable(task.last_assigned_node)),
    task.status === "in_progress" && typeof task.progress === "number" && el("span", { class: "progress" },
      el("progress", { max: "1", value: task.progress, "aria-label": `progress of ${task.name}` }), ` ${percent(task.progress)}`)),
  waits.length > 0 && el("p", { class: "waits" }, "after ", waits.map(([other, required], index) => [
    index > 0 && ", ", el("a", { href: `#/tasks/${other.id}`, class: other.status }, breakable(other.name)), !required && " (optional)"])));
