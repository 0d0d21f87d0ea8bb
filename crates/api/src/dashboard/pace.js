// Work that many events ask for and that is done seldom.

/** Between two runs there is at least this many times what the last one took, so that a slow server is asked less. */
const REST = 5;

/**
 * Returns a function that asks for `work` to be done: at once if it was not done lately, else later and only once.
 * A hidden tab does nothing until it is seen again.
 */
export const paced = (work, pause_ms, signal) => {
  let timer = null, isWanted = false, isBusy = false, next = 0;
  const run = async () => {
    timer = null;
    if (signal.aborted) return;
    if (document.visibilityState === "hidden") { isWanted = true; return; }
    isWanted = false;
    isBusy = true;
    const began = performance.now();
    try { await work(); } finally {
      isBusy = false;
      next = performance.now() + Math.max(pause_ms, REST * (performance.now() - began));
      if (isWanted) ask();
    }
  };
  const ask = () => {
    if (signal.aborted || timer !== null) return;
    if (isBusy) { isWanted = true; return; }
    timer = setTimeout(run, Math.max(0, next - performance.now()));
  };
  document.addEventListener("visibilitychange", () => { if (isWanted && document.visibilityState !== "hidden") ask(); }, { signal });
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  return ask;
};

/** Asks again and again with a pause, as long as `signal` is not aborted. */
export const every = (ask, pause_ms, signal) => {
  const timer = setInterval(ask, pause_ms);
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
};
