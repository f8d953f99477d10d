// Each crawl: how far it is, and the handles to steer it.

import { get } from "./api.js";
import { ask, order, takeBack } from "./dialogs.js";
import { count, h, morph, stamp } from "./dom.js";

export const title = "Crawls";

const FIGURES = { pages: "Pages", queued: "Waiting", leased: "Out", moved: "Redirects", refused: "Refused", errors: "Failed" };

async function stop(name) {
  const sure = await ask({
    title: `Stop ${name}?`,
    text: "What waits is refused, and what is found later. What is being fetched is finished. This cannot be undone for the URLs that are refused meanwhile.",
    yes: "Stop the crawl",
    danger: true,
  });
  if (sure) await order("stop", "crawl", name);
}

async function amount(action, name, question) {
  const typed = await ask({ title: `${question.title} of ${name}`, yes: "Order", ...question });
  if (typed !== null) await order(action, "crawl", name, { amount: Number(typed) });
}

function controls(told) {
  const name = told.crawl.name;
  const act = (label, run, extra) => h("button", { type: "button", "aria-label": `${label} ${name}`, onclick: run, ...extra }, label);
  return h("div", { class: "actions" },
    told.state === "paused"
      ? act("Resume", () => takeBack("pause", "crawl", name), { class: "primary" })
      : act("Pause", () => order("pause", "crawl", name)),
    told.state === "stopped"
      ? act("Take the stop back", () => takeBack("stop", "crawl", name))
      : act("Stop", () => stop(name), { class: "danger" }),
    act("Priority", () => amount("priority", name, { title: "Priority", text: "From -100 to 100; higher goes sooner. It counts for what is found from now on.", label: "Priority", attributes: { min: -100, max: 100, step: 1 } })),
    act("Delay", () => amount("delay", name, { title: "Delay", text: "Seconds between two requests to one host. A robots.txt may still ask for more.", label: "Seconds", attributes: { min: 0, max: 86400 } })));
}

function orders(told) {
  if (!told.orders.length) return null;
  return h("ul", { class: "orders" }, told.orders.map((each) =>
    h("li", { "data-key": `${each.action}` }, h("b", {}, each.action), each.amount === null ? "" : ` ${each.amount}`, ` by ${each.by} since ${stamp(each.ordered_at)}`, each.reason ? `: ${each.reason}` : "", " ",
      h("button", { type: "button", class: "small", "aria-label": `Take back ${each.action} of ${told.crawl.name}`, onclick: () => takeBack(each.action, each.subject, each.target) }, "Take back"))));
}

function card(told) {
  const figures = told.figures;
  const done = ["pages", "moved", "refused", "errors"].reduce((sum, each) => sum + (figures[each] ?? 0), 0);
  const all = done + (figures.queued ?? 0) + (figures.leased ?? 0);
  const crawl = told.crawl;
  return h("article", { class: "card", "data-key": crawl.name },
    h("h2", {}, crawl.name, " ", h("span", { class: `state ${told.state}` }, told.state)),
    h("p", { class: "progress" },
      h("progress", { "aria-label": `Progress of ${crawl.name}`, max: Math.max(all, 1), value: done }),
      h("span", {}, `${count(done)} of ${count(all)} known URLs are done`)),
    h("dl", { class: "tiles small" }, Object.entries(FIGURES).map(([figure, label]) =>
      h("div", { class: "tile" }, h("dt", {}, label), h("dd", {}, count(figures[figure]))))),
    controls(told),
    orders(told),
    h("details", {}, h("summary", {}, "Definition"),
      h("dl", { class: "pairs" }, Object.entries(crawl).map(([name, value]) => [
        h("dt", {}, name), h("dd", {}, Array.isArray(value) ? value.join("\n") || "none" : value === null ? "no limit" : String(value))]))));
}

export function open(main) {
  const body = main.appendChild(h("div"));
  return async () => {
    const told = await get("crawls");
    morph(body, told.crawls.length ? told.crawls.map(card) : [h("p", { class: "empty" }, "No crawl is defined. Start one with odradek crawl URL.")]);
  };
}
