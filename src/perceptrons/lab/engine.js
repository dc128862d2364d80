// One neuron that learns. This file is the whole of learning on this page: read it next to the lecture.
//
//   learn(m, x, y, rule)         one visit with two classes, y = -1 or +1
//   learnJoint(m, x, y, rule)    one visit with several classes, y = 0, 1, 2
//   learnBatch(m, x, y, ...)     one visit in a batch: mistakes wait until the batch ends
//   learnKernel(m, gram, i, ...) one visit of the kernel perceptron
//
// Each of them looks at an example (the score, and whether it triggers an update) and then moves the weights.
//
// m is the model, and these functions change it. m.w has one row of weights for two classes and one row per class for
// more; m.b has the biases. Numbers are doubles, and every sum is taken from left to right, as in the Python library
// `perceptrons`: its weights are the same to the last bit.
"use strict";

const dot = (w, x) => {
  let s = 0;
  for (let j = 0; j < x.length; j++) s += x[j] * w[j];
  return s;
};
const add = (w, step, x) => {
  for (let j = 0; j < x.length; j++) w[j] += step * x[j];
};

// Is the score s = w·x + b a mistake for the label y? At s = 0 lectures disagree, so the rule says what counts there.
const WRONG_AT_ZERO = {
  mistake: () => true, //            y s <= 0 is a mistake: the start w = 0 can learn
  correct: () => false, //           only y s < 0 is
  positive: (y) => y === -1, //      sign(0) = +1
  negative: (y) => y === 1, //       sign(0) = -1
};
const isMistake = (y, s, zero) => y * s < 0 || (s === 0 && WRONG_AT_ZERO[zero](y));

// THE PERCEPTRON.   if y (w·x + b) <= 0:   w += eta y x,   b += eta y
// With a margin, right answers that are too close trigger an update, too: y s <= margin.
function look(m, x, y, rule) {
  const s = m.scale * dot(m.w[0], x) + m.b[0];
  const loss = rule.margin - y * s;
  const mistake = isMistake(y, s, rule.zero);
  const update = rule.step === "constant" ? mistake || (rule.margin > 0 && loss >= 0) : loss > 0;
  return { s, ys: y * s, loss, mistake, update, step: update ? stepSize(m, x, loss, rule, [0]) : 0 };
}

function learn(m, x, y, rule) {
  const seen = look(m, x, y, rule);
  if (rule.decay > 0) decay(m, rule);
  if (seen.update) move(m, 0, y * seen.step, x, seen.loss, rule);
  count(m, seen);
  return seen;
}

// SEVERAL CLASSES.   y_hat = argmax_k w_k·x + b_k;   if y_hat != y:   w_y += eta x,   w_y_hat -= eta x
// With a margin, every wrong class gets that much more: the true class has to beat it by the margin.
function lookJoint(m, x, y, rule) {
  const scores = m.w.map((row, k) => m.scale * dot(row, x) + m.b[k]);
  const y_hat = highest(scores.map((s, k) => (k === y ? s : s + rule.margin)));
  const loss = y_hat === y ? 0 : rule.margin + scores[y_hat] - scores[y];
  const mistake = highest(scores) !== y;
  const update = y_hat !== y && (rule.step === "constant" || loss > 0);
  return { scores, y_hat, loss, mistake, update, step: update ? stepSize(m, x, loss, rule, [y, y_hat]) : 0 };
}

function learnJoint(m, x, y, rule) {
  const seen = lookJoint(m, x, y, rule);
  if (rule.decay > 0) decay(m, rule);
  if (seen.update) {
    move(m, y, seen.step, x, seen.loss, rule);
    move(m, seen.y_hat, -seen.step, x, seen.loss, rule);
  }
  count(m, seen);
  return seen;
}

// The class with the highest score. Ties go to the first.
function highest(scores) {
  let best = 0;
  for (let k = 1; k < scores.length; k++) if (scores[k] > scores[best]) best = k;
  return best;
}

// How far an update goes.   perceptron: eta      pa: loss / |x|²     pa1: at most C     arow: loss / (x·Sigma x + 1/C)
// The bias is the weight of a constant feature 1, which counts in |x|²; and so does each row of weights that moves.
function stepSize(m, x, loss, rule, rows) {
  if (rule.step === "constant") return rule.eta;
  let norm = 0;
  if (rule.step === "arow") {
    for (const k of rows) norm += spread(m.sigma[k], x) + m.one * m.sigmaB[k];
    return norm === 0 ? 0 : loss / (norm + 1 / rule.C);
  }
  norm = (dot(x, x) + m.one) * rows.length;
  return norm === 0 ? 0 : Math.min(rule.step === "pa1" ? rule.C : Infinity, loss / norm);
}

