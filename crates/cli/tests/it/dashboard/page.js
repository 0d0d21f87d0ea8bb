// Runs in every page that the browser tests open, before its own scripts: what tests look at and press. See browser.rs.
(() => {
  const LIMIT_MS = 20_000;
  let alerts = 0;
  globalThis.alert = () => { alerts += 1; };

  // Waits until a condition holds and returns its value. The error says what was waited for, and what the page showed.
  const until = async (what, condition) => {
    const end = performance.now() + LIMIT_MS;
    for (;;) {
      const value = await condition();
      if (value) return value;
      if (performance.now() > end) throw new Error(`waited in vain for ${what}; the page says: ${document.body.innerText.slice(0, 2_000)}`);
      await new Promise((resume) => setTimeout(resume, 20));
    }
  };
  const all = (selector) => [...document.querySelectorAll(selector)];
  const text = (node) => (node?.innerText ?? node?.textContent)?.replace(/\s+/g, " ").trim();
  const pressable = (name) => all("dialog[open] button, dialog[open] a").concat(document.querySelector("dialog[open]") ? [] : all("button, a"))
    .find((node) => text(node)?.startsWith(name) && node.checkVisibility());
  const press = async (name) => (await until(`something to press named ${name}`, () => pressable(name))).click();

  const rpc = async (method, params = {}) => {
    const token = sessionStorage.getItem("hyperscale.token");
    const headers = { "content-type": "application/json", ...(token ? { authorization: `Bearer ${token}` } : {}) };
    const response = await fetch("/rpc", { method: "POST", headers, body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }) });
    const body = await response.json();
    if (body.error) throw new Error(`${method}: ${body.error.message}`);
    return body.result;
  };
  const create = async (...tasks) => (await rpc("tasks.create", { tasks })).tasks;

  // Rows of the list of tasks, from the top.
  const rows = () => all("table.tasks tbody tr").map((row) => ({
    id: row.querySelector("a").hash.split("/").pop(), name: row.querySelector("a").textContent,
    state: text(row.querySelector(".pill")), top: row.getBoundingClientRect().top + scrollY,
  }));
  // Sets a field as a person does.
  const fill = (selector, value) => {
    const field = document.querySelector(selector);
    field.focus();
    if (field.type === "checkbox") field.checked = value; else field.value = value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.dispatchEvent(new Event("change", { bubbles: true }));
  };

  // Things that reach beyond the screen although they are not in a box that scrolls.
  const wide = () => {
    const beyond = (node) => node.getBoundingClientRect().right > innerWidth + 1 && !node.closest(".scroll, pre, .unseen, .skip");
    const page = document.documentElement.scrollWidth > innerWidth ? [`the page: ${document.documentElement.scrollWidth}`] : [];
    return page.concat(all("body *").filter(beyond).slice(0, 5).map((node) => node.outerHTML.slice(0, 100)));
  };
  // Words that are broken in the middle: texts without a place to break that have more than one line.
  const broken = () => {
    const found = [];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
      if (!node.parentElement.checkVisibility() || node.parentElement.closest("pre, .unseen, .message, .c5")) continue;
      for (const { index, 0: word } of node.data.matchAll(/\p{L}+/gu)) {
        const range = document.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + word.length);
        const tops = new Set([...range.getClientRects()].filter((box) => box.width > 0).map((box) => Math.round(box.top)));
        if (tops.size > 1) found.push(word);
      }
    }
    return found;
  };
  // Things to press or fill that a screen reader could not name.
  const unnamed = () => all("button, a, input, select, progress, svg[role], [role=region]").filter((node) => {
    const label = node.ariaLabel || text(node) || node.labels?.[0]?.innerText || node.getAttribute("aria-labelledby") || node.textContent.trim();
    return !label;
  }).map((node) => node.outerHTML.slice(0, 100));

  const charts = () => all("svg.chart").map((svg) => ({ id: svg.id, points: [...svg.querySelectorAll("path.line")].map((path) => path.getAttribute("d").split("L").length) }));
  const tiles = () => Object.fromEntries(all(".tiles > div").map((tile) => [text(tile.querySelector("dt")), text(tile.querySelector("b"))]));
  const connection = () => document.getElementById("connection").dataset.state;

  globalThis.page = { until, all, text, press, pressable, rpc, create, rows, fill, wide, broken, unnamed, charts, tiles, connection, alerts: () => alerts };
})();
