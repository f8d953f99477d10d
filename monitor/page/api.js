// Asks the monitor. The token stays in this tab, and is sent in a header that no other site can set.

const KEY = "odradek-token";

export class Trouble extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export const token = {
  get: () => sessionStorage.getItem(KEY) ?? "",
  set: (value) => (value ? sessionStorage.setItem(KEY, value) : sessionStorage.removeItem(KEY)),
  // An address with #token=... hands it over once; it does not stay in the history.
  take() {
    const match = /^#token=([\x21-\x7e]+)$/.exec(location.hash);
    if (match) {
      this.set(match[1]);
      history.replaceState(null, "", "#/overview");
    }
  },
};

async function call(path, options) {
  const headers = { ...(options.headers ?? {}) };
  if (token.get()) headers.Authorization = `Bearer ${token.get()}`;
  let answer;
  try {
    answer = await fetch(path, { ...options, headers, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Trouble(0, "the monitor does not answer");
  }
  const told = await answer.json().catch(() => ({ error: `the monitor answers ${answer.status}` }));
  if (!answer.ok) throw new Trouble(answer.status, told.error);
  return told;
}

export function get(path, question = {}, signal) {
  const query = new URLSearchParams(Object.entries(question).filter(([, value]) => value !== "" && value !== null));
  return call(`/api/${path}${query.size ? `?${query}` : ""}`, { signal });
}

export function post(path, question) {
  return call(`/api/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(question),
  });
}