// w += step x,  b += step. `late` is what the average needs: each update, times the visits that were before it.
function move(m, k, step, x, loss, rule) {
  if (rule.step === "arow") return moveConfidently(m, k, step, x, loss);
  const scaled = step / m.scale; // 1 without weight decay
  add(m.w[k], scaled, x);
  add(m.late[k], m.mass * scaled, x);
  m.b[k] += m.one * step;
  m.lateB[k] += m.one * (m.seen * step);
}

// AROW: w += step Sigma x; then Sigma -= (Sigma x)² / (x·Sigma x + 1/C), that is, the neuron is surer of these weights.
function moveConfidently(m, k, step, x, loss) {
  if (step === 0) return;
  const sigma = m.sigma[k],
    beta = Math.abs(step) / loss,
    bias = m.one * m.sigmaB[k];
  for (let j = 0; j < x.length; j++) m.w[k][j] += step * sigma[j] * x[j];
  for (let j = 0; j < x.length; j++) m.late[k][j] += m.mass * step * sigma[j] * x[j];
  m.b[k] += step * bias;
  m.lateB[k] += m.seen * step * bias;
  for (let j = 0; j < x.length; j++) sigma[j] *= 1 - beta * sigma[j] * x[j] * x[j];
  m.sigmaB[k] *= 1 - beta * bias;
}

const spread = (sigma, x) => {
  let s = 0;
  for (let j = 0; j < x.length; j++) s += x[j] * x[j] * sigma[j];
  return s;
};

// BATCH.   w += eta × the sum of y x over the mistakes of the batch, all scored with the weights from before it.
// The mistakes wait in m.waiting until the last visit of the batch.
function learnBatch(m, x, y, rule, last) {
  const two = m.w.length === 1,
    seen = (two ? look : lookJoint)(m, x, y, rule);
  if (seen.update) m.waiting.push([x, y, seen]);
  if (last) {
    for (const [x, y, { y_hat, loss }] of m.waiting) {
      move(m, two ? 0 : y, two ? y * rule.eta : rule.eta, x, loss, rule);
      if (!two) move(m, y_hat, -rule.eta, x, loss, rule);
    }
    m.waiting = [];
  }
  count(m, seen);
  return seen;
}

// THE KERNEL PERCEPTRON.   s = sum_j alpha_j y_j K(x_j, x_i);   if y_i s <= 0:   alpha_i += eta
// gram[i] holds K(x_i, x_j) for all j. With several classes alpha has one column per class, with a sign.
function learnKernel(m, gram, i, labels, rule) {
  const y = labels[i];
  const scores = m.alpha.map((own, k) => {
    let s = 0;
    for (let j = 0; j < own.length; j++)
      if (own[j] !== 0) s += own[j] * (m.alpha.length === 1 ? labels[j] : 1) * gram[i][j];
    return s;
  });
  const two = m.alpha.length === 1;
  const y_hat = two ? 0 : highest(scores);
  const mistake = two ? y * scores[0] <= 0 : y_hat !== y;
  if (mistake) {
    raise(m, two ? 0 : y, i, rule.eta);
    if (!two) raise(m, y_hat, i, -rule.eta);
  }
  const seen = {
    s: scores[0],
    ys: y * scores[0],
    scores,
    y_hat,
    mistake,
    update: mistake,
    step: mistake ? rule.eta : 0,
    loss: two ? -y * scores[0] : scores[y_hat] - scores[y],
  };
  count(m, seen);
  return seen;
}

function raise(m, k, i, step) {
  m.alpha[k][i] += step;
  m.lateAlpha[k][i] += m.mass * step;
}

// AVERAGE.   The mean of w after every visit, without a sum at every visit:  (mass w - late) / seen.
// Without weight decay, mass is the number of visits; for the bias, which does not decay, it always is.
function averageOf(m) {
  const seen = m.seen || 1,
    mass = m.seen ? m.mass / m.seen : 1;
  const mean = (now, late, mass) => now.map((value, j) => mass * value - late[j] / seen);
  if (m.alpha) return { alpha: m.alpha.map((own, k) => mean(own, m.lateAlpha[k], mass)) };
  return { w: m.w.map((row, k) => mean(row, m.late[k], mass)), b: mean(m.b, m.lateB, 1) };
}

// The last weights, as they are shown.
function lastOf(m) {
  if (m.alpha) return { alpha: m.alpha };
  return m.scale === 1
    ? { w: m.w, b: m.b }
    : { w: m.w.map((row) => row.map((value) => value * m.scale)), b: m.b };
}

