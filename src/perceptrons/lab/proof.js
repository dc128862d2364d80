// Separable or not, proved in whole numbers. Every double is a whole number times a power of two, so BigInt is exact.
//
// Let z_i = y_i (x_i, 1). A line through the gap exists if and only if 0 is outside of the convex hull of all z_i.
// `nearest` finds the point p of that hull that is nearest to 0 (Wolfe 1976), together with the few z_i that p is a
// mixture of.
//   p = 0:   the mixture proves that no line exists: no w has y (w·x + b) > 0 for all of these points.
//   p != 0:  w = p separates with the largest margin, gamma = |p|, and the mistake bound is (R / gamma)².
// Nothing is rounded until it is drawn.
"use strict";

// Doubles as BigInts with one common exponent: value = whole × 2^exponent.
function toWhole(values) {
  const parts = values.map(split);
  const exponent = parts.reduce((least, [whole, e]) => (whole === 0n ? least : Math.min(least, e)), 0);
  return { whole: parts.map(([whole, e]) => (whole === 0n ? 0n : whole << BigInt(e - exponent))), exponent };
}

// A double as an odd whole number and an exponent.
function split(value) {
  if (value === 0) return [0n, 0];
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0),
    raw = Number((bits >> 52n) & 2047n);
  let whole = (bits & ((1n << 52n) - 1n)) | (raw ? 1n << 52n : 0n),
    e = (raw || 1) - 1075;
  while (!(whole & 1n)) {
    whole >>= 1n;
    e += 1;
  }
  return [value < 0 ? -whole : whole, e];
}

// A fraction as a double, also where numerator and denominator are too large for one.
function ratio(top, bottom) {
  if (top === 0n) return 0;
  const sign = top < 0n !== bottom < 0n ? -1 : 1;
  const a = top < 0n ? -top : top,
    b = bottom < 0n ? -bottom : bottom;
  const shift = a.toString(2).length - b.toString(2).length - 64;
  const quotient = shift > 0 ? a / (b << BigInt(shift)) : (a << BigInt(-shift)) / b;
  return sign * Number(quotient) * 2 ** shift;
}

const greatestDivisor = (a, b) => {
  a = a < 0n ? -a : a;
  b = b < 0n ? -b : b;
  while (b) [a, b] = [b, a % b];
  return a;
};

// The vectors z whose hull is looked at: one per example (two classes), or one per example and wrong class.
// Only their inner products are needed, so a polynomial kernel is as exact as plain features.
function vectorsOf(examples, settings) {
  const n = examples.x.length,
    size = n ? examples.x[0].length : 0;
  const { whole, exponent } = toWhole([...examples.x.flat(), 1]);
  const one = whole[whole.length - 1];
  const x = examples.x.map((_, i) => whole.slice(i * size, (i + 1) * size));
  const plain = (i, j) => x[i].reduce((s, value, f) => s + value * x[j][f], 0n);
  let product, unit; // unit: what 1 is in units of the product
  if (settings.features === "poly") {
    const gamma = toWhole([settings.gamma, 1]);
    const degree = BigInt(settings.degree);
    unit = (one * one * gamma.whole[1]) ** degree;
    product = (i, j) => (gamma.whole[0] * plain(i, j) + one * one * gamma.whole[1]) ** degree;
  } else {
    unit = one * one;
    product = settings.bias ? (i, j) => plain(i, j) + unit : plain;
  }
  if (settings.classes === 2) {
    const sign = examples.y.map((y) => BigInt(y));
    const items = examples.x.map((_, i) => ({ i }));
    return { items, unit, inner: (a, b) => sign[a.i] * sign[b.i] * product(a.i, b.i) };
  }
  const items = [],
    same = (a, b) => (a === b ? 1n : 0n);
  examples.y.forEach((y, i) => {
    for (let k = 0; k < settings.classes; k++) if (k !== y) items.push({ i, y, k });
  });
  const overlap = (a, b) => same(a.y, b.y) - same(a.y, b.k) - same(a.k, b.y) + same(a.k, b.k);
  return {
    items,
    unit,
    inner: (a, b) => {
      const o = overlap(a, b);
      return o === 0n ? 0n : o * product(a.i, b.i);
    },
  };
}

