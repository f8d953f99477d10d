// The newest documents, as what a reader of the topic gets.

import { get } from "./api.js";
import { count, h, moment, morph } from "./dom.js";

export const title = "Documents";

function card(each) {
  return h("details", { class: "document", "data-key": `${each.crawl} ${each.url} ${each.fetched_at}` },
    h("summary", {},
      h("span", { class: "title" }, each.title || "without a title"),
      h("span", { class: "muted url" }, each.url),
      h("span", { class: "muted" }, `${moment(each.cleaned_at)}, ${count(each.words)} words, ${count(each.links)} links${each.language ? `, ${each.language}` : ""}`),
      each.flags.map((flag) => h("span", { class: "badge" }, flag))),
    h("div", { class: "text" },
      each.text ? each.text.split("\n").filter(Boolean).map((part) => h("p", {}, part)) : h("p", { class: "empty" }, "It has no text."),
      each.text_cut && h("p", { class: "muted" }, "The text goes on.")),
    h("p", {}, h("a", { href: `#/explain?${new URLSearchParams({ url: each.url, crawl: each.crawl })}` }, "Explain this URL")));
}

export function open(main, query) {
  const search = h("input", { id: "document-search", type: "search", value: query.get("search") ?? "", autocomplete: "off" });
  const body = h("div");
  main.append(
    h("form", { class: "filters", role: "search", onsubmit: (event) => event.preventDefault() },
      h("label", { for: "document-search" }, "URL or title holds"), search),
    body);
  search.oninput = () => window.dispatchEvent(new Event("refresh"));
  return async () => {
    const told = await get("documents", { search: search.value.trim(), limit: 50 });
    morph(body, told.documents.length ? told.documents.map(card) : [h("p", { class: "empty" }, "No document fits yet.")]);
  };
}
