// Elements, numbers and words. Text from the server becomes text nodes only, never HTML.
const by = id => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name === "on") for (const [event, call] of Object.entries(value)) element.addEventListener(event, call);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  const there = children.filter(child => child !== null);
  element.append(...there.map(child => (child instanceof Node ? child : String(child))));
  return element;
}
const make = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
const draw = (name, attributes = {}, ...children) => fill(document.createElementNS(SVG, name), attributes, children);
const put = (id, ...children) => by(id).replaceChildren(...children);

function write(id, text) { // only what changed, so that a selection or a screen reader is left alone
  const element = typeof id === "string" ? by(id) : id;
  if (element.textContent !== text) element.textContent = text;
}

const seen = new Map();
function changed(name, value) {
  const now = JSON.stringify(value);
  if (seen.get(name) === now) return false;
  seen.set(name, now);
  return true;
}

const whole = number => Math.round(Number(number)).toLocaleString("en");
const percent = share => (typeof share === "number" ? `${(100 * share).toFixed(1)} %` : "–");
const counted = (n, thing) => `${whole(n)} ${thing}${Number(n) === 1 ? "" : "s"}`;
const short = number => (number === 0 ? "0" : Math.abs(number) >= 1e5 || Math.abs(number) < 1e-3
  ? number.toExponential(1) : String(Number(number.toPrecision(3))));
const signed = number => (number > 0 ? "+" : "") + short(number).replace("-", "−");
const rate = number => (number >= 100 ? whole(number) : Number(number || 0).toFixed(1));
const shown = value => (typeof value === "string" ? value : JSON.stringify(value) ?? "–");

function bytes(n) {
  if (typeof n !== "number") return "–";
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  const k = n < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(n) / 3));
  return k === 0 ? counted(n, "byte") : `${(n / 1000 ** k).toFixed(1)} ${units[k]}`;
}

function lasted(seconds) {
  const parts = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const first = parts.findIndex(([size]) => seconds >= size);
  if (first < 0) return "0 s";
  const [size, unit] = parts[first], next = parts[first + 1];
  const rest = next ? Math.floor((seconds % size) / next[0]) : 0;
  return `${Math.floor(seconds / size)} ${unit}${rest ? ` ${rest} ${next[1]}` : ""}`;
}

function table(header, rows) { // cells: text or elements; a column of numbers has a name that begins with #
  const numeric = header.map(name => name.startsWith("#"));
  const cell = (tag, value, k) => make(tag, { class: numeric[k] ? "number" : null, scope: tag === "th" ? "col" : null },
    value);
  return make("table", { class: "wide" },
    make("thead", {}, make("tr", {}, ...header.map((name, k) => cell("th", name.replace("#", ""), k)))),
    make("tbody", {}, ...rows.map(row => make("tr", {}, ...row.map((value, k) => cell("td", value, k))))));
}

// A bar from 0 to a share of the width; with a middle, to the right for positive and to the left for negative values.
function bar(share, middle = false) {
  const size = 100 * Math.min(1, Math.abs(share)), half = size / 2;
  const inside = make("span", { class: `fill ${middle ? (share > 0 ? "for" : "against") : ""}` });
  inside.style.left = `${middle ? (share > 0 ? 50 : 50 - half) : 0}%`;
  inside.style.width = `${middle ? half : size}%`;
  return make("span", { class: middle ? "bar middle" : "bar", "aria-hidden": "true" }, inside);
}
