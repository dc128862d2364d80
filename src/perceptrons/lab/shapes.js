// What pictures are made of: colours, markers, round numbers for axes, and curves through a field of values.
"use strict";

const KINDS = ["last", "average", "vote", "pocket"];
const DASHES = { last: [], average: [10, 5], vote: [2, 4], pocket: [12, 4, 2, 4] };

// Colours come from the style sheet, so that they follow light and dark.
function palette() {
  const style = getComputedStyle(document.documentElement),
    of = (name) => style.getPropertyValue(`--${name}`).trim();
  return {
    ink: of("ink"),
    soft: of("soft"),
    paper: of("paper"),
    grid: of("grid"),
    wrong: of("wrong"),
    proof: of("proof"),
    classes: [of("class0"), of("class1"), of("class2")],
    tints: [of("tint0"), of("tint1"), of("tint2")],
    letters: Math.round(parseFloat(style.fontSize) * 0.78), // pixels, in pictures
    kinds: { last: of("ink"), average: of("average"), vote: of("vote"), pocket: of("pocket") },
  };
}

// Shapes differ as well as colours: circle, square, triangle.
function marker(path, c, x, y, r) {
  if (c === 0) {
    path.moveTo(x + r, y);
    path.arc(x, y, r, 0, 2 * Math.PI);
  } else if (c === 1) path.rect(x - 0.88 * r, y - 0.88 * r, 1.76 * r, 1.76 * r);
  else {
    path.moveTo(x, y - 1.2 * r);
    path.lineTo(x + 1.1 * r, y + 0.75 * r);
    path.lineTo(x - 1.1 * r, y + 0.75 * r);
    path.closePath();
  }
}

// Round numbers for the axes.
function ticks(low, high, most) {
  const rough = (high - low) / most,
    power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough),
    found = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) found.push(Number((k * step).toPrecision(6)));
  return found;
}

// The class whose region a cell of a sampled field belongs to, by the score in its middle.
function classAt({ nx, scores }, k, r) {
  const at = r * (nx + 1) + k,
    four = [scores[at], scores[at + 1], scores[at + nx + 1], scores[at + nx + 2]];
  const mean = four[0].map((_, c) => four[0][c] + four[1][c] + four[2][c] + four[3][c]);
  if (mean.length > 1) return mean.every((s) => s === mean[0]) ? -1 : highest(mean);
  return mean[0] === 0 ? -1 : mean[0] > 0 ? 1 : 0;
}

// Where a sampled field crosses a level: two classes, or where one class overtakes the others (marching squares).
function contour(g, { nx, ny, scores, predict }, level, { left, top, width, height }) {
  const rows = scores[0].length,
    cw = width / nx,
    ch = height / ny;
  for (let c = 0; c < rows; c++) {
    const lead = (s) => (rows === 1 ? s[0] - level : s[c] - Math.max(...s.filter((_, k) => k !== c)));
    const v = scores.map(lead);
    const cuts = new Map(); // the edge of a cell that is cut, and the edges that the line goes on to
    const meet = (a, b) => {
      for (const [one, other] of [
        [a, b],
        [b, a],
      ])
        cuts.set(one, [...(cuts.get(one) || []), other]);
    };
    for (let r = 0; r < ny; r++)
      for (let k = 0; k < nx; k++) {
        const a = r * (nx + 1) + k,
          b = a + 1,
          d = a + nx + 1,
          e = d + 1,
          up = (p) => v[p] > 0;
        const edges = [
          [a, b, 2 * a],
          [b, e, 2 * b + 1],
          [d, e, 2 * d],
          [a, d, 2 * a + 1],
        ]
          .filter(([p, q]) => up(p) !== up(q))
          .map(([, , edge]) => edge);
        for (let m = 0; m + 1 < edges.length; m += 2) meet(edges[m], edges[m + 1]);
      }
    const place = (edge) => {
      // along the upper side of a cell (even), or along its left side (odd)
      const p = edge >> 1,
        q = edge % 2 ? p + nx + 1 : p + 1,
        x = p % (nx + 1),
        y = Math.floor(p / (nx + 1));
      let f = v[p] / (v[p] - v[q]);
      if (predict) {
        // halve the edge until the jump is found
        let [low, high] = [0, 1];
        for (let halves = 0; halves < 5; halves++) {
          f = (low + high) / 2;
          if (lead(predict(x + (edge % 2 ? 0 : f), y + (edge % 2 ? f : 0))) > 0 === v[p] > 0) low = f;
          else high = f;
        }
      }
      return [left + cw * (x + (edge % 2 ? 0 : f)), top + ch * (y + (edge % 2 ? f : 0))];
    };
    const follow = (edge) => {
      g.moveTo(...place(edge));
      for (let next = edge; next !== undefined;) {
        edge = next;
        next = (cuts.get(edge) || []).pop();
        if (next === undefined) break;
        const back = cuts.get(next),
          at = back.indexOf(edge);
        if (at >= 0) back.splice(at, 1);
        g.lineTo(...place(next));
      }
    };
    for (const [edge, others] of cuts) if (others.length === 1) follow(edge); // lines that end at the border
    for (const [edge, others] of cuts) while (others.length) follow(edge); // closed ones
  }
}
