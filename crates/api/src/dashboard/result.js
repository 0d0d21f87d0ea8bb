// The result of a load test (result JSON, version 1): verdict, totals, charts, thresholds, steps, errors, warnings.
import { charts } from "./chart.js";
import { breakable, el, prose, table } from "./dom.js";
import { bytes, count, micros, number, percent, plural, rate, seconds, words } from "./format.js";

/** Rows of a table; the download has all of them. */
const ROWS_MAX = 100;

/** Whether a value is the result of a run. */
export const isRun = (value) => Boolean(value) && typeof value === "object" && value.version >= 1 && typeof value.totals?.requests === "number"
  && Array.isArray(value.workflows);

/** The verdict in a few words, and whether it is good. */
export const verdict = (run) => {
  const failed = (run.thresholds ?? []).filter((threshold) => !threshold.passed).length;
  if (failed > 0) return ["bad", `✗ ${failed} of ${plural(run.thresholds.length, "threshold")} failed`];
  if (run.status !== "completed") return ["bad", `✗ ${words(run.status)}${run.reason ? ` (${run.reason})` : ""}`];
  return ["good", run.thresholds?.length > 0 ? "✓ all thresholds passed" : "✓ completed"];
};

/** One line about a run, for lists. */
export const runLine = (run) => `${verdict(run)[1]} · ${rate(run.totals.rate)} · p95 ${latency(run.totals.latency_us, "p95")}`;

const latency = (timing, stat) => (timing?.count === 0 || typeof timing?.[stat] !== "number" ? "–" : micros(timing[stat]));
const failedShare = ({ ok, failed }) => (ok + failed === 0 ? 0 : failed / (ok + failed));

/** Everything about a run; `save` is the button that downloads it. */
export const runView = (run, save) => [
  el("section", { class: "run", "aria-label": "Result of the load test" },
    el("h2", {}, "Result"),
    el("p", {}, el("span", { class: `verdict ${verdict(run)[0]}` }, verdict(run)[1])),
    el("p", { class: "sub" }, [run.name, `${words(run.status)} after ${seconds(run.elapsed_s)}`, run.job && `job ${run.job}`].filter(Boolean).map((part, at) => [at > 0 && " · ", breakable(part)])),
    tiles(run.totals), warnings(run),
    run.series?.length > 0 ? charts(run) : el("p", { class: "sub" }, run.left_out?.includes("series") ? "The result was too large to be stored with its values over time: there are no charts." : "The run was too short for charts."),
    thresholds(run), steps(run), checks(run), errors(run),
    el("p", { class: "actions" }, save)),
];

const tiles = (totals) => {
  const tile = (name, value, note, isBad) => el("div", { class: isBad ? "bad" : undefined }, el("dt", {}, name), el("dd", {}, el("b", {}, value), note && el("small", {}, note)));
  return el("dl", { class: "tiles" },
    tile("requests", count(totals.requests)), tile("calls per second", rate(totals.rate)),
    tile("failed", percent(failedShare(totals)), `${count(totals.failed)} calls`, totals.failed > 0),
    tile("median latency", latency(totals.latency_us, "p50")), tile("p95", latency(totals.latency_us, "p95")),
    tile("p99", latency(totals.latency_us, "p99"), `max ${latency(totals.latency_us, "max")}`),
    totals.bytes && tile("received", bytes(totals.bytes.received), `sent ${bytes(totals.bytes.sent)}`));
};

/** What limits the trust in the numbers: in the words of the result, or by its numbers where it has no words. */
const warnings = (run) => {
  const told = run.warnings?.length > 0 ? run.warnings.map(String) : doubts(run);
  const all = [
    ...told, run.left_out?.includes("errors") && "the result was too large to be stored with its errors",
    run.final === false && "the run had not ended: these are partial results",
  ].filter(Boolean);
  if (all.length === 0) return null;
  const more = all.length - ROWS_MAX;
  return el("aside", { class: "warnings", "aria-label": "Warnings" },
    el("ul", {}, all.slice(0, ROWS_MAX).map((text) => el("li", {}, prose(text))), more > 0 && el("li", {}, `and ${count(more)} more`)));
};

