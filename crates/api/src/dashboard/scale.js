// From values to places on an axis, and the ticks of an axis: as the charts of a report have them.

const TICKS_MAX = 6;
const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200];

/** The nearest of 1, 2, 5 times a power of ten that is not below, or not above. */
const round = (value, isUp) => {
  const power = 10 ** Math.floor(Math.log10(value));
  const digit = value / power;
  const found = isUp ? [1, 2, 5, 10].find((nice) => nice >= digit - 1e-9) : [10, 5, 2, 1].find((nice) => nice <= digit + 1e-9);
  return (found ?? 1) * power;
};
const niceStep = (step) => round(Math.max(step, 1e-9), true);
const clamp = (place) => (Number.isFinite(place) ? Math.min(1, Math.max(0, place)) : 0);
const steps = (max, step) => Array.from({ length: Math.min(Math.floor(max / step + 1e-9), 4 * TICKS_MAX) + 1 }, (_, at) => step * at);

/** From zero to at least `max`, so that the last tick is the upper end. */
export const fromZero = (max) => {
  const top = Number.isFinite(max) && max > 0 ? max : 1;
  const step = niceStep(top / TICKS_MAX);
  const end = Math.ceil(top / step - 1e-9) * step;
  return { place: (value) => clamp(value / end), ticks: steps(end, niceStep(end / TICKS_MAX)) };
};

/** Seconds of a run, in steps that people count time in. */
export const ofTime = (max) => {
  const end = Math.max(1, max);
  const step = TIME_STEPS.find((nice) => nice >= end / TICKS_MAX) ?? niceStep(end / TICKS_MAX);
  return { end, place: (value) => clamp(value / end), ticks: steps(end, step) };
};

/** For durations: by factors if they differ by more than one power of ten. */
export const ofDurations = (min, max) => {
  if (!(min > 0 && max / min > 10)) return fromZero(max);
  const [low, high] = [round(min, false), round(max, true)];
  const digits = Math.log10(high / low) <= 2.5 ? [1, 2, 5] : [1];
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    ticks.push(...digits.map((digit) => digit * 10 ** power));
  }
  return {
    place: (value) => clamp(Math.log(Math.max(value, low) / low) / Math.log(high / low)),
    ticks: ticks.filter((value) => value >= low * 0.999 && value <= high * 1.001),
  };
};

// --- labels, as short as an axis needs them

const trimmed = (value) => String(Number(value.toFixed(2)));
export const shortCount = (value) => {
  const [from, unit] = [[1e9, "G"], [1e6, "M"], [1e3, "k"]].find(([least]) => value >= least) ?? [1, ""];
  return trimmed(value / from) + unit;
};
export const shortRate = (value) => `${shortCount(value)}/s`;
export const shortMicros = (us) => {
  if (us <= 0) return "0";
  const [from, unit] = [[60e6, "m"], [1e6, "s"], [1e3, "ms"], [1, "µs"]].find(([least]) => us >= least * 0.9999) ?? [1e-3, "ns"];
  return trimmed(us / from) + unit;
};
export const shortSeconds = (s) => {
  const whole = Math.round(s), two = (n) => String(n).padStart(2, "0");
  if (whole < 60) return `${whole}s`;
  if (whole < 3_600) return `${Math.floor(whole / 60)}m${whole % 60 ? `${two(whole % 60)}s` : ""}`;
  return `${Math.floor(whole / 3_600)}h${whole % 3_600 ? `${two(Math.floor((whole % 3_600) / 60))}m` : ""}`;
};
