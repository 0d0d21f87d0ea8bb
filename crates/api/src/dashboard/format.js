// Numbers and times as people read them; numbers in the same words as in the reports of a run.
import { el } from "./dom.js";

const digits = (value) => (value < 9.995 ? value.toFixed(2) : value < 99.95 ? value.toFixed(1) : value.toFixed(0));
const trimmed = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);

export const count = (n) => Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ",");
export const rate = (perSecond) => (perSecond >= 99.95 ? count(perSecond) : perSecond.toFixed(1)) + "/s";
export const number = (value) => trimmed(value.toFixed(Math.abs(value) < 1 ? 4 : 2));
export const micros = (us) => {
  if (!(us > 0)) return "0";
  if (us < 0.9995) return digits(us * 1e3) + "ns";
  if (us < 999.5) return digits(us) + "µs";
  if (us < 999_500) return digits(us / 1e3) + "ms";
  return us < 60e6 ? digits(us / 1e6) + "s" : seconds(us / 1e6);
};
/** A time span: `0.4s`, `12.3s`, `2m05s`, `1h02m`, `3d 4h`. */
export const seconds = (s) => {
  if (s < 59.95) return `${s.toFixed(1)}s`;
  const whole = Math.round(s);
  const two = (n) => String(n).padStart(2, "0");
  if (whole < 3_600) return `${Math.floor(whole / 60)}m${two(whole % 60)}s`;
  if (whole < 86_400) return `${Math.floor(whole / 3_600)}h${two(Math.floor((whole % 3_600) / 60))}m`;
  return `${Math.floor(whole / 86_400)}d ${Math.floor((whole % 86_400) / 3_600)}h`;
};
export const bytes = (n) => {
  if (n < 1_000) return `${n} B`;
  const units = ["kB", "MB", "GB", "TB", "PB"];
  let value = n / 1e3, unit = 0;
  for (; value >= 999.5 && unit + 1 < units.length; unit += 1) value /= 1e3;
  return `${digits(value)} ${units[unit]}`;
};
/** All and nothing are never shown for almost all and almost nothing. */
export const percent = (fraction) => {
  const value = fraction * 100;
  if (value > 0 && value < 0.01) return "<0.01 %";
  if (value > 99.99 && value < 100) return ">99.99 %";
  return `${trimmed(value.toFixed(2))} %`;
};
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

// --- times

/** Milliseconds that the server's clock is ahead of the browser's, as far as its responses tell. */
let ahead_ms = 0;
/** Takes the server's time from the `date` of a response. It is told in seconds, so small differences mean nothing. */
export const learnClock = (date) => {
  const difference = date ? Date.parse(date) + 500 - Date.now() : NaN;
  if (Number.isFinite(difference)) ahead_ms = Math.abs(difference) > 2_000 ? difference : 0;
};
export const now = () => Date.now() + ahead_ms;

const full = new Intl.DateTimeFormat(undefined, {
  year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit",
  hourCycle: "h23", timeZoneName: "short",
});
const day = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
/** Name of the zone in which times are shown. */
export const zone = () => new Intl.DateTimeFormat(undefined, { timeZoneName: "short" }).formatToParts(new Date())
  .find((part) => part.type === "timeZoneName")?.value ?? "local time";

const iso = (ms) => { try { return new Date(ms).toISOString(); } catch { return undefined; } };
/** A point in time, in local time with its zone. */
export const time = (ms) => (iso(ms) ? el("time", { datetime: iso(ms), title: iso(ms) }, full.format(ms)) : `${ms} ms`);
/** The same in a list whose heading names the zone: without the date if it is today. */
export const shortTime = (ms, { millis = false } = {}) => {
  if (!iso(ms)) return `${ms} ms`;
  const isToday = day.format(ms) === day.format(now());
  const fraction = millis ? `.${String(Math.floor(ms) % 1000).padStart(3, "0")}` : "";
  return el("time", { datetime: iso(ms), title: full.format(ms) },
    el("span", { class: "keep" }, clock.format(ms) + fraction), isToday ? "" : [" ", el("span", { class: "keep" }, day.format(ms))]);
};

const ago = (ms) => {
  const s = Math.round((now() - ms) / 1_000);
  return s < -1 ? `in ${spoken(-s)}` : s <= 1 ? "now" : `${spoken(s)} ago`;
};
/** Whole seconds in at most two units: `42 s`, `5 min`, `4 h 59 min`, `3 d`. */
export const spoken = (s) => {
  const pair = (large, small, of) => [`${Math.floor(s / (of[0] * of[1]))} ${large}`, Math.floor((s % (of[0] * of[1])) / of[1]) && `${Math.floor((s % (of[0] * of[1])) / of[1])} ${small}`].filter(Boolean).join(" ");
  if (s < 60) return `${s} s`;
  if (s < 3_600) return s < 600 ? pair("min", "s", [60, 1]) : `${Math.floor(s / 60)} min`;
  return s < 86_400 ? pair("h", "min", [60, 60]) : pair("d", "h", [24, 3_600]);
};
/** How long ago a time was, or how far ahead it is; kept current by [`tick`]. */
export const age = (ms) => el("span", { class: "keep", "data-age": ms }, ago(ms));
/** How long something has been running; kept current by [`tick`]. */
export const running = (since_ms) => el("span", { class: "keep", "data-since": since_ms }, seconds(Math.max(0, now() - since_ms) / 1_000));
/** How long a task ran or has been running. */
export const took = (task) => {
  if (!task.started_at) return "–";
  return task.completed_at ? seconds(Math.max(0, task.completed_at - task.started_at) / 1_000)
    : task.status === "in_progress" ? running(task.started_at) : "–";
};
/** Brings all ages and running times of the page up to date. */
export const tick = () => {
  for (const node of document.querySelectorAll("[data-age]")) node.textContent = ago(Number(node.dataset.age));
  for (const node of document.querySelectorAll("[data-since]")) {
    node.textContent = seconds(Math.max(0, now() - Number(node.dataset.since)) / 1_000);
  }
};

// --- states

const SIGNS = { pending: "○", in_progress: "▶", completed: "✓", failed: "✗", cancelled: "⊘", healthy: "✓", stale: "!", dead: "✗", paused: "‖" };
/** A state as a word in its colour; the word and the sign say it too. */
export const pill = (state) => el("span", { class: `pill ${state}` }, el("span", { "aria-hidden": "true" }, `${SIGNS[state] ?? "·"} `), words(state));
export const words = (name) => String(name).replaceAll("_", " ");