// One more visit is over, and the weights after it count in the average.
function count(m, seen) {
  m.mistakes += seen.update && seen.mistake ? 1 : 0;
  m.updates += seen.update && seen.step > 0 ? 1 : 0;
  m.seen += 1;
  m.mass = m.anchor === 0 ? m.mass + m.scale : -m.anchor * m.scale;
}

// WEIGHT DECAY.   w <- (1 - lambda) w at every visit; b stays. Only the common factor `scale` of all weights is changed;
// it is multiplied out before it gets too small. `mass` is the sum of the scales, counted from a start that loses no
// digits.
function decay(m, rule) {
  const keep = 1 - rule.decay,
    anchor = rule.decay >= 1e-3 ? keep / rule.decay : 0;
  m.scale *= keep;
  if (m.scale >= (m.anchor > 0 ? 1e-60 : 1e-3)) return;
  const known = anchor > 0 && m.anchor === anchor,
    fresh = -anchor / keep;
  const multiplyOut = (now, late) =>
    now.forEach((was, j) => {
      now[j] = was * m.scale;
      if (!known) late[j] += fresh * now[j] - m.mass * was;
    });
  m.w.forEach((row, k) => multiplyOut(row, m.late[k]));
  m.mass = fresh;
  m.scale = 1;
  m.anchor = anchor;
}

// A model that has seen nothing. rows: 1 for two classes, else one per class; size: the number of features.
function newModel(rows, size, start, bias, step) {
  const matrix = (value) => Array.from({ length: rows }, () => Array(size).fill(value));
  return {
    w: start.w.map((row) => row.slice()),
    b: start.b.slice(),
    late: matrix(0),
    lateB: Array(rows).fill(0),
    sigma: step === "arow" ? matrix(1) : null,
    sigmaB: step === "arow" ? Array(rows).fill(1) : null,
    one: bias ? 1 : 0,
    seen: 0,
    mass: 0,
    scale: 1,
    anchor: 0,
    mistakes: 0,
    updates: 0,
    waiting: [],
  };
}

function newKernelModel(rows, examples) {
  const matrix = () => Array.from({ length: rows }, () => Array(examples).fill(0));
  return { alpha: matrix(), lateAlpha: matrix(), seen: 0, mass: 0, scale: 1, anchor: 0, mistakes: 0, updates: 0 };
}

// Scores of any x, one per row, by given weights.
const linearScores = (weights, x) => weights.w.map((row, k) => dot(row, x) + weights.b[k]);

// FEATURE MAP.   phi(x) = (x1, x2, x1², x2², x1 x2): a line in this space is a circle, an ellipse or a hyperbola in ours.
const FEATURE_MAPS = {
  none: (x) => [x[0], x[1]],
  squares: (x) => [x[0], x[1], x[0] * x[0], x[1] * x[1], x[0] * x[1]],
};

// KERNELS.   poly: (gamma x·z + 1)^degree,  by repeated multiplication      rbf: exp(-gamma |x - z|²)
const KERNELS = {
  poly: (x, z, kernel) => power(kernel.gamma * dot(x, z) + 1, kernel.degree),
  rbf: (x, z, kernel) => Math.exp(Math.min(0, -kernel.gamma * (-2 * dot(x, z) + dot(x, x) + dot(z, z)))),
};

function power(value, degree) {
  if (degree === 1) return value;
  const rest = power(value * value, Math.floor(degree / 2));
  return degree % 2 ? rest * value : rest;
}

// POCKET.   The best weights so far: those with the longest run of right answers, kept only if they also make fewer
// mistakes on all examples (Gallant 1990). `errors(weights)` counts these.
function newPocket(m, errors) {
  const start = { w: m.w.map((row) => row.slice()), b: m.b.slice() };
  return { weights: start, run: 0, bestRun: 0, mistakes: errors(start), judged: "no" };
}

function pocketAfter(pocket, m, seen, errors) {
  if (seen.update) {
    if (seen.step > 0) changed(pocket);
    return;
  }
  pocket.run += 1;
  if (pocket.judged === "kept") pocket.bestRun = Math.max(pocket.bestRun, pocket.run);
  if (pocket.judged === "no" && pocket.run > pocket.bestRun) judge(pocket, m, errors);
}

// The weights were changed: their run of right answers starts at 0.
function changed(pocket) {
  pocket.run = 0;
  pocket.judged = "no";
}

function judge(pocket, m, errors) {
  const last = lastOf(m),
    mistakes = errors(last);
  pocket.judged = "worse";
  if (mistakes < pocket.mistakes) {
    pocket.weights = { w: last.w.map((row) => row.slice()), b: last.b.slice() };
    pocket.bestRun = pocket.run;
    pocket.mistakes = mistakes;
    pocket.judged = "kept";
  }
}
