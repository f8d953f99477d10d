// Records that could never succeed: how many of what, and what they hold.

import { get } from "./api.js";
import { count, h, morph, stamp, table } from "./dom.js";

export const title = "Dead letters";

const COLUMNS = [{ name: "Topic" }, { name: "Stage" }, { name: "Reason" }, { name: "Letters", number: true }];

function card(each) {
  return h("details", { class: "document", "data-key": each.letter_id },
    h("summary", {},
      h("span", { class: "title" }, `${each.topic}: ${each.reason}`),
      h("span", { class: "muted" }, `${stamp(each.at)}, ${each.stage}, partition ${each.partition}, offset ${count(each.offset)}`)),
    h("dl", { class: "pairs" },
      h("dt", {}, "Error"), h("dd", {}, each.error),
      h("dt", {}, "Key"), h("dd", {}, each.key ?? "none"),
      h("dt", {}, "Value"), h("dd", {}, h("pre", { tabindex: "0" }, each.value ?? "not kept: it was too large")),
      h("dt", {}, "Bytes"), h("dd", {}, each.value_bytes === null ? "unknown" : count(each.value_bytes))));
}

export function open(main, query) {
  const topic = query.get("topic") ?? "";
  const body = main.appendChild(h("div"));
  return async () => {
    const told = await get("dead-letters", { topic, limit: 100 });
    morph(body, [
      topic && h("p", {}, `Of topic ${topic} alone. `, h("a", { href: "#/dead-letters" }, "Show all")),
      table("Kinds", COLUMNS, told.kinds.map((each) => ({
        key: `${each.stage} ${each.topic} ${each.reason}`,
        cells: [h("a", { href: `#/dead-letters?topic=${encodeURIComponent(each.topic)}` }, each.topic), each.stage, each.reason, count(each.count)],
      })), "There are no dead letters."),
      told.letters.length > 0 && h("h2", {}, "The newest"),
      told.letters.map(card),
    ]);
  };
}
