// The plane on a canvas: points, boundaries, regions, the arrow w and the example of the visit.
"use strict";

class Plane {
  constructor(canvas, small = false) {
    this.canvas = canvas;
    this.small = small;
    this.font = 12; // pixels; the page sets it by its own letters
    this.radius = 6;
    this.view = { x0: -1, x1: 2, y0: -1, y1: 2 };
    this.edge = small ? { left: 0, right: 0, top: 0, bottom: 0 } : { left: 42, right: 6, top: 6, bottom: 26 };
  }

  // Follow the size on the screen. Returns whether there is anything to draw on.
  measure() {
    const box = this.canvas.getBoundingClientRect(),
      ratio = Math.min(2, devicePixelRatio || 1);
    const width = Math.round(box.width * ratio),
      height = Math.round(box.height * ratio);
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    Object.assign(this, { width: box.width, height: box.height, ratio, g: this.canvas.getContext("2d") });
    return width > 0 && height > 0;
  }

  get inner() {
    const { left, right, top, bottom } = this.edge;
    return { left, top, width: this.width - left - right, height: this.height - top - bottom };
  }

  across(x) {
    const { left, width } = this.inner;
    return left + ((x - this.view.x0) / (this.view.x1 - this.view.x0)) * width;
  }
  up(y) {
    const { top, height } = this.inner;
    return top + ((this.view.y1 - y) / (this.view.y1 - this.view.y0)) * height;
  }
  world(px, py) {
    const { left, top, width, height } = this.inner,
      { x0, x1, y0, y1 } = this.view;
    return [x0 + ((px - left) / width) * (x1 - x0), y1 - ((py - top) / height) * (y1 - y0)];
  }

