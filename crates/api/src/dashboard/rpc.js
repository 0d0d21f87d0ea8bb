// Calls of the server: JSON-RPC 2.0 at `/rpc`. The token lives as long as the tab and is sent to this server only.
import { askToken } from "./dialog.js";
import { learnClock } from "./format.js";

const TOKEN = "hyperscale.token";
/** A call without a response after this time has failed. */
const TIMEOUT_MS = 30_000;

/** Why a call has no result: what happened, and what to do about it. */
export class ApiError extends Error {
  constructor(message, { code = 0, reason = "", fix = "", status = 0, retryAfterMs } = {}) {
    super(message);
    Object.assign(this, { code, reason, fix, status, retryAfterMs });
  }
}

const headers = (more) => {
  const token = sessionStorage.getItem(TOKEN);
  return token ? { ...more, authorization: `Bearer ${token}` } : more;
};

/** The error that a response carries, whatever its body is. */
export const errorOf = (response, body) => {
  const error = body?.error;
  const details = { status: response.status, code: error?.code, reason: error?.data?.reason, fix: error?.data?.fix, retryAfterMs: error?.data?.retry_after_ms };
  return new ApiError(error?.message ?? `the server responded with status ${response.status}`, details);
};

/** A request that asks for the token, as often as the server wants one, and is then sent again. The time for it does not count. */
export const request = async (path, { headers: more, signal, timeout_ms, ...init } = {}) => {
  for (;;) {
    const sent = sessionStorage.getItem(TOKEN);
    const timeout = timeout_ms ? AbortSignal.timeout(timeout_ms) : undefined;
    let response;
    try {
      response = await fetch(path, { ...init, headers: headers(more), cache: "no-store", credentials: "omit", signal: AbortSignal.any([signal, timeout].filter(Boolean)) });
    } catch (error) {
      if (signal?.aborted) throw error;
      const why = timeout?.aborted ? `no response within ${timeout_ms / 1_000} s` : "the server cannot be reached";
      throw new ApiError(why, { reason: "unreachable", fix: "check that `hyperscale serve` is running" });
    }
    learnClock(response.headers.get("date"));
    if (response.status !== 401) return response;
    const error = errorOf(response, await response.json().catch(() => null));
    // Another call may have got a token meanwhile.
    if (sessionStorage.getItem(TOKEN) === sent) await askToken(error, (token) => sessionStorage.setItem(TOKEN, token), signal);
  }
};

let id = 0;
/** Calls a method. Rejects with an [`ApiError`], or with an `AbortError` if `signal` was aborted. */
export const call = async (method, params = {}, signal) => {
  id += 1;
  const response = await request("/rpc", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id, method, params }),
    signal, timeout_ms: TIMEOUT_MS,
  });
  const body = await response.json().catch((error) => { if (signal?.aborted) throw error; return null; });
  if (!response.ok || !body || body.error) throw errorOf(response, body);
  return body.result;
};

export const isAborted = (error) => error?.name === "AbortError";
