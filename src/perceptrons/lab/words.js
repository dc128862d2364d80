// The slide's arithmetic with the numbers filled in, as lists of lines. Each line is a list of [text, kind].
"use strict";

// A number as a slide writes it: at most four significant digits, a real minus sign.
function num(value) {
  if (Number.isNaN(value)) return "undefined";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text =
    size >= 1e6 || size < 1e-4
      ? value.toExponential(2)
      : String(Number(value.toPrecision(Number.isInteger(value) ? 7 : 4)));
  return text.replace(/-/g, "−").replace("e+", "e");
}
const vector = (values) => `(${values.map(num).join(", ")})`;
const inParentheses = (value) => (value < 0 || Object.is(value, -0) ? `(${num(value)})` : num(value));
const signed = (y) => (y > 0 ? "+1" : "−1");
const named = (y, names) =>
  names[y > 0 ? 1 : 0] === NAMES[y > 0 ? 1 : 0] ? signed(y) : `${signed(y)} (${names[y > 0 ? 1 : 0]})`;
const many = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;

// w·x + b with numbers:  0.2·2 + 0·1 − 0.1
function products(w, x, b, bias) {
  const terms = w.map((value, j) => `${inParentheses(value)}·${inParentheses(x[j])}`).join(" + ");
  return bias ? `${terms} ${b < 0 ? "−" : "+"} ${num(Math.abs(b))}` : terms;
}

const FEATURE_NAMES = { none: "x", squares: "φ(x)" };

// What happened at a visit. before, after: models; seen: what the engine says.
function visitInWords(run, { before, after, seen, i, epoch }, t, names) {
  const { settings, rule } = run,
    x = run.examples.x[i],
    y = run.examples.y[i];
  const title = `Visit ${t}: example ${i + 1}, epoch ${epoch}`;
  const lines = isKernel(settings)
    ? kernelLines(run, before.m, seen, i, y, names)
    : settings.classes === 2
      ? binaryLines(run, before.m, after.m, seen, x, y, names)
      : jointLines(run, before.m, after.m, seen, x, y, names);
  return { title, lines, verdict: verdict(seen, rule, after.m) };
}

function verdict(seen, rule, m) {
  if (seen.mistake && seen.update) return { kind: "wrong", text: "Mistake" };
  if (seen.update) return { kind: "close", text: "Right, but too close" };
  return { kind: "right", text: seen.mistake ? "No update" : "Right: no update" };
}

