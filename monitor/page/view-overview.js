// What is wrong, the figures of now, and the graphs of the last half hour.

import { get } from "./api.js";
import { lines } from "./charts.js";
import { count, duration, h, morph, short } from "./dom.js";

export const title = "Overview";

const STAGES = ["frontier", "fetchers", "streams", "sinks", "monitor"];

function finding(found, index) {
  return h("article", { class: found.severe ? "finding severe" : "finding", "data-key": `${found.kind}-${index}` },
    h("h3", {}, h("span", { class: "badge" }, found.severe ? "problem" : "note"), " ", found.title),
    h("p", {}, found.text),
    h("p", {}, h("b", {}, "What to do: "), found.advice, " ", h("a", { href: `#/${found.view}`, "aria-label": `Show more about: ${found.title}` }, "Show more")));
}

function tile(name, value, note) {
  return h("div", { class: "tile" }, h("dt", {}, name), h("dd", {}, value, note && h("small", {}, note)));
}

function draw(told) {
  const rates = told.rates;
  const failing = rates.fetches ? rates.errors / rates.fetches : 0;
  const over = (value) => told.history.map((point) => [Date.parse(point.at), value(point)]);
  const groups = Object.keys(told.history.at(-1)?.lag ?? {});
  return [
    h("section", { "aria-labelledby": "wrong" },
      h("h2", { id: "wrong" }, "What holds it up"),
      told.at === null ? h("p", { class: "empty" }, "The first look is on its way.")
        : told.findings.length ? told.findings.map(finding)
          : h("p", { class: "finding fine" }, h("span", { class: "badge" }, "fine"), " Nothing is wrong.")),
    h("section", { "aria-labelledby": "now" },
      h("h2", { id: "now" }, "Now"),
      h("dl", { class: "tiles" },
        tile("Pages", short(rates.pages), " /s"),
        tile("Failing fetches", `${(failing * 100).toFixed(1)} %`),
        tile("Latency, median", duration(told.p50_s)),
        tile("Latency, 95 %", duration(told.p95_s)),
        tile("URLs that wait", count(told.frontier.queued)),
        tile("Requests out", count(told.frontier.leased)),
        tile("Hosts with work", count(told.frontier.hosts)),
        tile("Rows written", short(rates.rows), " /s")),
      h("ul", { class: "stages", "aria-label": "Living workers" }, STAGES.map((stage) =>
        h("li", { class: told.stages[stage] ? "alive" : "missing" }, stage, " ", h("b", {}, count(told.stages[stage])))))),
    h("section", { "aria-labelledby": "graphs" },
      h("h2", { id: "graphs" }, "The last half hour"),
      h("div", { class: "charts" },
        lines("Pages, rows and failures a second", [
          { name: "pages", points: over((point) => point.rates.pages) },
          { name: "rows", points: over((point) => point.rates.rows) },
          { name: "failures", points: over((point) => point.rates.errors) },
        ]),
        lines("Latency of a fetch", [
          { name: "median", points: over((point) => point.p50_s) },
          { name: "95 %", points: over((point) => point.p95_s) },
        ], duration),
        lines("Records behind, by consumer group", groups.map((group) => ({
          name: group.replace("odradek-", ""), points: over((point) => point.lag[group] ?? null),
        }))),
        lines("URLs that wait in the frontier", [
          { name: "waiting", points: over((point) => point.queued) },
          { name: "out", points: over((point) => point.leased) },
        ]))),
  ];
}

export function open(main) {
  const body = main.appendChild(h("div"));
  return async () => {
    const told = await get("overview");
    morph(body, draw(told));
    return told.age_s;
  };
}
