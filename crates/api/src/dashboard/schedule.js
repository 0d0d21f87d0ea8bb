// One schedule: what it submits, its runs with their results, and what can be done with it.
import { confirm, notice, sentence } from "./dialog.js";
import { breakable, el, facts, json, message, show } from "./dom.js";
import { count, pill, time } from "./format.js";
import { every, paced } from "./pace.js";
import { isRun, runLine } from "./result.js";
import { call, isAborted } from "./rpc.js";
import { missedText, nextText, triggerText } from "./schedules.js";

const REFRESH_MS = 3_000, POLL_MS = 10_000;
const RUNS = 50;
/** Characters of a result in the list of runs. */
const RESULT_MAX = 160;

export const openSchedule = ({ place, id, signal, live, setTitle, changed }) => {
  setTitle(id);
  const head = el("div"), about = el("section"), runs = el("section"), tree = el("section"), problem = el("div", { role: "alert" });
  place.append(el("p", { class: "trail" }, el("a", { href: "#/schedules" }, "Schedules")), head, problem, about, runs, tree);
  show(head, "loading", () => el("p", { class: "loading" }, "Loading …"));

  const load = async () => {
    try {
      const [{ schedules }, history] = await Promise.all([
        call("schedules.list", {}, signal), call("schedules.runs", { schedule: id, limit: RUNS }, signal)]);
      problem.replaceChildren();
      const schedule = schedules.find((one) => one.name === id || one.id === id);
      if (schedule) render(schedule, history.runs);
      else gone(`there is no schedule \`${id}\``);
    } catch (error) {
      if (isAborted(error)) return;
      if (head.querySelector(".loading")) gone(sentence("the schedule could not be read", error));
      else problem.replaceChildren(message("bad", sentence("the schedule could not be read again", error)));
    }
  };
  const gone = (text) => {
    show(head, text, () => [el("h1", {}, breakable(id)), message("bad", text), el("p", {}, el("a", { href: "#/schedules" }, "All schedules"))]);
    for (const part of [about, runs, tree]) show(part, null, () => []);
  };

  const act = async (what, method, then) => {
    try {
      const result = await call(method, { schedule: id }, signal);
      changed();
      if (then) then(result); else await load();
    } catch (error) {
      if (!isAborted(error)) notice(sentence(what, error));
    }
  };
  const trigger = async () => {
    if (await confirm(`Run ${id} now?`, "Its tree is submitted at once; its next fire stays as it is.", { verb: "Run now", signal })) {
      act(`${id} was not triggered`, "schedules.trigger", ({ tree: made }) => { location.hash = `#/tasks/${made}`; });
    }
  };
  const pause = async () => {
    if (await confirm(`Pause ${id}?`, "It does not fire until it is resumed. Runs that were submitted continue.", { verb: "Pause", signal })) act(`${id} was not paused`, "schedules.pause");
  };
  const remove = async () => {
    if (await confirm(`Delete ${id}?`, ["It does not fire any more. Its runs stay as tasks.", "This cannot be undone."], { verb: "Delete schedule", danger: true, signal })) {
      act(`${id} was not deleted`, "schedules.delete", () => { location.hash = "#/schedules"; });
    }
  };

  const render = (schedule, history) => {
    show(head, [schedule.name, schedule.paused], () => [
      el("div", { class: "title" }, el("h1", {}, breakable(schedule.name)), schedule.paused && pill("paused")),
      el("p", { class: "actions" },
        el("button", { type: "button", class: "primary", onclick: trigger }, "Run now …"),
        schedule.paused ? el("button", { type: "button", onclick: () => act(`${id} was not resumed`, "schedules.resume") }, "Resume")
          : el("button", { type: "button", onclick: pause }, "Pause …"),
        el("button", { type: "button", class: "danger", onclick: remove }, "Delete …")),
    ]);
    show(about, schedule, () => [el("h2", { class: "unseen" }, "About this schedule"), facts([
      ["Fires", triggerText(schedule.trigger)], ["Next", nextText(schedule)], ["Missed fires", missedText(schedule.missed)], ["Id", el("code", {}, breakable(schedule.id))]])]);
    show(runs, history, () => [el("h2", {}, "Runs"), history.length === 0 ? el("p", { class: "sub" }, "It has not fired yet.") : list(history)]);
    const tasks = schedule.tree?.tasks ?? [];
    show(tree, tasks, () => [el("h2", {}, "What it submits"), json(tasks, "Tasks that are submitted")]);
  };

  const refresh = paced(load, REFRESH_MS, signal);
  live("/events/tasks", { onEvent: refresh, onOpen: refresh });
  every(refresh, POLL_MS, signal);
  refresh();
  return {};
};

const list = (history) => [
  el("ol", { class: "tree runs" }, history.map((run) => el("li", {}, el("div", { class: "row" },
    run.status ? pill(run.status) : el("span", { class: "pill" }, "removed"),
    run.status ? el("a", { href: `#/tasks/${run.tree}` }, time(run.fire_time)) : time(run.fire_time),
    el("span", { class: "sub" }, resultText(run)))))),
  history.length >= RUNS && el("p", { class: "sub" }, `The newest ${count(RUNS)} runs are shown.`),
];

const resultText = ({ result, status }) => {
  if (result === null || result === undefined) return status ? "" : "no longer stored";
  const run = [result, result?.result].find(isRun);
  if (run) return runLine(run);
  const text = typeof result === "string" ? result : JSON.stringify(result);
  return text.length > RESULT_MAX ? `${text.slice(0, RESULT_MAX)} …` : text;
};