// All vectors at hand: the one that reaches least far in the direction of p = sum of weight × member.
function among({ items, inner }) {
  const columns = new Map();
  const column = (member) => {
    if (!columns.has(member))
      columns.set(
        member,
        items.map((item) => inner(member, item)),
      );
    return columns.get(member);
  };
  return {
    inner,
    first: () => items.reduce((best, item) => (inner(item, item) < inner(best, best) ? item : best)),
    lowest: (members, weights) => {
      const rows = members.map(column);
      let best = 0,
        least = null;
      for (let a = 0; a < items.length; a++) {
        let value = 0n;
        for (let m = 0; m < rows.length; m++) value += weights[m] * rows[m][a];
        if (least === null || value < least) [best, least] = [a, value];
      }
      return { item: items[best], value: least };
    },
  };
}

// Differences of a positive and a negative point: their nearest point to 0 is the shortest way between both hulls.
function differences(x, y) {
  const size = x[0].length,
    { whole } = toWhole(x.flat());
  const rows = x.map((_, i) => whole.slice(i * size, (i + 1) * size));
  const plus = [...y.keys()].filter((i) => y[i] === 1),
    minus = [...y.keys()].filter((i) => y[i] === -1);
  const vector = ({ a, b }) => rows[a].map((value, f) => value - rows[b][f]);
  const times = (u, v) => u.reduce((s, value, f) => s + value * v[f], 0n);
  const least = (list, p, sign) =>
    list.reduce((best, i) => (sign * times(p, rows[i]) < sign * times(p, rows[best]) ? i : best));
  return {
    inner: (u, v) => times(vector(u), vector(v)),
    first: () => ({ a: plus[0], b: minus[0] }),
    lowest: (members, weights) => {
      const p = rows[0].map(() => 0n);
      members.forEach((member, m) =>
        vector(member).forEach((value, f) => {
          p[f] += weights[m] * value;
        }),
      );
      const item = { a: least(plus, p, 1n), b: least(minus, p, -1n) };
      return { item, value: times(p, vector(item)) };
    },
  };
}

// The point of the hull that is nearest to 0, as whole-number weights of few members. A generator: it pauses after
// every round, so that the page stays responsive. Returns {members, weights, total, square}; p = sum weights × members
// / total, and |p|² = square / total².
function* nearest({ inner, first, lowest }) {
  let members = [first()],
    weights = [1n];
  while (true) {
    const total = weights.reduce((s, w) => s + w, 0n),
      square = squareOf(members, weights, inner);
    const found = { members, weights, total, square };
    if (square === 0n) return found;
    const { item, value } = lowest(members, weights);
    if (value * total >= square) return found;
    members = [...members, item];
    weights = [...weights, 0n];
    yield;
    for (;;) {
      // the nearest point of the plane through all members; drop those that it lies beyond
      const target = balance(members, inner),
        sum = target.reduce((s, w) => s + w, 0n);
      if (target.every((w) => w > 0n)) {
        weights = shortened(target);
        break;
      }
      const now = weights.reduce((s, w) => s + w, 0n);
      let top = 1n,
        bottom = 1n; // how far to go from here to there until a weight is 0
      target.forEach((w, m) => {
        const here = weights[m] * sum,
          there = w * now;
        if (w <= 0n && here * bottom < top * (here - there)) [top, bottom] = [here, here - there];
      });
      const mixed = weights.map((w, m) => (bottom - top) * w * sum + top * target[m] * now);
      members = members.filter((_, m) => mixed[m] > 0n);
      weights = shortened(mixed.filter((w) => w > 0n));
      yield;
    }
  }
}

const squareOf = (members, weights, inner) => {
  let s = 0n;
  members.forEach((a, m) =>
    members.forEach((b, o) => {
      s += weights[m] * weights[o] * inner(a, b);
    }),
  );
  return s;
};