function binaryLines(run, before, after, seen, x, y, names) {
  const { settings, rule } = run,
    bias = settings.bias,
    then = lastOf(before),
    now = lastOf(after),
    w = then.w[0],
    b = then.b[0];
  const X = FEATURE_NAMES[settings.features],
    lines = [[[`${X} = ${vector(x)},   y = ${named(y, names)}`]]];
  lines.push([
    [`s = w·${X}${bias ? " + b" : ""}`, "formula"],
    [` = ${products(w, x, b, bias)} = `],
    [num(seen.s), "result"],
  ]);
  const ys = `y·s = ${num(seen.ys)}`;
  if (rule.step === "constant") {
    const test = rule.margin > 0 ? `${seen.update ? "≤" : ">"} margin ${num(rule.margin)}` : ys_test(seen, y, rule);
    lines.push([[`${ys} `, "result"], [test]]);
  } else {
    lines.push([
      [`ℓ = max(0, ${num(rule.margin)} − y·s)`, "formula"],
      [" = "],
      [num(Math.max(0, seen.loss)), "result"],
    ]);
  }
  if (rule.decay > 0)
    lines.push([
      ["w ← (1 − λ) w", "formula"],
      [` = ${num(1 - rule.decay)}·${vector(w)}`],
    ]);
  if (!seen.update) return lines;
  if (rule.batch !== 1) {
    lines.push([
      [`η y ${X} = ${num(rule.eta)}·(${signed(y)})·${vector(x)}`],
      [seen.changed ? "" : "  waits for the end of the batch"],
    ]);
    if (seen.changed) lines.push([["w ← w + η Σ y x", "formula"], [" = "], [vector(now.w[0]), "result"]]);
    return lines;
  }
  const step = rule.step === "constant" ? num(rule.eta) : num(seen.step);
  if (rule.step === "pa" || rule.step === "pa1") {
    const form = rule.step === "pa" ? `τ = ℓ / |${X}|²` : `τ = min(C, ℓ / |${X}|²)`;
    lines.push([
      [form, "formula"],
      [
        ` = ${rule.step === "pa1" ? `min(${num(rule.C)}, ` : ""}${num(seen.loss)} / ${num(dot(x, x) + before.one)}${rule.step === "pa1" ? ")" : ""} = `,
      ],
      [step, "result"],
      [bias ? "  (the bias counts as a feature 1)" : ""],
    ]);
  } else if (rule.step === "arow") {
    const norm = spread(before.sigma[0], x) + before.one * before.sigmaB[0];
    lines.push([[`β = 1 / (${X}·Σ${X} + 1/C)`, "formula"], [" = "], [num(1 / (norm + 1 / rule.C)), "result"]]);
    lines.push([["α = ℓ β", "formula"], [" = "], [step, "result"]]);
    lines.push([[`w ← w + α y Σ${X}`, "formula"], [" = "], [vector(now.w[0]), "result"]]);
    if (bias) lines.push([["b ← b + α y σ_b", "formula"], [" = "], [num(now.b[0]), "result"]]);
    lines.push([
      ["Σ ← Σ − β (Σx)²", "formula"],
      [" = diag"],
      [vector([...after.sigma[0], ...(bias ? after.sigmaB : [])]), "result"],
    ]);
    return lines;
  }
  const letter = rule.step === "constant" ? "η" : "τ",
    from = rule.decay > 0 ? `${num(1 - rule.decay)}·${vector(w)}` : vector(w);
  lines.push([
    [`w ← w + ${letter} y ${X}`, "formula"],
    [` = ${from} + ${step}·(${signed(y)})·${vector(x)} = `],
    [vector(now.w[0]), "result"],
  ]);
  if (bias)
    lines.push([
      [`b ← b + ${letter} y`, "formula"],
      [` = ${num(b)} + ${step}·(${signed(y)}) = `],
      [num(now.b[0]), "result"],
    ]);
  return lines;
}

function ys_test(seen, y, rule) {
  if (seen.s !== 0) return seen.ys < 0 ? "< 0" : "> 0";
  return {
    mistake: "= 0, which counts as a mistake",
    correct: "= 0, which counts as right",
    positive: "= 0, and sign(0) = +1",
    negative: "= 0, and sign(0) = −1",
  }[rule.zero];
}

function jointLines(run, before, after, seen, x, y, names) {
  const { settings, rule } = run,
    bias = settings.bias,
    then = lastOf(before),
    now = lastOf(after),
    X = FEATURE_NAMES[settings.features];
  const lines = [[[`${X} = ${vector(x)},   y = ${names[y]}`]]];
  then.w.forEach((row, k) =>
    lines.push([
      [`s(${names[k]}) = θ(${names[k]})·${X}${bias ? " + b" : ""}`, "formula"],
      [` = ${products(row, x, then.b[k], bias)} = `],
      [num(seen.scores[k]), "result"],
    ]),
  );
  const more = rule.margin > 0 ? `, each wrong class + ${num(rule.margin)}` : "";
  lines.push([
    [`ŷ = argmax s${more}`, "formula"],
    [" = "],
    [names[seen.y_hat], "result"],
    [seen.y_hat === y ? " = y" : " ≠ y"],
  ]);
  if (!seen.update) return lines;
  if (!seen.changed) return [...lines, [["The update waits for the end of the batch."]]];
  const letter = rule.step === "constant" ? "η" : rule.step === "arow" ? "α" : "τ",
    S = rule.step === "arow" ? "Σ" : "";
  if (letter !== "η")
    lines.push([[`${letter} = `, "formula"], [num(seen.step), "result"], [`, from the loss ${num(seen.loss)}`]]);
  lines.push([
    [`θ(${names[y]}) ← θ(${names[y]}) + ${letter} ${S}${X}`, "formula"],
    [" = "],
    [vector(now.w[y]), "result"],
    [bias ? `, b = ${num(now.b[y])}` : ""],
  ]);
  lines.push([
    [`θ(${names[seen.y_hat]}) ← θ(${names[seen.y_hat]}) − ${letter} ${S}${X}`, "formula"],
    [" = "],
    [vector(now.w[seen.y_hat]), "result"],
    [bias ? `, b = ${num(now.b[seen.y_hat])}` : ""],
  ]);
  const rest = names.slice(0, settings.classes).filter((_, k) => k !== y && k !== seen.y_hat);
  if (rule.batch === 1) lines.push([[`θ(${rest.join(", ")}) stays as it is.`]]);
  return lines;
}

function kernelLines(run, before, seen, i, y, names) {
  const two = run.settings.classes === 2,
    x = run.examples.x[i],
    eta = num(run.rule.eta);
  const lines = [[[`x = ${vector(x)},   y = ${two ? named(y, names) : names[y]}`]]];
  const support = before.alpha.map((own) => own.reduce((n, a) => n + (a !== 0), 0));
  if (two) {
    const terms = before.alpha[0].map((a, j) => [a, j]).filter(([a]) => a !== 0);
    const shown = terms
      .slice(0, 3)
      .map(([a, j]) => `${num(a)}·(${signed(run.examples.y[j])})·${num(run.examples.gram[i][j])}`)
      .join(" + ");
    const rest = terms.length > 3 ? ` + … (${terms.length} terms)` : "";
    lines.push([["s = Σ α_j y_j K(x_j, x)", "formula"], [` = ${shown || "0"}${rest} = `], [num(seen.s), "result"]]);
    lines.push([[`y·s = ${num(seen.ys)} `, "result"], [seen.ys > 0 ? "> 0" : "≤ 0"]]);
    if (seen.update)
      lines.push([
        [`α_${i + 1} ← α_${i + 1} + η`, "formula"],
        [` = ${num(before.alpha[0][i])} + ${eta} = `],
        [num(before.alpha[0][i] + run.rule.eta), "result"],
      ]);
    return lines;
  }
  seen.scores.forEach((s, k) =>
    lines.push([
      [`s(${names[k]}) = Σ α_j K(x_j, x)`, "formula"],
      [` over ${many(support[k], "example")} = `],
      [num(s), "result"],
    ]),
  );
  lines.push([
    ["ŷ = argmax s", "formula"],
    [" = "],
    [names[seen.y_hat], "result"],
    [seen.y_hat === y ? " = y" : " ≠ y"],
  ]);
  if (seen.update)
    lines.push([[`α_${i + 1}(${names[y]}) += ${eta},   α_${i + 1}(${names[seen.y_hat]}) −= ${eta}`, "formula"]]);
  return lines;
}

// Before the first visit: where learning starts.
function startInWords(run, names) {
  const { settings } = run,
    start = run.kept[0].m;
  if (!run.n)
    return {
      title: "No points yet",
      lines: [[["Click into the plane to place points, or choose data."]]],
      verdict: null,
    };
  if (start.alpha) return { title: "Start", lines: [[["α = 0 for all examples", "formula"]]], verdict: null };
  const rows = start.w.map((w, k) => [
    [
      `${start.w.length > 1 ? `θ(${names[k]})` : "w"} = ${vector(w)}${settings.bias ? `,   b = ${num(start.b[k])}` : ""}`,
      "formula",
    ],
  ]);
  return { title: "Start", lines: [...rows, [["Step once: press the right arrow key, or “Visit”."]]], verdict: null };
}

// The proof in words.
function proofInWords(proof, run) {
  if (!proof) return { title: "Looking for a proof …", lines: [] };
  if (proof.why) return { title: "No proof", lines: [proof.why] };
  const space = run.settings.features === "none" ? "" : " in feature space",
    X = FEATURE_NAMES[run.settings.features] || "φ(x)",
    augmented = run.settings.bias && !isKernel(run.settings) ? `(${X}, 1)` : X;
  if (!proof.separable) {
    const two = run.settings.classes === 2;
    const what = two
      ? `With these weights, the sum of y·${augmented} over these points is exactly 0. So the sum of y·s is 0 for every line, and no line is right about all of them:`
      : "With these weights, the leads that these points need add up to exactly 0 for every θ. So no θ is right about all of them:";
    return { title: `Not linearly separable${space}`, lines: [what] };
  }
  const width = proof.street ? `The widest street between the classes is ${num(proof.street.width)} wide. ` : "";
  return {
    title: `Linearly separable${space}`,
    lines: [
      `${width}R = ${num(proof.R)}, γ = ${num(proof.gamma)}${run.settings.bias ? " (with the bias as a feature 1)" : ""}.`,
    ],
  };
}

// The mistake bound beside what was counted; null where there is none.
function boundInWords(proof, run, updates) {
  if (!proof || !proof.separable) return null;
  const { rule, settings } = run,
    zero = settings.start === "zeros",
    plain = settings.rule === "perceptron";
  if (plain && zero) {
    const bound = proof.bound.toLocaleString("en");
    return { form: "(R/γ)²", value: bound, text: `${many(updates, "update")} so far, at most ${bound} in any order.` };
  }
  if (settings.rule === "margin" && zero) {
    const bound = Math.floor((proof.R ** 2 + (2 * rule.margin) / rule.eta) / proof.gamma ** 2).toLocaleString("en");
    return {
      form: "(R² + 2·margin/η)/γ²",
      value: bound,
      text: `${many(updates, "update")} so far, at most ${bound} in any order.`,
    };
  }
  const why = plain ? "for a start at 0" : "for the perceptron's own rule from a start at 0";
  return {
    form: "(R/γ)²",
    value: proof.bound.toLocaleString("en"),
    text: `${many(updates, "update")} so far. The bound is ${why}; this run may need more.`,
  };
}
