// The whole life of one URL.

import { get, Trouble } from "./api.js";
import { h, morph, stamp } from "./dom.js";

export const title = "Explain";

export function open(main, query) {
  const url = h("input", { id: "explain-url", type: "text", inputmode: "url", required: true, value: query.get("url") ?? "", placeholder: "https://example.org/page", autocomplete: "off", spellcheck: "false" });
  const crawl = h("select", { id: "explain-crawl" }, h("option", { value: "" }, "the newest"));
  const body = h("div", { "aria-live": "polite" });
  const run = async () => {
    if (!url.value.trim()) return;
    morph(body, [h("p", { class: "empty" }, "Asking everybody who may know …")]);
    try {
      const told = await get("explain", { url: url.value.trim(), crawl: crawl.value });
      morph(body, [
        h("h2", {}, told.url),
        h("p", { class: "muted" }, `In crawl ${told.crawl}: what holds now, then what happened.`),
        h("ol", { class: "life" }, told.facts.map((fact, index) =>
          h("li", { "data-key": String(index) }, h("time", {}, stamp(fact.at)), h("b", {}, fact.source), h("span", {}, fact.text)))),
      ]);
    } catch (error) {
      if (!(error instanceof Trouble)) throw error;
      morph(body, [h("p", { class: "finding severe", role: "alert" }, error.message)]);
    }
  };
  main.append(
    h("p", { class: "muted" }, "Why a URL was or was not crawled: scope, orders, robots.txt, what it waits for, fetches, documents, rows."),
    h("form", { class: "filters", onsubmit: (event) => { event.preventDefault(); run(); } },
      h("label", { for: "explain-url" }, "URL"), url, h("label", { for: "explain-crawl" }, "Crawl"), crawl,
      h("button", { type: "submit", class: "primary" }, "Explain")),
    body);
  if (url.value) run();
  return async () => {
    const told = await get("crawls");
    const chosen = crawl.value;
    morph(crawl, [h("option", { value: "" }, "the newest"), ...told.crawls.map((each) => h("option", { value: each.crawl.name }, each.crawl.name))]);
    crawl.value = chosen;
  };
}