function shortened(weights) {
  const divisor = weights.reduce(greatestDivisor);
  return divisor > 1n ? weights.map((w) => w / divisor) : weights;
}

// Whole numbers, proportional to the weights for which all members are equally far in the direction of their mixture:
// (G + 1) u = 1, by elimination without fractions (Bareiss 1968). Their sum is positive.
function balance(members, inner) {
  const n = members.length;
  const M = members.map((a) => [...members.map((b) => inner(a, b) + 1n), 1n]);
  let before = 1n;
  for (let c = 0; c < n; c++) {
    const pivot = M[c][c];
    for (let r = 0; r < n; r++) {
      if (r === c) continue;
      const factor = M[r][c];
      for (let j = 0; j <= n; j++) M[r][j] = (M[r][j] * pivot - factor * M[c][j]) / before;
    }
    before = pivot;
  }
  const u = M.map((row) => row[n]),
    sum = u.reduce((s, w) => s + w, 0n);
  return sum < 0n ? u.map((w) => -w) : u;
}

// Everything that the page says about these examples. A generator as above; returns
// {separable, members: [{i, weight}], gamma, R, bound, scores(x), level} or {why} where nothing is proved.
function* prove(examples, settings, street = true) {
  const present = new Set(examples.y);
  if (present.size < 2) return { why: "Place points of two classes: then there is something to separate." };
  if (settings.features === "rbf") {
    return { why: "An RBF kernel separates all points that are not in the same place. Nothing is proved here." };
  }
  if (settings.features === "poly" && settings.degree > 3) {
    return { why: "Proofs are made for polynomial kernels up to degree 3." };
  }
  const vectors = vectorsOf(examples, settings),
    found = yield* nearest(among(vectors));
  const { members, weights, total, square } = found;
  const share = members.map(({ i, k }, m) => ({ i, k, weight: ratio(weights[m], total), whole: weights[m] }));
  if (square === 0n) return { separable: false, members: share };
  const longest = vectors.items.reduce((most, a) => {
    const v = vectors.inner(a, a);
    return v > most ? v : most;
  }, 0n);
  const result = {
    separable: true,
    members: share,
    bound: (longest * total * total) / square,
    R: Math.sqrt(ratio(longest, vectors.unit)),
    gamma: Math.sqrt(ratio(square, total * total * vectors.unit)),
  };
  const own = (x, z) => (settings.features === "poly" ? examples.kernel(x, z) : dot(x, z) + (settings.bias ? 1 : 0));
  result.scores = (point) => {
    const x = examples.map(point),
      scores = Array(settings.classes === 2 ? 1 : settings.classes).fill(0);
    for (const { i, k, weight } of share) {
      const value = weight * own(examples.x[i], x);
      if (settings.classes === 2) scores[0] += examples.y[i] * value;
      else {
        scores[examples.y[i]] += value;
        scores[k] -= value;
      }
    }
    return scores;
  };
  result.level = result.gamma ** 2;
  if (street && settings.classes === 2 && settings.features === "none" && settings.bias) {
    result.street = yield* streetOf(examples);
  }
  return result;
}

// The widest street between two classes in the plane: w·x = low touches the negative class, w·x = high the positive.
function* streetOf(examples) {
  const { members, weights, total } = yield* nearest(differences(examples.x, examples.y));
  const w = [0, 0],
    touching = new Set();
  members.forEach(({ a, b }, m) => {
    const part = ratio(weights[m], total);
    for (const f of [0, 1]) w[f] += part * (examples.x[a][f] - examples.x[b][f]);
    touching.add(a).add(b);
  });
  const score = (i) => dot(w, examples.x[i]);
  const side = (label) => examples.y.map((y, i) => (y === label ? score(i) : NaN)).filter((s) => !Number.isNaN(s));
  return {
    w,
    low: Math.max(...side(-1)),
    high: Math.min(...side(1)),
    width: Math.sqrt(dot(w, w)),
    touching: [...touching],
  };
}
