// Hosts: what waits for each, how its fetches end, and orders about it.

import { get } from "./api.js";
import { ask, order, takeBack } from "./dialogs.js";
import { count, duration, h, moment, morph, table } from "./dom.js";

export const title = "Hosts";

const SORTS = { queued: "most waiting", fetches: "most fetches", errors: "most failures", failures: "most in trouble", mean_s: "slowest" };
const COLUMNS = [
  { name: "Host" }, { name: "Waiting", number: true }, { name: "Waits for" }, { name: "Delay", number: true }, { name: "Fetches", number: true },
  { name: "Failures", number: true }, { name: "Answers in", number: true }, { name: "Last" }, { name: "Orders" },
];

function waitsFor(host) {
  if (host.given_up) return `given up: ${host.given_up}`;
  if (host.failures) return `${host.failures} failures in a row, ${duration(host.wait_s)} more`;
  if (host.robots_failures) return `its robots.txt, ${duration(host.wait_s)} more`;
  if (host.outstanding) return "an answer";
  if (host.queued) return host.wait_s > 0 ? `its delay, ${duration(host.wait_s)} more` : "its turn";
  return "nothing";
}

async function delay(host) {
  const typed = await ask({
    title: `Delay of ${host}`, text: "Seconds between two requests. A robots.txt may still ask for more.",
    label: "Seconds", yes: "Order", attributes: { min: 0, max: 86400 },
  });
  if (typed !== null) await order("delay", "host", host, { amount: Number(typed) });
}

async function block(host) {
  const sure = await ask({ title: `Block ${host}?`, text: "Nothing more of it is fetched, in any crawl; what waits is refused.", yes: "Block the host", danger: true });
  if (sure) await order("block", "host", host);
}

function actions(host) {
  const name = host.host;
  const has = (action) => host.orders.some((each) => each.action === action && each.subject === "host");
  const act = (label, run) => h("button", { type: "button", class: "small", "aria-label": `${label} ${name}`, onclick: run }, label);
  return h("div", { class: "actions tight" },
    host.orders.map((each) => h("span", { class: "badge", "data-key": `order-${each.version}` }, each.action, each.amount === null ? "" : ` ${each.amount}`)),
    has("block") ? act("Unblock", () => takeBack("block", "host", name)) : act("Block", () => block(name)),
    has("pause") ? act("Resume", () => takeBack("pause", "host", name)) : act("Pause", () => order("pause", "host", name)),
    has("delay") ? act("Undo delay", () => takeBack("delay", "host", name)) : act("Delay", () => delay(name)));
}

function row(host) {
  const last = host.last_outcome ? `${host.last_outcome}${host.last_status ? ` ${host.last_status}` : ""} at ${moment(host.last_at)}` : "–";
  return {
    key: host.host,
    cells: [host.host, count(host.queued), waitsFor(host), duration(host.delay_s), count(host.fetches), count(host.errors),
      duration(host.mean_s), host.last_error ? h("span", { title: host.last_error }, last) : last, actions(host)],
  };
}

export function open(main, query) {
  const search = h("input", { id: "host-search", type: "search", value: query.get("search") ?? "", autocomplete: "off", spellcheck: "false" });
  const sort = h("select", { id: "host-sort" }, Object.entries(SORTS).map(([value, label]) => h("option", { value }, label)));
  sort.value = query.get("sort") in SORTS ? query.get("sort") : "queued";
  const body = h("div");
  main.append(
    h("form", { class: "filters", role: "search", onsubmit: (event) => event.preventDefault() },
      h("label", { for: "host-search" }, "Name holds"), search, h("label", { for: "host-sort" }, "Order"), sort),
    body);
  let asked = new AbortController();
  const refresh = async () => {
    asked.abort();
    asked = new AbortController();
    const told = await get("hosts", { search: search.value.trim(), sort: sort.value, limit: 100 }, asked.signal);
    morph(body, [
      h("p", { class: "muted" }, `${count(told.hosts.length)} shown. Fetches of ${count(told.known)} hosts were seen.`),
      table("Hosts", COLUMNS, told.hosts.map(row), "No host fits."),
    ]);
  };
  search.oninput = sort.onchange = () => window.dispatchEvent(new Event("refresh"));
  return refresh;
}
