// The two curves: mistakes in each epoch, and the margin after it.
"use strict";

function chart(canvas, values, { now, bars, line, lineText, colours }) {
  const box = canvas.getBoundingClientRect(),
    ratio = Math.min(2, devicePixelRatio || 1);
  if (!box.width || !box.height) return;
  const size = { width: Math.round(box.width * ratio), height: Math.round(box.height * ratio) };
  if (canvas.width !== size.width || canvas.height !== size.height) Object.assign(canvas, size);
  const g = canvas.getContext("2d"),
    left = 3.2 * colours.letters,
    bottom = 1.5 * colours.letters,
    width = box.width - left - 6,
    head = line === null || line === undefined ? 6 : 18,
    height = box.height - bottom - head;
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, box.width, box.height);
  const known = values.filter((v) => v !== null),
    high = Math.max(0, line ?? 0, ...known),
    low = Math.min(0, ...known);
  const span = high - low || 1,
    top = high + 0.08 * span,
    floor = low - (low < 0 ? 0.08 * span : 0);
  const across = (e) => left + ((e + 0.5) / Math.max(1, values.length)) * width,
    up = (v) => head + ((top - v) / (top - floor)) * height;
  g.font = `${colours.letters}px system-ui, sans-serif`;
  g.fillStyle = colours.soft;
  g.strokeStyle = colours.grid;
  g.textAlign = "right";
  g.textBaseline = "middle";
  for (const v of ticks(floor, top, Math.max(3, height / 34))) {
    g.beginPath();
    g.moveTo(left, up(v));
    g.lineTo(left + width, up(v));
    g.stroke();
    g.fillText(num(v), left - 5, up(v));
  }
  g.textAlign = "center";
  g.textBaseline = "top";
  for (const e of new Set([1, ...ticks(1, Math.max(1, values.length), 5)]))
    if (Number.isInteger(e)) g.fillText(num(e), across(e - 1), box.height - bottom + 4);
  if (line !== null && line !== undefined) {
    g.setLineDash([5, 4]);
    g.strokeStyle = g.fillStyle = colours.proof;
    g.beginPath();
    g.moveTo(left, up(line));
    g.lineTo(left + width, up(line));
    g.stroke();
    g.setLineDash([]);
    g.textAlign = "right";
    g.textBaseline = "bottom";
    g.fillText(lineText, left + width, up(line) - 2);
  }
  const thick = Math.max(1, Math.min(18, (width / Math.max(1, values.length)) * 0.75));
  g.beginPath();
  let drawn = false;
  values.forEach((v, e) => {
    if (v === null) {
      drawn = false;
      return;
    }
    g.globalAlpha = e < now ? 1 : 0.25;
    if (bars) {
      g.fillStyle = colours.wrong;
      g.fillRect(across(e) - thick / 2, up(v), thick, Math.max(v ? 1.5 : 0, up(0) - up(v)));
    } else {
      if (drawn) g.lineTo(across(e), up(v));
      else g.moveTo(across(e), up(v));
      drawn = true;
    }
  });
  g.globalAlpha = 1;
  if (bars) return;
  g.strokeStyle = colours.ink;
  g.lineWidth = 2;
  g.stroke();
  g.lineWidth = 1;
  const at = values[now - 1];
  if (at !== null && at !== undefined) {
    g.fillStyle = colours.ink;
    g.beginPath();
    g.arc(across(now - 1), up(at), 4, 0, 2 * Math.PI);
    g.fill();
  }
}

function drawCharts(run, t, proof, colours) {
  const now = run.n ? Math.floor(t / run.n) : 0,
    mistakes = run.epochs.map((e) => e.mistakes),
    margins = run.epochs.map((e) => e.margin);
  const one = document.getElementById("mistakesChart"),
    two = document.getElementById("marginChart");
  chart(one, mistakes, { now: Math.ceil(t / Math.max(1, run.n)), bars: true, line: null, colours });
  const widest = proof && proof.street ? proof.street.width / 2 : null;
  chart(two, margins, { now, bars: false, line: widest, lineText: "largest possible", colours });
  one.setAttribute(
    "aria-label",
    `Mistakes in each epoch: ${mistakes.slice(0, 20).join(", ")}${mistakes.length > 20 ? " and so on" : ""}.`,
  );
  const last = margins[now - 1];
  two.setAttribute(
    "aria-label",
    last === null || last === undefined
      ? "Margin after each epoch: none yet."
      : `Margin after epoch ${now}: ${num(last)}.`,
  );
  two.closest("figure").hidden = run.settings.classes !== 2 || isKernel(run.settings);
}
