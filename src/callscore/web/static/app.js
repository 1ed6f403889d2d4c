"use strict";
// Keys, theme, copying and drafts. Everything else works without this file.
(() => {
  const one = (selector) => document.querySelector(selector);

  const setTheme = (name) => { if (name) document.body.dataset.theme = name; };
  setTheme(localStorage.getItem("theme"));
  const theme = one("#theme");
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const now = document.body.dataset.theme || (dark ? "dark" : "light");
    localStorage.setItem("theme", now === "dark" ? "light" : "dark");
    setTheme(localStorage.getItem("theme"));
  });

  const showCopy = () => {
    for (const button of document.querySelectorAll(".copy")) button.hidden = !navigator.clipboard;
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    if (button) navigator.clipboard.writeText(button.dataset.copy).then(() => { button.textContent = "Copied"; });
  });

  // What was typed stays until it is saved; the name of a draft says since which answer.
  const draftKey = (form) => "draft:" + form.dataset.draft;
  const restore = () => {
    for (const form of document.querySelectorAll("form[data-draft]")) {
      const kept = JSON.parse(sessionStorage.getItem(draftKey(form)) || "{}");
      for (const [name, value] of Object.entries(kept)) {
        if (form.elements[name]) form.elements[name].value = value;
      }
    }
    for (const { dataset } of document.querySelectorAll("[data-saved]")) sessionStorage.removeItem("draft:" + dataset.saved);
  };
  document.addEventListener("input", (event) => {
    const form = event.target.form;
    if (!form || !form.dataset.draft) return;
    const kept = {};
    for (const field of form.querySelectorAll("textarea, input[type=text]")) kept[field.name] = field.value;
    sessionStorage.setItem(draftKey(form), JSON.stringify(kept));
  });

  // A link or button with data-key is what its key does; typing in a field is only typing.
  let prefix = "";
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select, dialog[open]")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const key = prefix + event.key;
    prefix = "";
    if (key === "?") return one("#keys").showModal();
    if (key === "g") { prefix = "g "; return; }
    const found = one(`[data-key="${CSS.escape(key)}"]`);
    if (!found) return;
    event.preventDefault();
    if (found.matches("input:not([type=checkbox]), textarea, select")) found.focus(); else found.click();
  });

  // The fragment that polls sends the ETag that it came with.
  const etags = new Map();
  document.addEventListener("htmx:config:request", (event) => {
    const { request, target } = event.detail.ctx;
    const kept = target && etags.get(target.id);
    if (kept && kept[0] === request.action && request.method === "GET") request.headers["If-None-Match"] = kept[1];
  });
  document.addEventListener("htmx:before:response", (event) => {
    const { request, target, response } = event.detail.ctx;
    const etag = response.headers.get("ETag");
    if (etag && target && target.id) etags.set(target.id, [request.action, etag]);
  });
  // If the focused element was replaced, focus goes to the new heading.
  let focused = null;
  document.addEventListener("htmx:before:swap", () => { focused = document.activeElement; });
  document.addEventListener("htmx:after:swap", () => {
    showCopy();
    restore();
    if (!focused || focused === document.body || focused.isConnected) return;
    const again = focused.id && document.getElementById(focused.id);
    (again || one("main h1, main h2") || one("main")).focus({ preventScroll: true });
  });
  for (const heading of document.querySelectorAll("main h1, main h2")) heading.tabIndex = -1;
  const at = one("mark.sought, .turns .at");
  if (at && !location.hash) at.scrollIntoView({ block: "center" });
  showCopy();
  restore();
})();
