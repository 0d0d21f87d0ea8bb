// Tasks by state on top of every page, each a link to the list of them.
import { el } from "./dom.js";
import { count, words } from "./format.js";
import { every, paced } from "./pace.js";
import { call } from "./rpc.js";

const STATES = ["pending", "in_progress", "completed", "failed", "cancelled"];
/** Counting a million tasks costs the database something. */
const PAUSE_MS = 2_000;
/** Without events the counts are asked for this often: a page that follows one tree does not hear of others. */
const POLL_MS = 15_000;

/** Builds the bar; `changed` says that counts may have changed, `select` which state the page below shows. */
export const counts = (place) => {
  const numbers = new Map();
  const links = STATES.map((state) => {
    const number = el("b", {}, "–");
    numbers.set(state, number);
    return el("a", { href: `#/tasks?status=${state}`, class: state, "data-state": state }, number, " ", el("span", {}, words(state)));
  });
  place.append(...links);
  const forever = new AbortController().signal;
  const changed = paced(async () => {
    try {
      const all = await call("tasks.counts");
      for (const state of STATES) numbers.get(state).textContent = Number.isFinite(all[state]) ? count(all[state]) : "–";
      place.classList.remove("old");
    } catch {
      // The state of the connection is said elsewhere; these numbers are the last that were known.
      place.classList.add("old");
    }
  }, PAUSE_MS, forever);
  every(changed, POLL_MS, forever);
  changed();
  const select = (state) => {
    for (const link of links) {
      if (link.dataset.state === state) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current");
    }
  };
  return { changed, select };
};
