// Elements, built by hand. Every text of a server becomes a text node here, so that no text can become markup.

const SVG = "http://www.w3.org/2000/svg";

const build = (node, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" && "value" in node) node.value = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return node;
};

/** An element with attributes (`onclick` and the like are listeners) and children; strings become text. */
export const el = (name, attributes = {}, ...children) => build(document.createElement(name), attributes, children);

/** The same for the elements of a drawing. */
export const shape = (name, attributes = {}, ...children) =>
  build(document.createElementNS(SVG, name), attributes, children);

/** A name that may break after its own separators, and only there unless it is longer than its line. */
export const breakable = (text) => {
  const parts = String(text).split(/(?<=[-_./:])/);
  return parts.flatMap((part, at) => (at === 0 ? [part] : [el("wbr"), part]));
};

/** A sentence in which names and commands are set off by backticks. */
export const prose = (text) => String(text).split("`").map((part, at, all) => (at % 2 === 1 && at < all.length - 1 ? el("code", {}, part) : at % 2 === 1 ? `\`${part}` : part));

/** A message that cannot be missed: `bad` or `warn`. */
export const message = (tone, text) => el("p", { class: `notice ${tone}` }, el("span", {}, prose(text)));

/** Replaces the content of an element only if what it shows has changed: focus and open details stay. */
export const show = (place, data, make) => {
  const signature = JSON.stringify(data) ?? "";
  if (place.signature === signature) return;
  place.signature = signature;
  place.replaceChildren(...[make()].flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
};

/** Name and value pairs; those without a value are left out. */
export const facts = (pairs) =>
  el("dl", { class: "facts" }, pairs.filter(([, value]) => value !== undefined && value !== null && value !== "").map(
    ([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));

/** A table in a box of its own that scrolls where it is too wide. Cells are texts, nodes or `{ n: value, text }`. */
export const table = (caption, head, rows, { named = 0 } = {}) => {
  const cell = (content, column) => {
    const isNumber = content !== null && typeof content === "object" && "n" in content;
    const attributes = { class: isNumber ? `n ${content.class ?? ""}`.trim() : content?.class };
    const inner = isNumber ? content.text : content?.of ?? content;
    return column === named ? el("th", { scope: "row", ...attributes }, inner) : el("td", attributes, inner);
  };
  const isNumeric = (column) => rows.some((row) => row[column] !== null && typeof row[column] === "object" && "n" in row[column]);
  const heads = head.map((title, column) => el("th", { scope: "col", class: isNumeric(column) ? "n" : undefined }, title));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", {}, el("caption", {}, caption), el("thead", {}, el("tr", {}, heads)),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map(cell))))));
};

/** Characters of a text that are shown: about 500 lines. */
const SHOWN_MAX = 20_000;

/** A text of many lines, cut where it would be too long to be read. */
export const longText = (text, label) => [
  el("pre", { tabindex: "0", role: "region", "aria-label": label }, el("code", {}, text.slice(0, SHOWN_MAX))),
  text.length > SHOWN_MAX && el("p", { class: "sub" }, `The first ${SHOWN_MAX} of ${text.length} characters are shown.`),
];

/** Values as indented JSON. */
export const json = (value, label) => longText(JSON.stringify(value, null, 2) ?? "", label);

/** A button that saves a value as a file. */
export const download = (value, name) => {
  const save = () => {
    const address = URL.createObjectURL(new Blob([JSON.stringify(value, null, 2)], { type: "application/json" }));
    el("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1_000);
  };
  return el("button", { type: "button", onclick: save }, "Download JSON");
};
