// What interrupts: questions before something is changed, the token, errors of what was asked for.
import { el, prose } from "./dom.js";

/** Opens a dialog and waits for its end; escape is the same as its first button. */
const ask = (title, content, buttons, signal) => new Promise((resolve) => {
  const form = el("form", { method: "dialog" }, el("h2", { id: "dialog-title" }, title), content,
    el("p", { class: "actions" }, buttons));
  const dialog = el("dialog", { "aria-labelledby": "dialog-title" }, form);
  const end = () => { dialog.remove(); resolve(dialog.returnValue); };
  dialog.addEventListener("close", end);
  signal?.addEventListener("abort", () => dialog.close(""), { once: true });
  document.body.append(dialog);
  dialog.showModal();
});

/** Asks whether to do something; `true` if so. `danger` marks what cannot be undone. */
export const confirm = async (title, text, { verb, danger = false, signal }) => {
  const buttons = [
    el("button", { value: "", formnovalidate: true }, "Back"),
    el("button", { value: "yes", class: danger ? "danger" : "primary" }, verb),
  ];
  return (await ask(title, [text].flat().map((line) => el("p", {}, line)), buttons, signal)) === "yes";
};

let pending = null;
/** Asks for the token, once for all requests that wait for it, and stores it before any of them is sent again. */
export const askToken = (error, store, signal) => {
  pending ??= (async () => {
    for (;;) {
      const input = el("input", { type: "password", id: "token", autocomplete: "off", required: true, pattern: "\\s*[!-~]+\\s*", title: "letters, digits and signs without spaces", spellcheck: "false", autofocus: true });
      const hint = /token is/.test(error.message) ? "Enter the value of `HYPERSCALE_API_TOKEN` that the server was started with." : `${error.fix}.`;
      const content = [
        el("p", {}, prose(`The server says: ${error.message}.`)), el("p", { class: "sub" }, prose(hint)),
        el("label", { for: "token" }, "Token"), input,
        el("p", { class: "sub" }, "It is kept until this tab is closed."),
      ];
      await ask("Token required", content, [el("button", { value: "yes", class: "primary" }, "Continue")]);
      const token = input.value.trim();
      pending = token ? null : pending;
      if (token) return store(token);
    }
  })();
  return Promise.race([pending, aborted(signal)]);
};

const aborted = (signal) => new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason), { once: true }));

/** A sentence from an error: what was tried, what happened, what to do. */
export const sentence = (what, error) => `${what}: ${error.message}${error.fix ? ` – ${error.fix}` : ""}`;

/** Shows an error until it is dismissed or the page is left. */
export const notice = (text) => {
  const box = el("p", { class: "notice bad" }, el("span", {}, prose(text)),
    el("button", { type: "button", "aria-label": "Dismiss this message", onclick: () => box.remove() }, "×"));
  const notices = document.getElementById("notices");
  notices.append(box);
  while (notices.childElementCount > NOTICES_MAX) notices.firstElementChild.remove();
};
const NOTICES_MAX = 3;
export const clearNotices = () => document.getElementById("notices").replaceChildren();
