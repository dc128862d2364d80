// The proof in the plane: the widest street with the points that it touches, or the witness with its weights.
"use strict";

function drawProof(plane, proof, run, colours) {
  const { g } = plane,
    points = run.points(),
    at = ([x, y]) => [plane.across(x), plane.up(y)];
  g.strokeStyle = g.fillStyle = colours.proof;
  if (proof.separable && proof.street) {
    const { w, low, high } = proof.street;
    const band = plane.halfPlane(w, -low, 1),
      edge = plane.halfPlane(w, -high, -1);
    g.save();
    g.globalAlpha = 0.12;
    for (const part of [band, edge]) {
      g.beginPath();
      part.forEach((p, k) => g[k ? "lineTo" : "moveTo"](...at(p)));
      g.clip();
    }
    g.fillRect(0, 0, plane.width, plane.height);
    g.restore();
    for (const c of [low, high])
      plane.drawBoundary({ line: { w, b: -c }, colour: colours.proof, dash: [5, 4], width: 1.5, alpha: 0.9 }, colours);
  } else if (proof.separable && proof.field) {
    const levels = run.settings.classes === 2 ? [-proof.level, 0, proof.level] : [0];
    for (const level of levels)
      plane.drawBoundary(
        { field: proof.field, level, colour: colours.proof, dash: level ? [3, 4] : [5, 4], width: 1.5, alpha: 0.9 },
        colours,
      );
  }
  const marked = proof.separable
    ? proof.street
      ? proof.street.touching.map((i) => ({ i }))
      : proof.members
    : proof.members;
  if (!proof.separable) {
    // the hulls of the witness cross: lines between its points show where
    g.lineWidth = 1.5;
    g.setLineDash([2, 3]);
    g.beginPath();
    for (const a of marked)
      for (const b of marked)
        if (a.i < b.i && run.examples.y[a.i] === run.examples.y[b.i]) {
          g.moveTo(...at(points[a.i]));
          g.lineTo(...at(points[b.i]));
        }
    g.stroke();
    g.setLineDash([]);
  }
  g.lineWidth = 2.5;
  for (const { i } of marked) {
    g.beginPath();
    g.arc(...at(points[i]), 1.55 * plane.radius, 0, 2 * Math.PI);
    g.stroke();
  }
}

// The weights of the witness, beside its points.
function drawWeights(plane, { members }, run, colours) {
  const { g } = plane,
    points = run.points();
  g.font = `bold ${plane.font}px system-ui, sans-serif`;
  g.textAlign = "center";
  g.textBaseline = "bottom";
  g.lineWidth = 4;
  g.strokeStyle = colours.paper;
  g.fillStyle = colours.proof;
  for (const { i, weight } of members) {
    const x = plane.across(points[i][0]),
      y = plane.up(points[i][1]) - 2.9 * plane.radius;
    g.strokeText(num(weight), x, y);
    g.fillText(num(weight), x, y);
  }
}
