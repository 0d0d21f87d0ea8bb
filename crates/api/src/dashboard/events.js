// What happened to the tasks of a tree, in the order of time.
import { breakable, el, prose } from "./dom.js";
import { count, shortTime, words, zone } from "./format.js";

/** Events that are shown at first, and added by each press of the button. */
const SHOWN = 100;
/** Events that are kept; older ones of a large tree are forgotten. */
const KEPT_MAX = 20_000;

export const eventList = (place, tree) => {
  const body = el("tbody");
  const heads = ["When", "Task", "Event", "Attempt", "Node", "Details"];
  const earlier = el("p", { class: "actions" });
  const note = el("p", { class: "sub" });
  const box = el("div", { class: "box", hidden: true }, el("table", { class: "events" }, el("caption", { class: "unseen" }, "Events, oldest first"),
    el("thead", {}, el("tr", {}, heads.map((title, at) => el("th", { scope: "col", class: `c${at}` }, at === 0 ? `When (${zone()})` : title)))), body));
  place.append(el("h2", {}, "Events"), note, earlier, box);

  let kept = [], shown = SHOWN, forgotten = 0, isAsked = false, last = "", isOver = false;
  const nameOf = (id) => tree()?.tasks.find((task) => task.id === id)?.name;

  const row = (event) => {
    const name = nameOf(event.task) ?? event.task;
    const isText = typeof event.details === "string";
    const details = event.details === null || event.details === undefined ? "" : isText ? event.details : JSON.stringify(event.details);
    const tone = event.kind === "failed" ? "bad" : event.kind === "completed" ? "good" : "";
    return el("tr", {}, el("td", { class: "c0" }, shortTime(event.at, { millis: true })),
      el("td", { class: "c1" }, el("a", { href: `#/tasks/${event.task}`, "data-task": event.task }, breakable(name))),
      el("td", { class: "c2" }, el("span", { class: `sign ${tone}` }, words(event.kind))),
      el("td", { class: "c3" }, event.attempt ? [el("span", { class: "narrow" }, "attempt "), String(event.attempt)] : ""),
      el("td", { class: "c4" }, breakable(event.node ?? "")),
      el("td", { class: "c5" }, details.length > 500 ? `${details.slice(0, 500)} …` : details));
  };

  // Many events come at once when a page is opened: they are drawn together.
  const draw = () => {
    isAsked = false;
    const from = Math.max(0, kept.length - shown);
    while (body.firstElementChild && (body.firstElementChild.at < from + forgotten)) body.firstElementChild.remove();
    const latest = body.lastElementChild?.at ?? -1;
    const first = body.firstElementChild?.at ?? Infinity;
    const made = (index) => Object.assign(row(kept[index]), { at: index + forgotten });
    const older = [];
    for (let index = from; index < kept.length && index + forgotten < first && first !== Infinity; index += 1) older.push(made(index));
    body.prepend(...older);
    const newer = [];
    for (let index = Math.max(from, latest + 1 - forgotten); index < kept.length; index += 1) newer.push(made(index));
    body.append(...newer);
    box.hidden = kept.length === 0;
    const hidden = from + forgotten;
    const said = kept.length === 0 && isOver ? "No events are kept any more: they are removed after the retention time."
      : forgotten > 0 && from === 0 ? `${count(forgotten)} earlier events are not kept by this page; \`hyperscale tasks events\` has them.` : "";
    note.replaceChildren(...prose(said));
    earlier.replaceChildren(...(from > 0 ? [el("button", { type: "button", onclick: () => { shown += SHOWN; ask(); } }, `Show earlier events (${count(hidden)})`)] : []));
  };
  const ask = () => {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(draw);
  };

  return {
    add: (event) => {
      // The last event of a tree may be told twice; one without a position stands for events that are not kept any more.
      const place = `${event.position?.transaction}.${event.position?.event}`;
      if (!event.kind || !event.task || place === last || !event.position?.event) return;
      last = place;
      kept.push(event);
      if (kept.length > KEPT_MAX) { kept = kept.slice(1_000); forgotten += 1_000; }
      ask();
    },
    clear: () => { kept = []; forgotten = 0; last = ""; body.replaceChildren(); ask(); },
    /** Names of tasks may be known only after their events. */
    names: () => {
      for (const link of body.querySelectorAll("[data-task]")) {
        const name = nameOf(link.dataset.task);
        if (name && link.textContent !== name) link.replaceChildren(...breakable(name));
      }
    },
    state: (state) => { isOver = state === "ended"; ask(); },
  };
};