const doubts = (run) => {
  const loss = run.loss ?? {};
  const lost = [["windows_lost", "statistics window was lost: its samples are missing", "statistics windows were lost: their samples are missing"],
    ["windows_late", "statistics window came too late and does not count", "statistics windows came too late and do not count"],
    ["samples_dropped", "sample could not be kept", "samples could not be kept"], ["workers_lost", "worker was lost", "workers were lost"]]
    .filter(([field]) => loss[field] > 0).map(([field, one, many]) => plural(loss[field], one, many));
  const gaps = (loss.unreported ?? []).map((gap) => `requests of segment ${gap.segment} (attempt ${gap.attempt}, ${plural(gap.vus, "VU")}) between ${seconds(gap.from_s)} and ${seconds(gap.to_s)} are unknown`);
  const notes = (run.thresholds ?? []).filter((threshold) => threshold.note).map((threshold) => `\`${threshold.rule}\` holds, but ${threshold.note}`);
  const dropped = run.workflows.filter(({ iterations: i }) => i?.scheduled && i.dropped / i.scheduled > 0.01)
    .map(({ name, iterations: i }) => `${name}: ${count(i.dropped)} of ${count(i.scheduled)} starts were dropped: the target got less load than planned`);
  return [
    ...(run.generator_saturated ? ["the load generator itself was the bottleneck: latencies are partly its own; use more cores or less load"] : []),
    ...lost, ...gaps, ...dropped, ...notes, ...run.workflows.flatMap(({ name, notes: told = [] }) => told.map((note) => `${name}: ${note}`)),
  ];
};

/** What a threshold was compared with, in the unit of its metric. */
const valueOf = ({ rule, value, reason }) => {
  if (typeof value !== "number") return reason === "no_samples" ? "no samples" : words(reason ?? "–");
  const metric = rule.split(/[<>=!]/)[0].trim();
  if (/(^|\.)metric\./.test(metric) || /\.count$|(^|\.)(completed|dropped|late|missed)$/.test(metric)) return number(value);
  if (/(^|\.)(latency|latency_failed|latency_all|service)\./.test(metric)) return micros(value * 1e6);
  if (/(^|\.)failed\.rate$|(^|\.)check\..*\.rate$/.test(metric)) return percent(value);
  return /(^|\.)rate$/.test(metric) ? rate(value) : number(value);
};

const sign = (isGood, good, bad) => el("span", { class: `sign ${isGood ? "good" : "bad"}` }, isGood ? `✓ ${good}` : `✗ ${bad}`);
const numeric = (value, text) => ({ n: value, text });
const unwelcome = (value) => ({ n: value, text: count(value), class: value > 0 ? "bad" : "" });
/** At most the first rows, and a line about the others. */
const limited = (caption, head, rows, options) => rows.length > 0 && [
  table(caption, head, rows.slice(0, ROWS_MAX), options),
  rows.length > ROWS_MAX && el("p", { class: "sub" }, `and ${count(rows.length - ROWS_MAX)} more in the download`),
];

const thresholds = (run) => limited("Thresholds", ["rule", "outcome", "value"],
  (run.thresholds ?? []).map((one) => [el("code", {}, one.rule), sign(one.passed, "passed", "failed"), numeric(one.value ?? -1, valueOf(one))]));

const steps = (run) => {
  const all = run.workflows.flatMap((workflow) => [
    ...(workflow.steps ?? []).map((step) => [`${workflow.name}.${step.name}`, step]),
    ...(workflow.setup_steps ?? []).map((step) => [`${workflow.name}.${step.name} (set-up)`, step]),
  ]).filter(([, step]) => step.kind === "test");
  const timing = (step, stat) => numeric(step.latency_us?.[stat] ?? 0, latency(step.latency_us, stat));
  return limited("Calls by step, and their latency", ["step", "count", "ok", "failed", "skipped", "rate", "mean", "p50", "p95", "p99", "max"],
    all.map(([name, step]) => [breakable(name), numeric(step.count, count(step.count)), numeric(step.ok, count(step.ok)), unwelcome(step.failed), unwelcome(step.skipped ?? 0),
      numeric(step.rate, rate(step.rate)), ...["mean", "p50", "p95", "p99", "max"].map((stat) => timing(step, stat))]));
};

const checks = (run) => limited("Checks", ["check", "outcome", "passed", "failed"], run.workflows.flatMap((workflow) => (workflow.checks ?? []).map((check) => [
  breakable([workflow.name, check.step, check.name].filter(Boolean).join(".")),
  check.passed + check.failed === 0 ? el("span", { class: "sign" }, "– not evaluated") : sign(check.failed === 0, "passed", "failed"),
  numeric(check.passed, count(check.passed)), unwelcome(check.failed)])));

const errors = (run) => limited("Errors by step, kind and message", ["where", "kind", "count", "message"],
  [...(run.errors ?? [])].sort((a, b) => b.count - a.count).map((error) => [
    breakable([error.datacenter, error.workflow, error.step].filter(Boolean).join(".")), words(error.kind), unwelcome(error.count), { of: error.message, class: "message" }]));
