// Data to begin with, and random data. Iris is put in by Python when the page is written.
"use strict";

const list = (text) =>
  text
    .trim()
    .split(/\s+/)
    .map((one) => one.split(",").map(Number))
    .map(([x, y, c]) => ({ x, y, c }));
const rounded = (value, step = 0.01) => Number((Math.round(value / step) * step).toFixed(6));

// A normal random number (Box and Muller).
const normal = (random) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

const LOGIC = "0,0,A 0,1,B 1,0,C 1,1,D";
const logic = (a, b, c, d) => list(LOGIC.replace("A", a).replace("B", b).replace("C", c).replace("D", d));

function moons(n, noise, seed) {
  const random = randomBy(seed);
  return Array.from({ length: n }, (_, i) => {
    const c = i % 2,
      angle = Math.PI * random();
    const x = c ? 1 - Math.cos(angle) : Math.cos(angle),
      y = c ? 0.5 - Math.sin(angle) : Math.sin(angle);
    return { x: rounded(x + noise * normal(random)), y: rounded(y + noise * normal(random)), c };
  });
}

function blobs(n, spread, scale, seed) {
  const random = randomBy(seed);
  return Array.from({ length: n }, (_, i) => {
    const c = i % 2;
    return {
      x: rounded(1 + 1.4 * c + spread * normal(random)),
      y: rounded(scale * (2.4 - 1.4 * c + spread * normal(random))),
      c,
    };
  });
}

// Two rows of points beside a narrow street.
function thinStreet(n, seed) {
  const random = randomBy(seed);
  return Array.from({ length: n }, (_, i) => {
    const c = i % 2,
      x = rounded(-3 + 6 * random()),
      gap = 0.06 + 1.2 * random() ** 2;
    return { x, y: rounded(0.5 * x + (c ? gap : -gap)), c };
  });
}

// The line that labels the points turns by 90 degrees from the first point to the last: visit them in the given order.
function drifting(n, seed) {
  const random = randomBy(seed);
  return Array.from({ length: n }, (_, i) => {
    const angle = (Math.PI / 2) * (i / (n - 1)),
      x = -3 + 6 * random(),
      y = -3 + 6 * random();
    return { x: rounded(x), y: rounded(y), c: Math.cos(angle) * x + Math.sin(angle) * y > 0 ? 1 : 0 };
  });
}

// Random points of 2 or 3 classes around 0. margin: free space on each side of the borders; noise: wrong labels.
function randomPoints({ n, margin, noise, seed, classes }) {
  const random = randomBy(seed),
    turn = 2 * Math.PI * random(),
    points = [];
  const directions = Array.from({ length: classes }, (_, k) => turn + (2 * Math.PI * k) / classes);
  const offset = classes === 2 ? 1.2 * (random() - 0.5) : 0;
  for (let tries = 0; points.length < n && tries < 200 * n; tries++) {
    const x = rounded(-4 + 8 * random()),
      y = rounded(-4 + 8 * random());
    const scores = directions.map((angle, k) => Math.cos(angle) * x + Math.sin(angle) * y + (k ? offset : 0));
    const c = highest(scores),
      others = scores.filter((_, k) => k !== c);
    const side = classes === 2 ? 2 : Math.sqrt(3); // the distance between two directions, of length 1
    if ((scores[c] - Math.max(...others)) / side < margin) continue;
    points.push({ x, y, c: random() < noise ? (c + 1 + Math.floor(random() * (classes - 1))) % classes : c });
  }
  return points;
}

const PRESETS = {
  lecture: {
    title: "Worked example of the lecture",
    make: () => newState(list("1,1,0 2,1,1 1.5,0.5,1 0.5,1.5,0"), { eta: 0.1, start: "own", w1: 0.2, w2: 0, b: -0.1 }),
  },
  and: { title: "AND", make: () => newState(logic(0, 0, 0, 1)) },
  or: { title: "OR", make: () => newState(logic(0, 1, 1, 1)) },
  xor: { title: "XOR: no line separates it", make: () => newState(logic(0, 1, 1, 0)) },
  iris: {
    title: "Iris petals, three classes",
    make: () => {
      const iris = fromCSV(BUILT_IN.iris);
      iris.settings.order = "shuffled";
      return iris;
    },
  },
  moons: { title: "Two moons", make: () => newState(moons(60, 0.12, 5), { features: "rbf", gamma: 2 }) },
  scaled: { title: "One feature scaled × 100", make: () => newState(blobs(40, 0.34, 100, 3)) },
  street: { title: "A thin street", make: () => newState(thinStreet(40, 2)) },
  drifting: { title: "Drifting: the line turns", make: () => newState(drifting(120, 4), { epochs: 1 }) },
};
