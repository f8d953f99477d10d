// Elements from data. Text is only ever set as text: nothing here, or anywhere on the page, parses HTML.

const SVG = "http://www.w3.org/2000/svg";

function make(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element[name.toLowerCase()] = value;
    else if (name === "value" || name === "checked" || name === "selected") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const h = (tag, properties, ...children) => make(document.createElement(tag), properties, children);
export const s = (tag, properties, ...children) => make(document.createElementNS(SVG, tag), properties, children);

const HANDLERS = ["onclick", "oninput", "onsubmit", "onchange", "onkeydown", "onpointermove", "onpointerleave"];

function same(old, fresh) {
  return (
    old.nodeType === fresh.nodeType &&
    old.nodeName === fresh.nodeName &&
    (old.nodeType !== Node.ELEMENT_NODE || old.getAttribute("data-key") === fresh.getAttribute("data-key"))
  );
}

function adopt(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  for (const { name } of [...old.attributes]) {
    // What the reader opened stays open.
    if (!fresh.hasAttribute(name) && !(name === "open" && old.nodeName === "DETAILS")) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const handler of HANDLERS) old[handler] = fresh[handler];
  morph(old, [...fresh.childNodes]);
}

// Make `container` hold `children`, keeping every node that can stay: focus, selection and clicks survive a refresh.
export function morph(container, children) {
  const fresh = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
  const keyed = new Map();
  for (const child of container.childNodes) {
    const key = child.nodeType === Node.ELEMENT_NODE && child.getAttribute("data-key");
    if (key) keyed.set(key, child);
  }
  let place = container.firstChild;
  for (const wanted of fresh) {
    const key = wanted.nodeType === Node.ELEMENT_NODE && wanted.getAttribute("data-key");
    const kept = key ? keyed.get(key) : place;
    if (kept && kept.parentNode === container && same(kept, wanted)) {
      if (kept !== place) container.insertBefore(kept, place);
      adopt(kept, wanted);
      place = kept.nextSibling;
    } else {
      container.insertBefore(wanted, place);
    }
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

export const count = (value) => Math.round(value ?? 0).toLocaleString("en");

export function short(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size >= 1e9) return `${(value / 1e9).toFixed(1)} G`;
  if (size >= 1e6) return `${(value / 1e6).toFixed(1)} M`;
  if (size >= 1e4) return `${(value / 1e3).toFixed(1)} k`;
  if (size >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString("en");
  return value.toFixed(size >= 10 ? 1 : 2);
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
}

export const size = (bytes) => (bytes === null || bytes === undefined ? "–" : bytes >= 1e6 ? `${(bytes / 1048576).toFixed(0)} MiB` : `${(bytes / 1024).toFixed(0)} KiB`);

export const moment = (iso) => (iso ? new Date(iso).toLocaleTimeString("en-GB") : "–");
export const stamp = (iso) => (iso ? new Date(iso).toISOString().replace("T", " ").slice(0, 19) : "now");

// A table that becomes one card for each row where there is no room for columns; the roles survive the change of display.
export function table(caption, columns, rows, empty) {
  if (!rows.length) return h("p", { class: "empty" }, empty);
  const head = columns.map((column) => h("th", { scope: "col", role: "columnheader", class: column.number && "number" }, column.name));
  const cell = (content, index) => h(index === 0 ? "th" : "td", {
    scope: index === 0 ? "row" : null,
    role: index === 0 ? "rowheader" : "cell",
    class: columns[index].number ? "number" : null,
    "data-label": columns[index].name,
  }, content);
  return h("div", { class: "scroll", role: "region", "aria-label": caption, tabindex: "0" },
    h("table", { role: "table" },
      h("caption", {}, caption),
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, head)),
      h("tbody", { role: "rowgroup" }, rows.map((row) => h("tr", { role: "row", "data-key": row.key }, row.cells.map(cell))))));
}
