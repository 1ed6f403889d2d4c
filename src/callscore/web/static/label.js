"use strict";
// The selected part of a turn becomes a quote: its code points in the form, its text in the comment.
(() => {
  const button = document.querySelector("[data-quote]");
  if (!button) return;
  button.hidden = false;
  const points = (range) => [...range.toString()].length;
  button.addEventListener("mousedown", (event) => event.preventDefault());  // keep the selection
  button.addEventListener("click", () => {
    const selection = getSelection();
    if (!selection.rangeCount || selection.isCollapsed) return;
    const range = selection.getRangeAt(0);
    const of = (node) => (node.nodeType === 1 ? node : node.parentElement).closest("[data-turn]");
    const turn = of(range.startContainer);
    if (!turn || turn !== of(range.endContainer)) return;
    const before = document.createRange();
    before.setStart(turn, 0);
    before.setEnd(range.startContainer, range.startOffset);
    const start = points(before);
    const field = button.form.elements.quotes;
    const quotes = JSON.parse(field.value || "[]");
    quotes.push({ turn: Number(turn.dataset.turn), start, end: start + points(range) });
    field.value = JSON.stringify(quotes);
    const comment = button.form.elements.comment;
    comment.value = (comment.value ? comment.value + " " : "") + "“" + range.toString() + "”";
    selection.removeAllRanges();
  });
})();
