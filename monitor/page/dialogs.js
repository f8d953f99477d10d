// Questions to the reader, and what came of their orders.

import { post, token, Trouble } from "./api.js";
import { h } from "./dom.js";

// What was typed, true where nothing is asked for, or null when it was cancelled.
export function ask({ title, text, label, type = "number", value = "", attributes = {}, yes = "OK", danger = false }) {
  const dialog = document.getElementById("dialog");
  const input = label && h("input", { id: "dialog-input", type, value, required: true, autocomplete: "off", step: "any", ...attributes });
  return new Promise((resolve) => {
    let answer = null;
    dialog.replaceChildren(
      h("form", {
        onsubmit: (event) => {
          event.preventDefault();
          answer = input ? input.value : true;
          dialog.close();
        },
      },
      h("h2", { id: "dialog-title" }, title),
      text && h("p", {}, text),
      input && h("p", {}, h("label", { for: "dialog-input" }, label), input),
      h("p", { class: "actions" },
        h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"),
        h("button", { type: "submit", class: danger ? "danger" : "primary" }, yes))));
    dialog.onclose = () => resolve(answer);
    dialog.showModal();
  });
}

export function notice(text, bad = false) {
  const box = h("p", { class: bad ? "notice bad" : "notice", role: bad ? "alert" : null }, text, h("button", { type: "button", "aria-label": "Dismiss", onclick: () => box.remove() }, "×"));
  const notices = document.getElementById("notices");
  notices.append(box);
  while (notices.children.length > 4) notices.firstChild.remove();
  setTimeout(() => box.remove(), bad ? 15000 : 5000);
}

export async function askToken() {
  const typed = await ask({
    title: "Token",
    text: "Changing something, and asking ClickHouse, needs the monitor's token. `odradek crawl` prints it with the address of this page; it is kept in this tab alone.",
    label: "Token",
    type: "password",
    attributes: { value: token.get() },
    yes: "Keep",
  });
  if (typed !== null) {
    token.set(typed.trim());
    window.dispatchEvent(new Event("refresh"));
  }
  return typed !== null;
}

// Send something that changes something; asks for the token when it is wanted. Whether it was taken.
export async function change(path, question, done) {
  try {
    await post(path, question);
    notice(done);
    window.dispatchEvent(new Event("refresh"));
    return true;
  } catch (error) {
    if (!(error instanceof Trouble)) throw error;
    if (error.status === 401 && (await askToken())) return change(path, question, done);
    notice(error.message, true);
    return false;
  }
}

export const order = (action, subject, target, more = {}) =>
  change("orders", { action, subject, target, ...more }, `${action} ${subject} ${target}: in force`);
export const takeBack = (action, subject, target) =>
  change("orders/withdrawals", { action, subject, target }, `${action} ${subject} ${target}: taken back`);
