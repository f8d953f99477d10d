// The settings in force, and where each comes from.

import { get } from "./api.js";
import { h, morph, table } from "./dom.js";

export const title = "Settings";

const COLUMNS = [{ name: "Setting" }, { name: "Value" }, { name: "Comes from" }];

export function open(main) {
  const search = h("input", { id: "setting-search", type: "search", autocomplete: "off", spellcheck: "false" });
  const changed = h("input", { id: "setting-changed", type: "checkbox" });
  const body = h("div");
  main.append(
    h("p", { class: "muted" }, "Of the monitor's own process; secrets are masked. odradek config show tells the same for any other."),
    h("form", { class: "filters", role: "search", onsubmit: (event) => event.preventDefault() },
      h("label", { for: "setting-search" }, "Name holds"), search,
      h("label", {}, changed, " only what was set")),
    body);
  search.oninput = changed.onchange = () => window.dispatchEvent(new Event("refresh"));
  return async () => {
    const told = await get("settings");
    const wanted = told.settings.filter((each) => each.name.includes(search.value.trim()) && (!changed.checked || each.origin !== "default"));
    morph(body, [table("Settings", COLUMNS, wanted.map((each) => ({
      key: each.name, cells: [each.name, h("code", {}, each.value), h("span", { class: each.origin === "default" ? "muted" : "badge" }, each.origin)],
    })), "No setting fits.")]);
  };
}
