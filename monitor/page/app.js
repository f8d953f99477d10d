// The frame: which view is shown, how fresh it is, the theme. A view is a module with `title` and `open(main, query)`;
// what that returns is called again and again to refresh what changes.

import { token, Trouble } from "./api.js";
import { askToken } from "./dialogs.js";
import { h, morph } from "./dom.js";
import * as crawls from "./view-crawls.js";
import * as deadLetters from "./view-dead-letters.js";
import * as documents from "./view-documents.js";
import * as explain from "./view-explain.js";
import * as hosts from "./view-hosts.js";
import * as overview from "./view-overview.js";
import * as settings from "./view-settings.js";
import * as sql from "./view-sql.js";
import * as workers from "./view-workers.js";

const VIEWS = { overview, crawls, hosts, explain, documents, "dead-letters": deadLetters, sql, workers, settings };
const EVERY_MS = 2000;

const main = document.getElementById("main");
const freshness = document.getElementById("freshness");
let opening = 0;
let refresh = null;
let timer = 0;

function place() {
  const [name, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { name: name in VIEWS ? name : "overview", query: new URLSearchParams(query) };
}

function navigate(name) {
  morph(document.querySelector("nav"), Object.entries(VIEWS).map(([each, view]) =>
    h("a", { href: `#/${each}`, "aria-current": each === name ? "page" : null }, view.title)));
  document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  document.title = `${VIEWS[name].title} - Odradek`;
}

async function update(mine) {
  clearTimeout(timer);
  if (document.visibilityState === "visible") {
    try {
      const age = await refresh();
      if (mine !== opening) return;
      const stale = typeof age === "number" && age > 30;
      freshness.className = stale ? "stale" : "live";
      freshness.textContent = stale ? `seen ${Math.round(age)} s ago` : "live";
      document.getElementById("view-trouble")?.remove();
    } catch (error) {
      if (error.name === "AbortError" || mine !== opening) return;
      if (!(error instanceof Trouble)) throw error;
      freshness.className = "stale";
      freshness.textContent = error.status === 401 ? "token wanted" : "not answering";
      trouble(error);
    }
  }
  if (mine === opening) timer = setTimeout(update, EVERY_MS, mine);
}

function trouble(error) {
  const shown = document.getElementById("view-trouble") ?? h("p", { id: "view-trouble", class: "finding severe", role: "alert" });
  shown.textContent = `What is shown may be old: ${error.message}.`;
  main.prepend(shown);
}

function open() {
  const { name, query } = place();
  opening += 1;
  navigate(name);
  main.replaceChildren(h("h1", {}, VIEWS[name].title));
  refresh = VIEWS[name].open(main, query);
  update(opening);
}

const THEMES = ["auto", "light", "dark"];
const themeButton = document.getElementById("theme");
function theme(wanted) {
  const chosen = THEMES.includes(wanted) ? wanted : "auto";
  localStorage.setItem("odradek-theme", chosen);
  document.documentElement.dataset.theme = chosen;
  themeButton.textContent = `Theme: ${chosen}`;
}
themeButton.onclick = () => theme(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length]);
document.getElementById("token").onclick = askToken;

token.take();
theme(localStorage.getItem("odradek-theme"));
document.querySelector(".skip").onclick = (event) => {
  event.preventDefault();
  main.focus();
};
window.addEventListener("hashchange", () => {
  token.take();
  open();
});
window.addEventListener("refresh", () => update(opening));
document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && update(opening));
open();
