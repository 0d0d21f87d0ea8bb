// Charts over time as SVG, drawn as those of a report are; pointer and keys tell the values of a moment.
import { el, shape } from "./dom.js";
import { count, micros, rate, seconds } from "./format.js";
import { fromZero, ofDurations, ofTime, shortCount, shortMicros, shortRate, shortSeconds } from "./scale.js";

const WIDTH = 640, LEFT = 72, RIGHT = 14, TOP = 12, BOTTOM = 34;
/** Labels this near to the right end of the axis end at the edge of the picture instead. */
const EDGE = 30;

/** How many seconds a point stands for. */
const widthOf = (series) => (series.length > 1 ? Math.max(1, series[1].t_s - series[0].t_s) : 1);
/** The points that are over. The last one of a run is cut off where the run ended, and would be drawn as a cliff. */
const drawn = (run) => {
  const last = run.series[run.series.length - 1];
  const isCut = run.series.length > 1 && last.t_s + widthOf(run.series) > run.elapsed_s + 1e-9;
  return isCut ? run.series.slice(0, -1) : run.series;
};

/** Rate, latency, failures and virtual users of a run over time. */
export const charts = (run) => {
  const points = drawn(run), width = widthOf(run.series);
  const most = (value) => points.reduce((max, point) => Math.max(max, value(point) ?? 0), 0);
  const least = (value) => points.reduce((min, point) => Math.min(min, value(point) ?? Infinity), Infinity);
  const time = (us) => (us > 0 ? us : null);
  const failed = (point) => point.failed / width;
  const tell = { calls: (p) => rate(p.rate), failed: (p) => rate(failed(p)), VUs: (p) => count(p.vus), p50: (p) => micros(p.p50_us), p95: (p) => micros(p.p95_us), p99: (p) => micros(p.p99_us) };
  const pick = (...names) => names.map((name) => [name, tell[name]]);
  const high = { rate: most((p) => p.rate), p99: most((p) => time(p.p99_us)), failed: most(failed), vus: most((p) => p.vus) };
  const all = [
    { id: "rate", title: "Calls per second", height: 260, y: fromZero(high.rate), label: shortRate, lines: [["rate", (p) => p.rate]], fields: pick("calls", "failed"),
      description: `Calls per second over time; at most ${rate(high.rate)}.` },
    { id: "latency", title: "Latency", height: 260, y: ofDurations(least((p) => time(p.p50_us)), high.p99), label: shortMicros,
      lines: [["p99", (p) => time(p.p99_us)], ["p95", (p) => time(p.p95_us)], ["p50", (p) => time(p.p50_us)]], legend: ["p50", "p95", "p99"], fields: pick("p50", "p95", "p99"),
      description: `Median, 95th and 99th percentile of latency over time; the 99th is at most ${micros(high.p99)}.` },
    { id: "failed", title: "Failed calls per second", height: 200, y: fromZero(Math.max(high.failed, 5)), label: shortRate, lines: [["failed", failed]], fields: pick("failed", "calls"),
      description: `Failed calls per second over time; at most ${rate(high.failed)}.` },
    { id: "vus", title: "Active virtual users", height: 200, y: fromZero(Math.max(high.vus, 5)), label: shortCount, lines: [["vus", (p) => p.vus]], fields: pick("VUs"),
      description: `Active virtual users over time; at most ${count(high.vus)}.` },
  ];
  const x = ofTime(points[points.length - 1].t_s);
  return el("div", { class: "figures" }, all.map((chart) => figure(chart, points, x)));
};

const figure = (chart, points, x) => {
  const svg = draw(chart, points, x);
  const legend = chart.legend && el("ul", { class: "legend" }, chart.legend.map((name) => el("li", { class: name }, name)));
  const node = el("figure", {}, el("figcaption", {}, el("h3", {}, chart.title), legend), svg);
  interactive(svg, node, chart, points, x);
  return node;
};

const xOf = (x, value) => LEFT + x.place(value) * (WIDTH - LEFT - RIGHT);

