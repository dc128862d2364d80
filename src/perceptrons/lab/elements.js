// Elements of the page, made so that text is always text, never HTML.
"use strict";

const byId = (id) => document.getElementById(id);
const LABELS = { last: "last", average: "averaged", vote: "voted", pocket: "pocket" };

// An element with text and children. Text is always text, never HTML.
function element(tag, text = "", attributes = {}, ...children) {
  const made = document.createElement(tag);
  if (text) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// α_j with a real subscript.
const withSubscripts = (text) => text.split(/_(\w+)/).map((part, k) => (k % 2 ? element("sub", part) : part));

function drawing(viewBox, tag, attributes) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"),
    part = document.createElementNS("http://www.w3.org/2000/svg", tag);
  svg.setAttribute("viewBox", viewBox);
  svg.setAttribute("aria-hidden", "true");
  for (const [name, value] of Object.entries(attributes)) part.setAttribute(name, value);
  svg.append(part);
  return svg;
}

const shapeOf = (c) =>
  drawing(
    "-8 -8 16 16",
    ["circle", "rect", "path"][c],
    [
      { r: 6, class: "fill0" },
      { x: -5.4, y: -5.4, width: 10.8, height: 10.8, class: "fill1" },
      { d: "M0-7 7 5H-7Z", class: "fill2" },
    ][c],
  );
