// Ask ClickHouse, and draw what it answers.

import { get, post, token, Trouble } from "./api.js";
import { bars, lines } from "./charts.js";
import { askToken } from "./dialogs.js";
import { count, duration, h, morph, table } from "./dom.js";

export const title = "SQL";

const NUMBER = /^(Nullable\()?(U?Int|Float|Decimal)/;
const TIME = /^(Nullable\()?Date/;

function chart(kind, told) {
  const numbers = told.types.map((type, index) => (NUMBER.test(type) ? index : -1)).filter((index) => index > 0);
  if (kind === "none" || !numbers.length || told.rows.length < 1) return null;
  if (kind === "line" && told.types[0].match(TIME)) {
    return lines("Over time", numbers.map((index) => ({
      name: told.columns[index], points: told.rows.map((row) => [Date.parse(`${row[0].replace(" ", "T")}Z`), row[index] === null ? null : Number(row[index])]),
    })));
  }
  return bars(told.columns[numbers[0]], told.rows.slice(0, 40).map((row) => [String(row[0]), Number(row[numbers[0]])]));
}

const cell = (value) => (value === null ? "NULL" : typeof value === "object" ? JSON.stringify(value) : String(value)).slice(0, 2000);

export function open(main) {
  const statement = h("textarea", { id: "sql", rows: 5, spellcheck: "false", autocomplete: "off" });
  const ready = h("select", { id: "sql-ready" }, h("option", { value: "" }, "choose …"));
  const kind = h("select", { id: "sql-chart" }, ["bars", "line", "none"].map((each) => h("option", { value: each }, each)));
  const button = h("button", { type: "submit", class: "primary" }, "Run");
  const body = h("div", { "aria-live": "polite" });
  let queries = [];
  let told = null;

  const show = () => told && morph(body, [
    h("p", { class: "muted" }, `${count(told.rows.length)} rows in ${duration(told.took_s)}${told.cut ? "; there are more" : ""}.`),
    chart(kind.value, told),
    table("Answer", told.columns.map((name, index) => ({ name, number: NUMBER.test(told.types[index]) })),
      told.rows.map((row, index) => ({ key: String(index), cells: row.map(cell) })), "No row."),
  ]);
  const run = async () => {
    if (!statement.value.trim()) return;
    button.disabled = true;
    morph(body, [h("p", { class: "empty" }, "Asking ClickHouse …")]);
    try {
      if (!token.get()) await askToken();
      told = await post("sql", { sql: statement.value });
      show();
    } catch (error) {
      if (!(error instanceof Trouble)) throw error;
      morph(body, [h("p", { class: "finding severe", role: "alert" }, error.message)]);
    } finally {
      button.disabled = false;
    }
  };
  statement.onkeydown = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      run();
    }
  };
  ready.onchange = () => {
    const chosen = queries.find((each) => each.name === ready.value);
    if (!chosen) return;
    statement.value = chosen.sql;
    kind.value = chosen.chart;
    run();
  };
  kind.onchange = show;
  main.append(
    h("p", { class: "muted" }, "Tables: documents, fetches, decisions. Statements that read alone are taken; Ctrl+Enter runs them."),
    h("form", { class: "sql", onsubmit: (event) => { event.preventDefault(); run(); } },
      h("label", { for: "sql" }, "Statement"), statement,
      h("div", { class: "filters" },
        h("label", { for: "sql-ready" }, "Ready query"), ready, h("label", { for: "sql-chart" }, "Chart"), kind, button)),
    body);
  return async () => {
    if (queries.length) return;
    queries = (await get("queries")).queries;
    morph(ready, [h("option", { value: "" }, "choose …"), ...queries.map((each) => h("option", { value: each.name }, each.name))]);
  };
}
