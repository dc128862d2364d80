// What the page holds: points, settings and names; and how they become a link, a CSV file, and come back.
// Whatever comes from outside is checked here, value by value. Nothing of it is ever used as HTML or code.
"use strict";

const MOST_POINTS = 2000,
  LARGEST = 1e6,
  LONGEST_NAME = 40;
const choice = (usual, ...others) => ({
  usual,
  read: (text) => [usual, ...others].find((one) => String(one) === text),
});
const number = (usual, low, high, whole = false) => ({
  usual,
  low,
  high,
  whole,
  read: (text) => {
    const value = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d{1,3})?$/i.test(text) ? Number(text) : NaN;
    return value >= low && value <= high && (!whole || Number.isInteger(value)) ? value : undefined;
  },
});

// Every setting with its usual value and how its text is read; undefined: not valid.
const SETTINGS = {
  classes: choice(2, 3),
  rule: choice("perceptron", "margin", "pa", "pa1", "arow", "batch", "decay"),
  eta: number(1, 1e-6, 1e6),
  margin: number(1, 1e-6, 1e6),
  C: number(1, 1e-6, 1e6),
  decay: number(0.1, 1e-6, 0.999),
  batch: number(0, 0, MOST_POINTS, true),
  zero: choice("mistake", "correct", "positive", "negative"),
  features: choice("none", "squares", "poly", "rbf"),
  degree: number(2, 1, 9, true),
  gamma: number(1, 1e-6, 1e6),
  bias: { usual: true, read: (text) => ({ true: true, false: false })[text] },
  start: choice("zeros", "ones", "own"),
  w1: number(0, -LARGEST, LARGEST),
  w2: number(0, -LARGEST, LARGEST),
  b: number(0, -LARGEST, LARGEST),
  order: choice("given", "shuffled"),
  seed: number(1, 0, 1e6, true),
  epochs: number(50, 1, 1000, true),
};
const usualSettings = () => Object.fromEntries(Object.entries(SETTINGS).map(([name, { usual }]) => [name, usual]));
const coordinate = number(0, -LARGEST, LARGEST);

// Some rules and features do not go together; the page then falls back to what does.
function consistent(settings) {
  const s = { ...settings };
  if (isKernel(s)) Object.assign(s, { rule: "perceptron", start: "zeros", zero: "mistake", bias: false });
  if (s.classes === 3 && s.start === "own") s.start = "zeros";
  return s;
}

