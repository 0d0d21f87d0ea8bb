// Server-sent events read with `fetch`, because `EventSource` cannot send a token. Reconnects with `Last-Event-ID`.
import { errorOf, isAborted, request } from "./rpc.js";

/** Pauses between attempts: doubled from the first to the last, each shortened by up to a half at random. */
const BACKOFF_MS = [500, 15_000];
/** The server shows every 15 s that it is alive. */
const SILENCE_MS_MAX = 45_000;
/** A hidden tab gives its connection back after this time: browsers have few of them per server. */
const HIDDEN_MS_MAX = 20_000;
/** Characters of one event. */
const EVENT_MAX = 16 << 20;

/** Cuts a text that comes in pieces into events `{ id, event, data }`. */
export const reader = (onEvent) => {
  let rest = "", id, event = "", data = [];
  const line = (text) => {
    if (text === "") {
      if (data.length > 0) onEvent({ id, event, data: data.join("\n") });
      [event, data] = ["", []];
      return;
    }
    const at = text.indexOf(":");
    const field = at < 0 ? text : text.slice(0, at);
    const value = at < 0 ? "" : text.slice(at + 1).replace(/^ /, "");
    if (field === "id") id = value;
    else if (field === "event") event = value;
    else if (field === "data") data.push(value);
  };
  return (text) => {
    rest += text;
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop();
    if (rest.length > EVENT_MAX) throw new Error("an event is too large");
    lines.forEach(line);
  };
};

/**
 * Follows a stream until it is closed or says that it is over. `onState` hears `connecting`, `live`, `lost` (with the
 * time of the next attempt), `paused` while the tab is hidden, `ended` and `refused` (with the error).
 * `onOpen` is called at every connection: what was read before may be out of date. Events that were missed in a pause of
 * more than `resume_ms_max` are not asked for.
 */
export const follow = (path, { onEvent, onOpen = () => {}, onState, resume_ms_max = Infinity }) => {
  let last, heard = 0, failures = 0, controller, timer, isClosed = false, isOver = false;

  const connect = async () => {
    clearTimeout(timer);
    controller?.abort();
    const mine = controller = new AbortController();
    onState({ state: failures === 0 ? "connecting" : "lost" });
    try {
      await read(mine);
      if (isOver) { isClosed = true; return onState({ state: "ended" }); }
      retry(mine);
    } catch (error) {
      if (isClosed || mine !== controller) return;
      if (error.status >= 400 && error.status < 500 && error.status !== 429 && error.status !== 408) {
        isClosed = true;
        return onState({ state: "refused", error });
      }
      retry(mine, isAborted(error) ? undefined : error);
    }
  };

  const retry = (mine, error) => {
    if (isClosed || mine !== controller) return;
    const pause = Math.min(BACKOFF_MS[1], BACKOFF_MS[0] * 2 ** failures) * (1 - Math.random() / 2);
    const wait = Math.max(pause, error?.retryAfterMs ?? 0);
    failures += 1;
    timer = setTimeout(connect, wait);
    onState({ state: "lost", error, at: Date.now() + wait });
  };

  const read = async (mine) => {
    // After a long pause it is cheaper to read the page again than to hear of everything that has happened since.
    if (Date.now() - heard > resume_ms_max) last = undefined;
    const response = await request(path, {
      headers: { accept: "text/event-stream", ...(last ? { "last-event-id": last } : {}) }, signal: mine.signal,
    });
    if (!response.ok) throw errorOf(response, await response.json().catch(() => null));
    heard = Date.now();
    onState({ state: "live" });
    onOpen();
    const push = reader(({ id, event, data }) => {
      if (id) last = id;
      failures = 0;
      const value = JSON.parse(data);
      if (value.final || value.is_final) isOver = true;
      onEvent(value, event);
    });
    const source = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const silence = setTimeout(() => mine.abort(), SILENCE_MS_MAX);
      const { done, value } = await source.read().finally(() => clearTimeout(silence));
      if (done) return;
      heard = Date.now();
      push(value);
    }
  };

  let hidden;
  const pause = () => {
    if (isClosed) return;
    clearTimeout(timer);
    const open = controller;
    controller = null;
    open?.abort();
    onState({ state: "paused" });
  };
  const resume = () => { if (!isClosed && !controller) connect(); };
  const onVisibility = () => {
    clearTimeout(hidden);
    if (document.visibilityState === "hidden") hidden = setTimeout(pause, HIDDEN_MS_MAX); else resume();
  };
  const again = () => { if (!isClosed) { failures = 0; connect(); } };
  document.addEventListener("visibilitychange", onVisibility);
  // A page that the browser keeps to come back to keeps its connections too, and there are six for all pages of a server.
  addEventListener("pagehide", pause);
  addEventListener("pageshow", resume);
  addEventListener("online", again);
  connect();

  return {
    retry: again,
    close: () => {
      isClosed = true;
      clearTimeout(timer);
      clearTimeout(hidden);
      document.removeEventListener("visibilitychange", onVisibility);
      removeEventListener("pagehide", pause);
      removeEventListener("pageshow", resume);
      removeEventListener("online", again);
      controller?.abort();
    },
  };
};