const draw = ({ id, title, description, height, y, label, lines }, points, x) => {
  const bottom = height - BOTTOM;
  const yOf = (value) => bottom - y.place(value) * (bottom - TOP);
  const grid = shape("g", { class: "grid" });
  for (const value of y.ticks) {
    grid.append(shape("path", { d: `M${LEFT} ${yOf(value).toFixed(1)}H${WIDTH - RIGHT}` }), shape("text", { class: "y", x: LEFT - 6, y: (yOf(value) + 4).toFixed(1) }, label(value)));
  }
  for (const value of x.ticks) {
    const at = xOf(x, value), isEdge = at > WIDTH - RIGHT - EDGE;
    grid.append(shape("path", { d: `M${at.toFixed(1)} ${bottom}v5` }),
      shape("text", { class: isEdge ? "x end" : "x", x: isEdge ? WIDTH - 1 : at.toFixed(1), y: bottom + 22 }, shortSeconds(value)));
  }
  const name = `chart-${id}`;
  const svg = shape("svg", { class: "chart", id: name, viewBox: `0 0 ${WIDTH} ${height}`, role: "img", tabindex: "0", "aria-labelledby": `${name}-t ${name}-d` },
    shape("title", { id: `${name}-t` }, title), shape("desc", { id: `${name}-d` }, description), grid);
  for (const [className, value] of lines) {
    const places = points.map((point) => [xOf(x, point.t_s), value(point)]).map(([at, v]) => (v === null || v === undefined ? null : [at, yOf(v)]));
    if (lines.length === 1) svg.append(shape("path", { class: `area ${className}`, d: path(places, bottom) }));
    svg.append(shape("path", { class: `line ${className}`, d: path(places) }));
  }
  return svg;
};

/** Pieces of points that follow each other with a value; with a bottom they are filled down to it. */
const path = (places, bottom) => {
  const pieces = [];
  let piece = null;
  for (const place of places) {
    if (place === null) piece = null;
    else if (piece === null) pieces.push(piece = [place]);
    else piece.push(place);
  }
  return pieces.map((all) => {
    const line = all.map(([x, y], at) => `${at === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
    if (bottom !== undefined) return `${line}L${all[all.length - 1][0].toFixed(1)} ${bottom}L${all[0][0].toFixed(1)} ${bottom}Z`;
    return all.length === 1 ? `${line}h0.1` : line;
  }).join("");
};

const nearest = (points, t) => {
  let low = 0, high = points.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle].t_s < t) low = middle + 1; else high = middle;
  }
  return low > 0 && t - points[low - 1].t_s < points[low].t_s - t ? low - 1 : low;
};

const interactive = (svg, node, { height, fields }, points, x) => {
  const line = shape("path", { class: "cursor" });
  const tip = el("div", { class: "tip", role: "status" });
  let at = -1;
  const hide = () => { line.remove(); tip.remove(); at = -1; };
  const show = (index) => {
    at = Math.max(0, Math.min(points.length - 1, index));
    const point = points[at], place = xOf(x, point.t_s);
    line.setAttribute("d", `M${place} ${TOP}V${height - BOTTOM}`);
    svg.append(line);
    tip.textContent = [seconds(point.t_s), ...fields.map(([name, value]) => `${name}  ${value(point)}`)].join("\n");
    node.append(tip);
    const box = svg.getBoundingClientRect(), outer = node.getBoundingClientRect(), scale = box.width / WIDTH;
    const px = box.left - outer.left + place * scale;
    const isBeyond = px + 12 + tip.offsetWidth > outer.width;
    tip.style.left = `${Math.max(0, isBeyond ? px - 12 - tip.offsetWidth : px + 12)}px`;
    tip.style.top = `${box.top - outer.top + TOP * scale}px`;
  };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const inside = (((event.clientX - box.left) / box.width) * WIDTH - LEFT) / (WIDTH - LEFT - RIGHT);
    show(nearest(points, inside * x.end));
  });
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("blur", hide);
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
    if (step) show(at < 0 ? 0 : at + step);
    else if (event.key === "Home") show(0);
    else if (event.key === "End") show(points.length - 1);
    else if (event.key === "Escape") hide();
    else return;
    event.preventDefault();
  });
};
