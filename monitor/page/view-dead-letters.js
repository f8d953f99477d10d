// Records that could never succeed: how many of what, and what they hold.

import { get } from "./api.js";
import { ask, change } from "./dialogs.js";
import { count, h, morph, stamp, table } from "./dom.js";

export const title = "Dead letters";

const COLUMNS = [{ name: "Topic" }, { name: "Stage" }, { name: "Reason" }, { name: "Letters", number: true }];

const records = (many) => `${count(many)} ${many === 1 ? "record" : "records"}`;

function requeue(letters) {
  return change("dead-letters/requeue", { ids: letters.map((each) => each.letter_id) }, `${records(letters.length)} requeued`);
}

async function drop(letters) {
  const sure = await ask({
    title: `Drop ${records(letters.length)}?`,
    text: "They are open no more. Their bytes stay in the topic until its retention ends.",
    yes: "Drop",
    danger: true,
  });
  if (sure) await change("dead-letters/drop", { ids: letters.map((each) => each.letter_id) }, `${records(letters.length)} dropped`);
}

function handles(letters, what) {
  return h("div", { class: "actions" },
    h("button", { type: "button", onclick: () => requeue(letters), "aria-label": `Requeue ${what}` }, "Requeue"),
    h("button", { type: "button", class: "danger", onclick: () => drop(letters), "aria-label": `Drop ${what}` }, "Drop"));
}

function card(each) {
  return h("details", { class: "document", "data-key": each.letter_id },
    h("summary", {},
      h("span", { class: `state ${{ open: "late", claimed: "idle", requeued: "running", dropped: "idle" }[each.state]}` }, each.state),
      h("span", { class: "title" }, `${each.topic}: ${each.reason}`),
      h("span", { class: "muted" }, `${stamp(each.at)}, ${each.stage}, partition ${each.partition}, offset ${count(each.offset)}`)),
    h("dl", { class: "pairs" },
      h("dt", {}, "Error"), h("dd", {}, each.error),
      h("dt", {}, "Key"), h("dd", {}, each.key ?? "none"),
      h("dt", {}, "Value"), h("dd", {}, h("pre", { tabindex: "0" }, each.value ?? "not kept: it was too large")),
      h("dt", {}, "Bytes"), h("dd", {}, each.value_bytes === null ? "unknown" : count(each.value_bytes))),
    each.state === "open" && handles([each], `the letter at offset ${each.offset}`));
}

export function open(main, query) {
  const topic = query.get("topic") ?? "";
  const body = main.appendChild(h("div"));
  return async () => {
    const told = await get("dead-letters", { topic, limit: 100 });
    const open = told.letters.filter((each) => each.state === "open");
    morph(body, [
      topic && h("p", {}, `Of topic ${topic} alone. `, h("a", { href: "#/dead-letters" }, "Show all")),
      table("Kinds", COLUMNS, told.kinds.map((each) => ({
        key: `${each.stage} ${each.topic} ${each.reason}`,
        cells: [h("a", { href: `#/dead-letters?topic=${encodeURIComponent(each.topic)}` }, each.topic), each.stage, each.reason, count(each.count)],
      })), "There are no dead letters."),
      told.letters.length > 0 && h("h2", {}, "The newest"),
      open.length > 1 && h("div", { class: "together" },
        h("span", { class: "muted" }, `${records(open.length)} ${open.length === 1 ? "is" : "are"} open here. Mend the cause first.`),
        handles(open, "all that are open here")),
      told.letters.map(card),
    ]);
  };
}
