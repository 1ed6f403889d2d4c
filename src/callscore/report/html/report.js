"use strict";
(() => {
  const root = document.body;
  const theme = document.getElementById("theme");
  if (theme) {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    theme.hidden = false;
    theme.addEventListener("click", () => {
      const now = root.dataset.theme || (dark.matches ? "dark" : "light");
      root.dataset.theme = now === "dark" ? "light" : "dark";
    });
  }

  const data = document.getElementById("index");
  if (!data) return;
  const index = JSON.parse(data.textContent);
  const list = document.getElementById("case-list");
  const more = document.getElementById("more");
  const form = document.getElementById("controls");
  const found = document.getElementById("found");
  const PAGE = 20;
  const nodes = new Map();
  for (const node of list.children) nodes.set(node.id, node);

  const textOf = (part, place) => document.getElementById(part + "-" + place);
  const toElement = (part, place) => {
    const parsed = new DOMParser().parseFromString(textOf(part, place).textContent, "text/html");
    return document.importNode(parsed.body.firstElementChild, true);
  };
  const fill = (node, place) => {
    if (node.children.length < 2) node.append(toElement("body", place));
  };
  const nodeOf = (place) => {
    const id = "case-" + place;
    let node = nodes.get(id);
    if (!node) {
      node = toElement("head", place);
      node.addEventListener("toggle", () => fill(node, place));
      nodes.set(id, node);
    }
    return node;
  };

  const lower = new Map();
  const searchText = (i) => {
    if (!lower.has(i)) {
      const place = index.place[i];
      const kept = textOf("body", place) || nodes.get("case-" + place);
      lower.set(i, kept.textContent.toLowerCase());
    }
    return lower.get(i);
  };

  const number = (value, otherwise) => (value === null ? otherwise : value);
  let order = [];
  let shown = 0;

  const fieldValue = (key) => (form.elements[key] ? form.elements[key].value : "");
  const apply = () => {
    const task = fieldValue("task"), lang = fieldValue("lang"), tag = fieldValue("tag");
    const mark = fieldValue("mark"), sort = fieldValue("sort");
    const text = fieldValue("text").trim().toLowerCase();
    const model = fieldValue("model") === "" ? -1 : Number(fieldValue("model"));
    order = [];
    for (let i = 0; i < index.id.length; i++) {
      if (task && index.task[i] !== task) continue;
      if (lang && index.lang[i] !== lang) continue;
      if (tag && !index.tags[i].includes(tag)) continue;
      if (mark && !index.marks[i].includes(mark)) continue;
      if (text && !index.id[i].toLowerCase().includes(text) && !searchText(i).includes(text)) continue;
      order.push(i);
    }
    const score = (i) => number(model < 0 ? index.worst[i] : index.scores[i][model], 3);
    const by = {
      worst: (a, b) => score(a) - score(b),
      best: (a, b) => (score(b) > 1 ? -1 : score(b)) - (score(a) > 1 ? -1 : score(a)),
      spread: (a, b) => index.spread[b] - index.spread[a],
      long: (a, b) => index.turns[b] - index.turns[a],
      id: (a, b) => (index.id[a] < index.id[b] ? -1 : 1),
    }[sort];
    if (by) order.sort((a, b) => by(a, b) || a - b);
    list.replaceChildren();
    shown = 0;
    next();
  };
  const next = () => {
    const until = Math.min(order.length, shown + PAGE);
    const part = document.createDocumentFragment();
    for (; shown < until; shown++) part.append(nodeOf(index.place[order[shown]]));
    list.append(part);
    more.hidden = shown >= order.length;
    found.textContent = order.length + " of " + index.id.length + " cases";
  };

  const goTo = (hash) => {
    const match = /^#case-(\d+)/.exec(hash);
    if (!match || !index.place.includes(Number(match[1]))) return;
    const node = nodeOf(match[1]);
    if (!node.isConnected) list.prepend(node);
    fill(node, match[1]);
    node.open = true;
    const target = document.getElementById(hash.slice(1)) || node;
    target.scrollIntoView({ block: "start" });
    const focus = target === node ? node.querySelector("summary") : target;
    if (target !== node) target.tabIndex = -1;
    focus.focus({ preventScroll: true });
  };

  let waiting = 0;
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  // The search applies while typing. Applying it again on blur would redraw the cases and lose the click.
  form.addEventListener("change", (event) => event.target === form.elements.text || apply());
  form.elements.text.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(apply, 150);
  });
  more.addEventListener("click", next);
  addEventListener("hashchange", () => goTo(location.hash));
  document.addEventListener("click", (event) => {
    const link = event.target.closest ? event.target.closest('a[href^="#case-"]') : null;
    if (link && link.getAttribute("href") === location.hash) goTo(location.hash);
  });
  order = index.id.map((_, i) => i);
  shown = list.children.length;
  more.hidden = shown >= order.length;
  found.textContent = order.length + " cases";
  goTo(location.hash);
})();
