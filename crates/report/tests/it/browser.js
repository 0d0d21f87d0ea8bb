// Asked by the browser tests in every frame that shows a report; see browser.rs.
const ask = (frame) => {
  const view = frame.contentWindow, page = frame.contentDocument;
  const text = (id) => page.getElementById(id)?.textContent;
  const chart = page.querySelector("#chart-rate");
  const box = chart.getBoundingClientRect();
  const move = new view.PointerEvent("pointermove", { clientX: box.left + box.width * 0.5, clientY: box.top + 20, bubbles: true });
  chart.dispatchEvent(move);
  const tip = page.querySelector(".tip")?.textContent;
  const tipRight = page.querySelector(".tip")?.getBoundingClientRect().right;
  chart.dispatchEvent(new view.Event("pointerleave"));
  chart.focus();
  chart.dispatchEvent(new view.KeyboardEvent("keydown", { key: "End", bubbles: true }));
  const lastTip = page.querySelector(".tip")?.textContent;
  const table = page.querySelector("#steps table") ?? page.querySelector("table");
  table.tHead.rows[0].cells[1].querySelector("button")?.click();
  const counts = [...table.tBodies[0].rows].map((row) => row.cells[1].textContent);
  page.querySelectorAll("details").forEach((part) => { part.open = true; });
  const boxes = [...page.querySelectorAll(".scroll")];
  const wide = boxes.find((part) => part.scrollWidth > part.clientWidth + 40 && part.querySelector("tbody th:first-child"));
  if (wide) wide.scrollLeft = 40;
  const outside = (text) => {
    const inner = text.getBoundingClientRect(), outer = text.closest("svg").getBoundingClientRect();
    return inner.left < outer.left - 0.5 || inner.right > outer.right + 0.5;
  };
  return {
    cutTables: boxes.filter((part) => part.scrollWidth > part.clientWidth).map((part) => part.ariaLabel),
    cutLabels: [...page.querySelectorAll("svg.chart text")].filter(outside).map((text) => text.textContent),
    stuck: wide && wide.querySelector("tbody th").getBoundingClientRect().left - wide.getBoundingClientRect().left,
    width: view.innerWidth, scrollWidth: page.documentElement.scrollWidth,
    tiles: Object.fromEntries(["requests", "rate", "failed", "p50", "p95", "p99"].map((id) => [id, text("tile-" + id)])),
    charts: [...page.querySelectorAll("svg.chart")].map((svg) => ({
      id: svg.id, width: svg.getBoundingClientRect().width, height: svg.getBoundingClientRect().height,
      points: [...svg.querySelectorAll("path.line")].map((path) => path.getAttribute("d").split("L").length),
      bars: svg.querySelectorAll("rect").length,
      fontPx: parseFloat(view.getComputedStyle(svg.querySelector("text")).fontSize) * svg.getBoundingClientRect().width / 640,
    })),
    tip, tipRight, lastTip, counts, sorted: table.tHead.rows[0].cells[1].getAttribute("aria-sort"),
    alerts: view.alerts, ground: view.getComputedStyle(page.body).backgroundColor,
  };
};
onload = () => {
  const answers = [...document.querySelectorAll("iframe")].map(ask);
  document.body.replaceChildren();
  const pre = document.createElement("pre");
  pre.id = "answers";
  pre.textContent = JSON.stringify(answers);
  document.body.append(pre);
};