const cleanName = (text) =>
  String(text)
    .replace(/[\u0000-\u001f\u007f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, " ")
    .trim()
    .slice(0, LONGEST_NAME);
const NAMES = ["−1", "+1", "third"],
  AXES = ["x₁", "x₂"];
const newState = (points = [], settings = {}, names = NAMES, axes = AXES, note = "") => ({
  points,
  settings: consistent({ ...usualSettings(), ...settings }),
  names: [...names],
  axes: [...axes],
  note,
});

// The part of the address behind "#".
function toFragment({ points, settings, names, axes }) {
  const parts = new URLSearchParams();
  for (const [name, { usual }] of Object.entries(SETTINGS))
    if (settings[name] !== usual) parts.set(name, String(settings[name]));
  if (names.some((name, k) => name !== NAMES[k])) names.forEach((name) => parts.append("name", name));
  if (axes.some((name, k) => name !== AXES[k])) axes.forEach((name) => parts.append("axis", name));
  parts.set("points", points.map(({ x, y, c }) => `${x},${y},${c}`).join(";"));
  return parts.toString().replaceAll("%2C", ",").replaceAll("%3B", ";");
}

// The state that such a part describes; null if there is none. Throws an Error that says what is wrong with it.
function fromFragment(fragment) {
  const text = fragment.replace(/^#/, "");
  if (!text) return null;
  if (text.length > 200000) throw new Error("The link is too long.");
  const parts = new URLSearchParams(text),
    settings = {};
  for (const [name, value] of parts) {
    if (["points", "name", "axis"].includes(name)) continue;
    if (!Object.hasOwn(SETTINGS, name)) throw new Error(`The link has an unknown setting: ${cleanName(name)}.`);
    settings[name] = SETTINGS[name].read(value);
    if (settings[name] === undefined)
      throw new Error(`The link has a value of ${name} that is not valid: ${cleanName(value)}.`);
  }
  const listed = (parts.get("points") || "").split(";").filter(Boolean);
  if (listed.length > MOST_POINTS) throw new Error(`The link has more than ${MOST_POINTS} points.`);
  const classes = settings.classes || 2;
  const points = listed.map((one, i) => {
    const [x, y, c, ...more] = one.split(",").map((value) => coordinate.read(value));
    if (x === undefined || y === undefined || more.length || !(Number.isInteger(c) && c >= 0 && c < classes)) {
      throw new Error(`Point ${i + 1} of the link is not valid: ${cleanName(one)}.`);
    }
    return { x, y, c };
  });
  const list = (key, usual) => {
    const own = parts.getAll(key).slice(0, 3).map(cleanName);
    return usual.map((name, k) => own[k] || name);
  };
  return newState(points, settings, list("name", NAMES), list("axis", AXES));
}

const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

function toCSV({ points, names, axes }) {
  const plain = axes.map((name, k) => (name === AXES[k] ? `x${k + 1}` : name));
  const labels = names.map((name, k) => (name === NAMES[k] ? ["-1", "1", "2"][k] : name));
  return (
    [[...plain, "class"], ...points.map(({ x, y, c }) => [String(x), String(y), labels[c]])]
      .map((row) => row.map(quoted).join(","))
      .join("\n") + "\n"
  );
}

// A table of two columns of numbers and a class. More columns: the first two with numbers, and the last is the class.
function fromCSV(text) {
  const lines = text.split(/\r\n|\n|\r/).filter((line) => line.trim());
  if (!lines.length) throw new Error("The file is empty.");
  const mark = [",", ";", "\t"].reduce((best, one) =>
    lines[0].split(one).length > lines[0].split(best).length ? one : best,
  );
  const rows = lines.map((line) => cells(line, mark)),
    width = rows[0].length;
  if (width < 3) throw new Error("The file needs three columns: two of numbers, and the class last.");
  const isNumber = (cell) => coordinate.read(cell.trim()) !== undefined;
  const header = rows[0].slice(0, -1).some((cell) => !isNumber(cell)) ? rows.shift() : null;
  if (!rows.length) throw new Error("The file has names of columns but no examples.");
  if (rows.length > MOST_POINTS)
    throw new Error(`The file has ${rows.length} examples; the page takes at most ${MOST_POINTS}.`);
  const columns = [...Array(width - 1).keys()].filter((c) => isNumber(rows[0][c] ?? "")).slice(0, 2);
  if (columns.length < 2) throw new Error("The file needs two columns of numbers.");
  const labels = [...new Set(rows.map((row) => (row[width - 1] ?? "").trim()))];
  if (labels.length < 2 || labels.length > 3)
    throw new Error(`The last column has ${labels.length} different values; a class column has 2 or 3.`);
  const numeric = labels.every((label) => label !== "" && Number.isFinite(Number(label)));
  labels.sort(numeric ? (a, b) => a - b : undefined);
  const points = rows.map((row, r) => {
    const line = r + (header ? 2 : 1),
      [x, y] = columns.map((c) => coordinate.read((row[c] ?? "").trim()));
    if (x === undefined || y === undefined)
      throw new Error(
        `Line ${line} needs numbers between -1e6 and 1e6 in columns ${columns.map((c) => c + 1).join(" and ")}.`,
      );
    return { x, y, c: labels.indexOf((row[width - 1] ?? "").trim()) };
  });
  const own = ["-1", "1", "2"].slice(0, labels.length),
    usual = labels.every((label, k) => label === own[k]);
  const axes = columns.map((c, k) => (header && header[c] !== `x${k + 1}` ? cleanName(header[c]) || AXES[k] : AXES[k]));
  return newState(
    points,
    { classes: labels.length },
    usual ? NAMES : NAMES.map((name, k) => cleanName(labels[k] ?? "") || name),
    axes,
  );
}

function cells(line, mark) {
  const found = [];
  let cell = "",
    inside = false;
  for (let p = 0; p < line.length; p++) {
    if (inside && line[p] === '"' && line[p + 1] === '"') cell += line[p++];
    else if (line[p] === '"') inside = !inside;
    else if (line[p] === mark && !inside) {
      found.push(cell);
      cell = "";
    } else cell += line[p];
  }
  return [...found, cell];
}