  // A view that holds all points. Both axes have the same scale unless the data differ too much for it.
  fit(points, lines = []) {
    const xs = points.map((p) => p.x),
      ys = points.map((p) => p.y);
    if (!points.length) {
      xs.push(-3, 3);
      ys.push(-3, 3);
    }
    let [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const least = Math.max(x1 - x0, y1 - y0, 1e-6) * 0.04;
    const wide = Math.max(x1 - x0, least),
      high = Math.max(y1 - y0, least),
      even = wide / high < 12 && high / wide < 12;
    for (const { w, b } of lines) {
      // show where a line passes next to the points, if it is not far
      const size = w[0] ** 2 + w[1] ** 2,
        x = (x0 + x1) / 2,
        y = (y0 + y1) / 2;
      if (!size || !even) continue;
      const off = (w[0] * x + w[1] * y + b) / size,
        px = x - off * w[0],
        py = y - off * w[1];
      if (Math.hypot(px - x, py - y) < 3 * Math.max(wide, high))
        [x0, x1, y0, y1] = [Math.min(x0, px), Math.max(x1, px), Math.min(y0, py), Math.max(y1, py)];
    }
    const padX = Math.max(x1 - x0, least) * 0.2,
      padY = Math.max(y1 - y0, least) * 0.2;
    const view = { x0: x0 - padX, x1: x1 + padX, y0: y0 - padY, y1: y1 + padY };
    const { width, height } = this.inner;
    if (even && width > 0 && height > 0) {
      const unit = Math.max((view.x1 - view.x0) / width, (view.y1 - view.y0) / height);
      const grow = (low, high, by) => {
        const more = (by - (high - low)) / 2;
        return [low - more, high + more];
      };
      [view.x0, view.x1] = grow(view.x0, view.x1, unit * width);
      [view.y0, view.y1] = grow(view.y0, view.y1, unit * height);
    }
    this.view = view;
    this.even = even;
  }

  draw(scene) {
    if (!this.measure()) return;
    const { g, ratio } = this,
      colours = scene.colours,
      { left, top, width, height } = this.inner;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.fillStyle = colours.paper;
    g.fillRect(0, 0, this.width, this.height);
    g.save();
    g.beginPath();
    g.rect(left, top, width, height);
    g.clip();
    if (scene.regions) this.drawRegions(scene.regions, colours);
    if (!this.small) this.drawGrid(colours);
    if (scene.proof) drawProof(this, scene.proof, scene.run, colours);
    for (const boundary of scene.boundaries) this.drawBoundary(boundary, colours);
    this.drawPoints(scene.points, colours);
    if (scene.arrow) this.drawArrow(scene.arrow, colours);
    if (scene.visited) this.drawVisited(scene.visited, colours);
    if (scene.proof && !scene.proof.separable) drawWeights(this, scene.proof, scene.run, colours);
    if (scene.cursor) this.drawCursor(scene.cursor, colours);
    g.restore();
    if (!this.small) this.drawAxes(scene.axes, colours);
  }

  drawGrid(colours) {
    const { g, view } = this,
      { left, top, width, height } = this.inner;
    g.strokeStyle = colours.grid;
    g.lineWidth = 1;
    g.beginPath();
    for (const x of ticks(view.x0, view.x1, width / 70)) {
      g.moveTo(this.across(x), top);
      g.lineTo(this.across(x), top + height);
    }
    for (const y of ticks(view.y0, view.y1, height / 60)) {
      g.moveTo(left, this.up(y));
      g.lineTo(left + width, this.up(y));
    }
    g.stroke();
  }

  drawAxes(axes, colours) {
    const { g, view } = this,
      { left, top, width, height } = this.inner;
    g.fillStyle = colours.soft;
    g.font = `${this.font}px system-ui, sans-serif`;
    g.textAlign = "center";
    g.textBaseline = "top";
    for (const x of ticks(view.x0, view.x1, width / 70)) g.fillText(num(x), this.across(x), top + height + 5);
    g.textAlign = "right";
    g.textBaseline = "middle";
    for (const y of ticks(view.y0, view.y1, height / 60)) g.fillText(num(y), left - 5, this.up(y));
    g.fillStyle = colours.ink;
    g.font = `italic ${this.font + 2}px Georgia, serif`;
    g.textBaseline = "bottom";
    g.fillText(axes[0], left + width - 6, top + height - 5);
    g.textAlign = "left";
    g.textBaseline = "top";
    g.fillText(axes[1], left + 6, top + 5);
  }

  drawPoints(points, colours) {
    const { g } = this,
      r = (this.radius = (this.small ? 0.52 : 1) * (points.length > 200 ? 0.38 : 0.54) * this.font);
    g.lineWidth = this.small ? 0.5 : 1.2;
    g.strokeStyle = colours.paper;
    for (const c of [0, 1, 2]) {
      g.beginPath();
      for (const point of points) if (point.c === c) marker(g, c, this.across(point.x), this.up(point.y), r);
      g.fillStyle = colours.classes[c];
      g.fill();
      g.stroke();
    }
  }

  // Scores on a grid of the view, for regions and curved boundaries. most: how many values may be computed.
  // sharp: find where values jump, which an interpolation would miss.
  sample(predict, most, sharp = false) {
    const { width, height } = this.inner,
      cell = Math.max(3, Math.sqrt((width * height) / most));
    const nx = Math.max(8, Math.ceil(width / cell)),
      ny = Math.max(8, Math.ceil(height / cell)),
      scores = [];
    const { x0, x1, y0, y1 } = this.view;
    for (let r = 0; r <= ny; r++)
      for (let c = 0; c <= nx; c++) scores.push(predict([x0 + ((x1 - x0) * c) / nx, y1 - ((y1 - y0) * r) / ny]));
    return {
      nx,
      ny,
      scores,
      predict: sharp ? (x, y) => predict([x0 + ((x1 - x0) * x) / nx, y1 - ((y1 - y0) * y) / ny]) : null,
    };
  }

  drawRegions({ field, line }, colours) {
    const { g } = this,
      { left, top, width, height } = this.inner;
    g.globalAlpha = 1;
    if (line) {
      const { w, b } = line;
      if (!w[0] && !w[1]) return;
      for (const c of [0, 1]) {
        g.beginPath();
        this.halfPlane(w, b, c ? 1 : -1).forEach(([x, y], k) => g[k ? "lineTo" : "moveTo"](this.across(x), this.up(y)));
        g.fillStyle = colours.tints[c];
        g.fill();
      }
      return;
    }
    const cw = width / field.nx,
      ch = height / field.ny;
    for (const c of [0, 1, 2]) {
      g.beginPath();
      for (let r = 0; r < field.ny; r++) {
        for (let k = 0, from = -1; k <= field.nx; k++) {
          const inside = k < field.nx && classAt(field, k, r) === c;
          if (inside && from < 0) from = k;
          if (!inside && from >= 0) {
            g.rect(left + from * cw, top + r * ch, (k - from) * cw + 0.5, ch + 0.5);
            from = -1;
          }
        }
      }
      g.fillStyle = colours.tints[c];
      g.fill();
    }
  }

  // The corners of the part of the view on one side of a line.
  halfPlane(w, b, sign) {
    const { x0, x1, y0, y1 } = this.view,
      corners = [
        [x0, y0],
        [x1, y0],
        [x1, y1],
        [x0, y1],
      ],
      found = [];
    const side = ([x, y]) => sign * (w[0] * x + w[1] * y + b);
    corners.forEach((a, k) => {
      const z = corners[(k + 1) % 4],
        u = side(a),
        v = side(z);
      if (u >= 0) found.push(a);
      if (u >= 0 !== v >= 0) {
        const f = u / (u - v);
        found.push([a[0] + f * (z[0] - a[0]), a[1] + f * (z[1] - a[1])]);
      }
    });
    return found;
  }

  // Where w·x + b = 0 enters and leaves the view; null if it lies outside.
  segment(w, b) {
    const { x0, x1, y0, y1 } = this.view,
      ends = [];
    const keep = (x, y) => {
      if (x >= x0 - 1e-12 && x <= x1 + 1e-12 && y >= y0 - 1e-12 && y <= y1 + 1e-12) ends.push([x, y]);
    };
    if (w[1]) for (const x of [x0, x1]) keep(x, -(b + w[0] * x) / w[1]);
    if (w[0]) for (const y of [y0, y1]) keep(-(b + w[1] * y) / w[0], y);
    if (ends.length < 2) return null;
    const far = ends.reduce((best, one) =>
      Math.hypot(one[0] - ends[0][0], one[1] - ends[0][1]) > Math.hypot(best[0] - ends[0][0], best[1] - ends[0][1])
        ? one
        : best,
    );
    return [ends[0], far];
  }

  drawBoundary({ line, field, level = 0, colour, dash, width, alpha = 1 }, colours) {
    const { g } = this;
    g.beginPath();
    if (line) {
      const ends = this.segment(line.w, line.b);
      if (!ends) return;
      g.moveTo(this.across(ends[0][0]), this.up(ends[0][1]));
      g.lineTo(this.across(ends[1][0]), this.up(ends[1][1]));
    } else contour(g, field, level, this.inner);
    g.setLineDash(dash);
    g.globalAlpha = alpha;
    if (!this.small && alpha === 1) {
      // a pale edge keeps lines apart from points and regions
      g.strokeStyle = colours.paper;
      g.lineWidth = width + 2.5;
      if (!dash.length) g.stroke();
    }
    g.strokeStyle = colour;
    g.lineWidth = width;
    g.stroke();
    g.setLineDash([]);
    g.globalAlpha = 1;
  }

  // Where the arrow w starts (on the line, next to the middle of the view) and ends, in pixels.
  arrowOf({ w, b }) {
    const size = w[0] ** 2 + w[1] ** 2;
    if (!size) return null;
    const { x0, x1, y0, y1 } = this.view,
      ends = this.segment(w, b);
    const middle = ends ? [(ends[0][0] + ends[1][0]) / 2, (ends[0][1] + ends[1][1]) / 2] : null;
    if (!middle) return null;
    const from = [this.across(middle[0]), this.up(middle[1])];
    const { width, height } = this.inner,
      dx = (w[0] * width) / (x1 - x0),
      dy = (-w[1] * height) / (y1 - y0),
      long = Math.hypot(dx, dy);
    const length = Math.min(Math.max(long, 36), 0.3 * Math.min(width, height));
    return { from, to: [from[0] + (dx / long) * length, from[1] + (dy / long) * length] };
  }

  drawArrow(line, colours) {
    const arrow = this.arrowOf(line),
      { g } = this;
    if (!arrow) return;
    const [[x, y], [u, v]] = [arrow.from, arrow.to],
      angle = Math.atan2(v - y, u - x),
      head = this.small ? 5 : 11;
    for (const [colour, wide] of [
      [colours.paper, 6],
      [colours.ink, 3],
    ]) {
      g.strokeStyle = g.fillStyle = colour;
      g.lineWidth = wide;
      g.beginPath();
      g.moveTo(x, y);
      g.lineTo(u - 0.7 * head * Math.cos(angle), v - 0.7 * head * Math.sin(angle));
      g.stroke();
      g.beginPath();
      g.moveTo(u, v);
      for (const turn of [2.7, -2.7]) g.lineTo(u + head * Math.cos(angle + turn), v + head * Math.sin(angle + turn));
      g.closePath();
      g.fill();
    }
    g.font = `italic bold ${Math.round(1.4 * this.font)}px Georgia, serif`;
    g.textAlign = "center";
    g.textBaseline = "middle";
    g.lineWidth = 4;
    g.strokeStyle = colours.paper;
    const lx = u + 15 * Math.cos(angle),
      ly = v + 15 * Math.sin(angle);
    g.strokeText("w", lx, ly);
    g.fillText("w", lx, ly);
  }

  // The example of this visit: a ring, and a cross as well if it was a mistake.
  drawVisited({ point, mistake, update }, colours) {
    const { g } = this,
      x = this.across(point.x),
      y = this.up(point.y),
      r = 2 * this.radius;
    for (const [colour, wide] of [
      [colours.paper, 5.5],
      [mistake ? colours.wrong : colours.ink, 2.5],
    ]) {
      g.strokeStyle = colour;
      g.lineWidth = wide;
      g.setLineDash(update && !mistake ? [4, 3] : []);
      g.beginPath();
      g.arc(x, y, r, 0, 2 * Math.PI);
      if (mistake)
        for (const [a, b] of [
          [1, 1],
          [1, -1],
        ]) {
          g.moveTo(x + a * (r - 2), y + b * (r - 2));
          g.lineTo(x + a * (r + 5), y + b * (r + 5));
          g.moveTo(x - a * (r - 2), y - b * (r - 2));
          g.lineTo(x - a * (r + 5), y - b * (r + 5));
        }
      g.stroke();
    }
    g.setLineDash([]);
  }

  drawCursor([wx, wy], colours) {
    const { g } = this,
      x = this.across(wx),
      y = this.up(wy);
    g.strokeStyle = colours.ink;
    g.lineWidth = 2;
    g.beginPath();
    for (const [a, b] of [
      [1, 0],
      [-1, 0],
      [0, 1],
      [0, -1],
    ]) {
      g.moveTo(x + 5 * a, y + 5 * b);
      g.lineTo(x + 16 * a, y + 16 * b);
    }
    g.stroke();
  }
}
