// What a pointer or a keyboard can ask of a report: values under the cursor of a chart, tables sorted by a column.
// Everything else is in the page without scripts. No library, nothing loaded.
(() => {
  "use strict";
  const runs = JSON.parse(document.getElementById("data").textContent).runs;

  // --- numbers, as the rest of the page writes them
  const digits = (v) => (v < 9.995 ? v.toFixed(2) : v < 99.95 ? v.toFixed(1) : v.toFixed(0));
  const count = (n) => Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ",");
  const micros = (us) => {
    if (us <= 0) return "–";
    if (us < 0.9995) return digits(us * 1e3) + "ns";
    if (us < 999.5) return digits(us) + "µs";
    if (us < 999500) return digits(us / 1e3) + "ms";
    return digits(us / 1e6) + "s";
  };
  const seconds = (s) => (s < 60 ? s + "s" : Math.floor(s / 60) + "m" + String(Math.round(s % 60)).padStart(2, "0") + "s");
  const shown = (field, point) => {
    const value = point[field];
    if (field.endsWith("_us")) return micros(value);
    if (field === "rate") return (value >= 99.95 ? count(value) : value.toFixed(1)) + "/s";
    return count(value);
  };

  // --- charts over time
  const nearest = (series, t) => {
    let low = 0, high = series.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (series[middle].t_s < t) low = middle + 1; else high = middle;
    }
    return low > 0 && t - series[low - 1].t_s < series[low].t_s - t ? low - 1 : low;
  };

  const interactive = (svg) => {
    const fields = svg.dataset.fields.split(" ").map((pair) => pair.split(":"));
    const [from, to, left, right, top, bottom] =
      ["from", "to", "left", "right", "top", "bottom"].map((name) => Number(svg.dataset[name]));
    // The last point of a run is cut off where the run ended; it is not drawn.
    const drawn = runs.map((run) => run.series.filter((point) => point.t_s <= to));
    const longest = drawn.reduce((a, b) => (b.length > a.length ? b : a));
    if (longest.length === 0) return;
    const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
    line.setAttribute("class", "cursor");
    const tip = document.createElement("div");
    tip.className = "tip";
    tip.setAttribute("role", "status");
    let at = -1;

    const hide = () => { line.remove(); tip.remove(); at = -1; };
    const show = (index) => {
      at = Math.max(0, Math.min(longest.length - 1, index));
      const t = longest[at].t_s;
      const x = left + ((t - from) / (to - from || 1)) * (right - left);
      line.setAttribute("d", `M${x} ${top}V${bottom}`);
      svg.append(line);
      const lines = drawn.flatMap((series, number) => {
        const name = runs.length > 1 ? "AB"[number] + " " : "";
        const point = series[nearest(series, t)];
        return point ? fields.map(([title, field]) => `${name}${title}  ${shown(field, point)}`) : [];
      });
      tip.textContent = [seconds(t), ...lines].join("\n");
      svg.parentElement.append(tip);
      const scale = svg.clientWidth / svg.viewBox.baseVal.width;
      const box = svg.getBoundingClientRect(), outer = svg.parentElement.getBoundingClientRect();
      const px = box.left - outer.left + x * scale;
      const beyond = px + 12 + tip.offsetWidth > outer.width;
      tip.style.left = Math.max(0, beyond ? px - 12 - tip.offsetWidth : px + 12) + "px";
      tip.style.top = box.top - outer.top + top * scale + "px";
    };
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
      show(nearest(longest, from + ((x - left) / (right - left)) * (to - from)));
    });
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
      if (step) show(at < 0 ? 0 : at + step);
      else if (event.key === "Home") show(0);
      else if (event.key === "End") show(longest.length - 1);
      else if (event.key === "Escape") hide();
      else return;
      event.preventDefault();
    });
  };

  // --- tables
  const sortable = (table) => {
    const body = table.tBodies[0];
    if (body.rows.length < 2) return;
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const falling = head.getAttribute("aria-sort") !== "descending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", falling ? "descending" : "ascending");
        const key = (row) => row.cells[column].dataset.value;
        const compare = (a, b) => {
          const [x, y] = [key(a), key(b)];
          if (x !== undefined && y !== undefined) return Number(y) - Number(x);
          if (x !== undefined || y !== undefined) return x === undefined ? 1 : -1;
          return b.cells[column].textContent.localeCompare(a.cells[column].textContent);
        };
        const rows = [...body.rows].sort(compare);
        body.append(...(falling ? rows : rows.reverse()));
      });
    });
  };

  document.querySelectorAll("svg[data-fields]").forEach(interactive);
  document.querySelectorAll("table").forEach(sortable);
  // Paper has nothing to click.
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
})();
