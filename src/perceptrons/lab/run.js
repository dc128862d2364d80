// A run from the first visit to the last: which example is visited when, and the model after any number of visits.
"use strict";

const MOST_VISITS = 200000;
const EVERY = 64; // visits between two models that are kept; those in between are learned again when asked for

// A generator of random numbers in [0, 1) by a seed (mulberry32), so that the same seed gives the same run everywhere.
function randomBy(seed) {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), a | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

function visitingOrder(n, settings, epoch) {
  const order = Array.from({ length: n }, (_, i) => i);
  if (settings.order === "given") return order;
  const random = randomBy(settings.seed * 1000003 + epoch);
  for (let i = n - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

// What the settings of the page mean to the engine.
function ruleOf(settings) {
  const { rule, eta, C, zero } = settings;
  return {
    step: ["pa", "pa1", "arow"].includes(rule) ? rule : "constant",
    margin: ["margin", "pa", "pa1", "arow", "decay"].includes(rule) ? settings.margin : 0,
    decay: rule === "decay" ? settings.decay : 0,
    batch: rule === "batch" ? settings.batch : 1,
    eta,
    C,
    zero,
  };
}

const isKernel = (settings) => settings.features === "poly" || settings.features === "rbf";

// Examples as the engine wants them: mapped features, labels -1 and +1 (or 0, 1, 2), and kernel values.
function examplesOf(points, settings) {
  const map = FEATURE_MAPS[settings.features] || FEATURE_MAPS.none;
  const examples = {
    x: points.map((point) => map([point.x, point.y])),
    y: points.map((point) => (settings.classes === 2 ? (point.c === 1 ? 1 : -1) : point.c)),
    map,
    gram: null,
    kernel: null,
  };
  if (isKernel(settings)) {
    const K = KERNELS[settings.features],
      kernel = { gamma: settings.gamma, degree: settings.degree };
    examples.kernel = (x, z) => K(x, z, kernel);
    examples.gram = examples.x.map((x) => examples.x.map((z) => examples.kernel(x, z)));
  }
  return examples;
}

function startOf(settings, size) {
  const rows = settings.classes === 2 ? 1 : settings.classes;
  const value = settings.start === "ones" ? 1 : 0;
  const w = Array.from({ length: rows }, () => Array(size).fill(value));
  const b = Array(rows).fill(settings.bias ? value : 0);
  if (settings.start === "own" && rows === 1) {
    w[0][0] = settings.w1;
    w[0][1] = settings.w2;
    b[0] = settings.bias ? settings.b : 0;
  }
  return { w, b };
}

class Run {
  constructor(points, settings) {
    this.settings = settings;
    this.rule = ruleOf(settings);
    this.examples = examplesOf(points, settings);
    this.n = points.length;
    this.size = (this.examples.x[0] || this.examples.map([0, 0])).length;
    this.orders = [];
    this.kept = [this.first()];
    this.updates = []; // {t, i, k: what moved} in the order in which they were made
    this.mistakesAt = [];
    this.epochs = []; // {mistakes, updates, margin} after every epoch
    this.length = 0;
    this.stop = "empty";
    if (this.n) this.toTheEnd();
  }

  first() {
    const { settings, rule, size, n } = this,
      rows = settings.classes === 2 ? 1 : settings.classes;
    if (isKernel(settings)) return { m: newKernelModel(rows, n), pocket: null };
    const m = newModel(rows, size, startOf(settings, size), settings.bias, rule.step);
    return { m, pocket: newPocket(m, (weights) => this.errors(weights)) };
  }

  toTheEnd() {
    const { settings, n } = this,
      now = clone(this.kept[0]);
    const most = Math.max(1, Math.min(settings.epochs, Math.floor(MOST_VISITS / n)));
    for (let epoch = 0; epoch < most; epoch++) {
      const before = { mistakes: now.m.mistakes, updates: now.m.updates };
      for (let p = 0; p < n; p++) {
        const seen = this.visit(now, ++this.length);
        if (seen.mistake) this.mistakesAt.push(this.length);
        if (seen.changed) this.updates.push({ t: this.length, ...this.versionOf(now.m, this.length, seen) });
        if (this.length % EVERY === 0) this.kept.push(clone(now));
      }
      const mistakes = now.m.mistakes - before.mistakes,
        updates = now.m.updates - before.updates;
      this.epochs.push({ mistakes, updates, margin: this.marginOf(lastOf(now.m)) });
      // without a mistake nothing changes any more, unless the weights decay
      if (!mistakes && !updates && this.rule.decay === 0) {
        this.stop = this.errorsOf("last", this.length) ? "stuck" : "converged";
        return;
      }
    }
    this.stop = "epochs";
  }

  // The example that visit t (from 1 on) visits.
  example(t) {
    const epoch = Math.floor((t - 1) / this.n);
    if (!this.orders[epoch]) this.orders[epoch] = visitingOrder(this.n, this.settings, epoch);
    return this.orders[epoch][(t - 1) % this.n];
  }

  // Visit number t. Changes `now`.
  visit(now, t) {
    const { rule, examples, n } = this,
      { m, pocket } = now,
      i = this.example(t),
      place = (t - 1) % n;
    if (m.alpha) {
      const seen = learnKernel(m, examples.gram, i, examples.y, rule);
      return { ...seen, changed: seen.update };
    }
    const x = examples.x[i],
      y = examples.y[i],
      two = m.w.length === 1,
      errors = (weights) => this.errors(weights);
    const endOfEpoch = place + 1 === n;
    let seen, moved;
    if (rule.batch === 1) {
      seen = (two ? learn : learnJoint)(m, x, y, rule);
      moved = seen.step > 0;
      pocketAfter(pocket, m, seen, errors);
    } else {
      const last = endOfEpoch || (rule.batch > 0 && (place + 1) % rule.batch === 0);
      const ahead = (two ? look : lookJoint)(m, x, y, rule);
      if (ahead.update) pocket.run = 0;
      else pocketAfter(pocket, m, ahead, errors);
      moved = last && (ahead.update || m.waiting.length > 0);
      seen = learnBatch(m, x, y, rule, last);
      if (moved) changed(pocket);
    }
    if (endOfEpoch && pocket.judged === "no") judge(pocket, m, errors);
    return { ...seen, changed: moved };
  }

  versionOf(m, t, seen) {
    if (m.alpha) return { i: this.example(t), y: this.examples.y[this.example(t)], y_hat: seen.y_hat, step: seen.step };
    const last = lastOf(m);
    return { w: last.w.map((row) => row.slice()), b: last.b.slice() };
  }

  // The model and its pocket after t visits.
  state(t) {
    const at = Math.min(Math.floor(t / EVERY), this.kept.length - 1),
      now = clone(this.kept[at]);
    for (let v = at * EVERY + 1; v <= t; v++) this.visit(now, v);
    return now;
  }

  // What happened at visit t: the model before and after it, and what was seen.
  record(t) {
    const before = this.state(t - 1),
      now = clone(before),
      seen = this.visit(now, t);
    return { before, after: now, seen, i: this.example(t), epoch: Math.floor((t - 1) / this.n) + 1 };
  }

  // How many updates were made in the first t visits.
  updatesUntil(t) {
    let low = 0,
      high = this.updates.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.updates[middle].t <= t) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // A function of x in the plane that gives one score (two classes) or one per class.
  scorer(weights) {
    const { examples } = this;
    if (!weights.alpha) return (x) => linearScores(weights, examples.map(x));
    const support = examples.x.map((_, j) => j).filter((j) => weights.alpha.some((own) => own[j] !== 0));
    const sign = (j) => (weights.alpha.length === 1 ? examples.y[j] : 1);
    return (x) => {
      const values = support.map((j) => examples.kernel(examples.x[j], x));
      return weights.alpha.map((own) => support.reduce((s, j, p) => s + own[j] * sign(j) * values[p], 0));
    };
  }

  // VOTES.   sum over all weight vectors so far of (visits it survived) × sign(its score): one vote per class.
  // The scores are walked from one weight vector to the next: an update of a kernel model adds one kernel value.
  voter(t) {
    const { examples, updates } = this,
      until = this.updatesUntil(t),
      two = this.settings.classes === 2;
    const rows = two ? 1 : this.settings.classes,
      start = this.kept[0].m,
      positive = this.settings.zero === "positive";
    const cast = (scores, votes, count) => {
      if (two) votes[0] += scores[0] > 0 || (scores[0] === 0 && positive) ? count : -count;
      else votes[highest(scores)] += count;
    };
    return (point) => {
      const x = examples.map(point),
        votes = Array(rows).fill(0),
        scores = start.alpha ? Array(rows).fill(0) : linearScores(start, x);
      cast(scores, votes, until ? updates[0].t - 1 : t);
      for (let u = 0; u < until; u++) {
        const one = updates[u],
          survived = (u + 1 < until ? updates[u + 1].t : t + 1) - one.t;
        if (one.w) for (let k = 0; k < rows; k++) scores[k] = dot(one.w[k], x) + one.b[k];
        else {
          const more = one.step * examples.kernel(examples.x[one.i], x);
          scores[two ? 0 : one.y] += two ? one.y * more : more;
          if (!two) scores[one.y_hat] -= more;
        }
        cast(scores, votes, survived);
      }
      return votes;
    };
  }

  // The four ways to predict after t visits, each a function of x; null where there is none.
  predictor(kind, t, state = this.state(t)) {
    if (kind === "vote") return this.voter(t);
    if (kind === "pocket") return state.pocket && this.scorer(state.pocket.weights);
    return this.scorer(kind === "average" ? averageOf(state.m) : lastOf(state.m));
  }

  // How many examples weights get wrong, by the rule's own convention at 0.
  errors(weights) {
    const { x, y } = this.examples,
      two = weights.w.length === 1;
    let wrong = 0;
    for (let i = 0; i < x.length; i++) {
      const scores = linearScores(weights, x[i]);
      wrong += (two ? isMistake(y[i], scores[0], this.rule.zero) : highest(scores) !== y[i]) ? 1 : 0;
    }
    return wrong;
  }

  // How many examples one way to predict gets wrong after t visits, by the answers that it gives.
  errorsOf(kind, t, state) {
    const predict = this.predictor(kind, t, state),
      { y } = this.examples,
      positive = this.settings.zero === "positive";
    if (!predict) return null;
    return this.points().reduce((wrong, point, i) => {
      const scores = predict(point);
      const answer = scores.length === 1 ? (scores[0] > 0 || (scores[0] === 0 && positive) ? 1 : -1) : highest(scores);
      return wrong + (answer === y[i] ? 0 : 1);
    }, 0);
  }

  points() {
    return this.examples.x.map((x) => [x[0], x[1]]);
  }

  // The margin: the smallest y (w·x + b) / |w| over all examples; negative if one is wrong. Only for two classes.
  marginOf(weights) {
    if (weights.alpha || weights.w.length > 1) return null;
    const norm = Math.sqrt(dot(weights.w[0], weights.w[0]));
    if (norm === 0) return null;
    return Math.min(...this.examples.x.map((x, i) => this.examples.y[i] * linearScores(weights, x)[0])) / norm;
  }
}

function clone({ m, pocket }) {
  const copy = { ...m };
  for (const name of ["w", "late", "sigma", "alpha", "lateAlpha"])
    if (m[name]) copy[name] = m[name].map((row) => row.slice());
  for (const name of ["b", "lateB", "sigmaB"]) if (m[name]) copy[name] = m[name].slice();
  if (m.waiting) copy.waiting = m.waiting.slice();
  return { m: copy, pocket: pocket && { ...pocket } };
}
