// All schedules: when they fire next, and whether they are paused.
import { sentence } from "./dialog.js";
import { breakable, el, message, show } from "./dom.js";
import { age, pill, spoken, time, words } from "./format.js";
import { every, paced } from "./pace.js";
import { call, isAborted } from "./rpc.js";

const REFRESH_MS = 3_000, POLL_MS = 10_000;

/** When a schedule fires, in words. */
export const triggerText = (trigger) => {
  if (trigger?.cron) return ["cron ", el("code", {}, trigger.cron.expression), ` in ${trigger.cron.time_zone ?? "UTC"}`];
  if (trigger?.interval) return `every ${spoken(trigger.interval.seconds)}`;
  if (trigger?.once) return ["once, at ", time(trigger.once.at)];
  return JSON.stringify(trigger ?? null);
};

/** What becomes of fires that were missed, in words. */
export const missedText = (missed) => ({
  coalesce: "missed fires become one", catch_up: "each missed fire is caught up", skip: "missed fires are skipped",
}[missed] ?? words(missed ?? "coalesce"));

/** The next fire; what else is so if there is none. */
export const nextText = (schedule) => {
  if (schedule.paused) return "paused";
  return schedule.next_run_at ? [time(schedule.next_run_at), " (", age(schedule.next_run_at), ")"] : "never again";
};

export const openSchedules = ({ place, signal, live, setTitle }) => {
  setTitle("Schedules");
  const list = el("div"), problem = el("div", { role: "alert" });
  place.append(el("h1", {}, "Schedules"), problem, list);
  show(list, "loading", () => el("p", { class: "loading" }, "Loading …"));
  const load = async () => {
    try {
      const { schedules } = await call("schedules.list", {}, signal);
      problem.replaceChildren();
      show(list, schedules, () => (schedules.length === 0 ? empty() : cards(schedules)));
    } catch (error) {
      if (isAborted(error)) return;
      list.querySelector(".loading")?.remove();
      problem.replaceChildren(message("bad", sentence("schedules could not be read", error)));
    }
  };
  const refresh = paced(load, REFRESH_MS, signal);
  live("/events/tasks", { onEvent: ({ kind }) => { if (kind === "created") refresh(); }, onOpen: refresh });
  every(refresh, POLL_MS, signal);
  refresh();
  return {};
};

const cards = (schedules) => el("ul", { class: "cards" }, schedules.map((schedule) => el("li", {},
  el("div", { class: "title" }, el("h2", {}, el("a", { href: `#/schedules/${encodeURIComponent(schedule.name)}` }, breakable(schedule.name))), schedule.paused && pill("paused")),
  el("p", {}, triggerText(schedule.trigger)),
  el("p", { class: "sub" }, schedule.paused ? "does not fire until it is resumed" : ["next: ", nextText(schedule)]))));

const EXAMPLE = `name: nightly
trigger:
  cron: { expression: 0 2 * * *, time_zone: Europe/Berlin }
tasks:
  load:
    executor: load_test
    inputs: { plan: plan.yaml }
`;

const empty = () => el("div", { class: "empty" }, el("h2", {}, "No schedules yet"),
  el("p", {}, "A schedule submits a tree of tasks again and again. Write a file ", el("code", {}, "schedule.yaml"), " and store it; it appears here by itself."),
  el("pre", { tabindex: "0", "aria-label": "Example of schedule.yaml" }, el("code", {}, EXAMPLE)),
  el("pre", { tabindex: "0", "aria-label": "Command" }, el("code", {}, "hyperscale schedules create schedule.yaml")));
