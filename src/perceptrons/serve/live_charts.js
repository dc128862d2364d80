// The two charts, drawn as SVG of the size that there is, so that letters keep theirs.
const LEFT = 46, RIGHT = 10, TOP = 10, FLOOR = 24;
const READ = "Point at the curve, or use the arrow keys on it, to read values.";

function steps(most, wanted) { // round numbers from 0 on
  const rough = most / wanted, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map(k => k * power).find(size => size >= rough * 0.999);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, k) => k * step);
}

const path = points => points.map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

function frame(svg, height, yTicks, yText, y) {
  const width = svg.clientWidth || 300;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.style.height = `${height}px`;
  const lines = yTicks.flatMap(tick => [
    draw("line", { class: "grid-line", x1: LEFT, x2: width - RIGHT, y1: y(tick), y2: y(tick) }),
    draw("text", { x: LEFT - 6, y: y(tick) + 4, "text-anchor": "end" }, yText(tick)),
  ]);
  lines.push(draw("line", { class: "axis", x1: LEFT, x2: width - RIGHT, y1: height - FLOOR, y2: height - FLOOR }));
  return lines;
}

function across(ticks, x, text, height, width) {
  return ticks.map(tick => {
    const place = x(tick), anchor = place > width - 30 ? "end" : place < LEFT + 15 ? "start" : "middle";
    return draw("text", { x: place, y: height - 6, "text-anchor": anchor }, text(tick));
  });
}

function legend(id, entries) {
  if (!changed(id, entries)) return;
  put(id, ...entries.map(([kind, words]) => make("li", {}, draw("svg", { viewBox: "0 0 28 10",
    "aria-hidden": "true" }, draw("path", { class: kind, d: "M1 5H27" })), words)));
}

// History as points: where each begins and ends in examples learned, its error, and the mean error around it.
function pointsOf(history) {
  let end = history.length ? history[0].version : 0;
  const points = history.map(({ version, error, n }) => ({ version, error, n, from: end, to: (end += n) }));
  const around = Math.max(1, Math.ceil(points.length / 40)); // points before and after
  points.forEach((point, k) => {
    const some = points.slice(Math.max(0, k - around), k + around + 1);
    const n = some.reduce((sum, one) => sum + one.n, 0);
    point.mean = some.reduce((sum, one) => sum + one.n * one.error, 0) / n;
    point.over = n;
  });
  return points;
}

class ErrorChart {
  constructor() {
    this.svg = by("error-chart");
    this.points = [];
    this.at = null; // the number of the point that is read
    new ResizeObserver(() => this.paint()).observe(this.svg);
    this.svg.addEventListener("pointermove", event => this.read(this.nearest(event)));
    this.svg.addEventListener("pointerleave", () => this.read(null));
    this.svg.addEventListener("blur", () => this.read(null));
    this.svg.addEventListener("keydown", event => this.key(event));
  }

  show(history) {
    if (!changed("error-chart", history)) return;
    this.points = pointsOf(history);
    this.paint();
  }

  paint() {
    const { points, svg } = this, height = svg.clientWidth < 500 ? 210 : 280, width = svg.clientWidth || 300;
    if (!points.length) {
      const words = draw("text", { x: width / 2, y: 60, "text-anchor": "middle" }, "Nothing has been learned yet.");
      svg.setAttribute("viewBox", `0 0 ${width} 110`);
      svg.style.height = "110px";
      svg.replaceChildren(words);
      return;
    }
    const first = Math.min(Math.ceil(points.length / 20), points.length - 1); // at the beginning all are wrong
    const settled = points.slice(first);
    const most = Math.min(1, Math.max(0.02, 1.15 * Math.max(...settled.map(point => point.mean))));
    const begin = points[0].from, end = points.at(-1).to, inside = width - LEFT - RIGHT;
    this.x = place => LEFT + inside * (place - begin) / Math.max(1, end - begin);
    this.y = error => height - FLOOR - (height - FLOOR - TOP) * Math.min(error, most * 1.02) / most;
    const ticks = steps(end - begin, width < 500 ? 3 : 6).map(step => begin + step);
    const curve = name => path(points.map(point => [this.x((point.from + point.to) / 2), this.y(point[name])]));
    const digits = most < 0.1 ? 1 : 0;
    svg.replaceChildren(
      ...frame(svg, height, steps(most, 5), tick => `${(100 * tick).toFixed(digits)} %`, this.y),
      ...across(ticks, this.x, whole, height, width),
      draw("path", { class: "raw", d: curve("error") }), draw("path", { class: "main", d: curve("mean") }),
    );
    this.mark = draw("g");
    svg.append(this.mark);
    const last = points.at(-1);
    svg.setAttribute("aria-label", `Progressive error over ${counted(end - begin, "example")}: now `
      + `${percent(last.mean)}, highest ${percent(Math.max(...points.map(point => point.mean)))}.`);
    const one = points[Math.floor(points.length / 2)];
    legend("error-legend", [["main", `mean of about ${counted(one.over, "example")}`],
      ["raw", `of ${counted(points[0].n, "example")} each`]]);
    this.read(this.at);
  }

  nearest(event) {
    if (!this.points.length) return null;
    const box = this.svg.getBoundingClientRect(), begin = this.points[0].from, end = this.points.at(-1).to;
    const share = (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
    const place = begin + share * (end - begin), found = this.points.findIndex(point => place < point.to);
    return found < 0 ? this.points.length - 1 : found;
  }

  key(event) {
    const last = this.points.length - 1, move = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 }[event.key];
    if (last < 0 || move === undefined) return;
    event.preventDefault();
    this.read(Math.max(0, Math.min(last, (this.at ?? last + (move < 0 ? 1 : 0)) + move)));
  }

  read(k) {
    this.at = k;
    const point = k === null ? undefined : this.points[k];
    if (!this.mark) return;
    if (!point) {
      this.mark.replaceChildren();
      write("error-readout", READ);
      return;
    }
    const x = this.x((point.from + point.to) / 2), floor = Number(this.svg.viewBox.baseVal.height) - FLOOR;
    this.mark.replaceChildren(draw("line", { class: "here", x1: x, x2: x, y1: TOP, y2: floor }),
      draw("circle", { class: "here-dot", cx: x, cy: this.y(point.mean), r: 5 }));
    write("error-readout", `Examples ${whole(point.version + 1)} to ${whole(point.version + point.n)}: `
      + `${percent(point.error)} wrong; mean around them ${percent(point.mean)}.`);
  }
}

class RateChart {
  constructor() {
    this.svg = by("rate-chart");
    this.series = [];
    new ResizeObserver(() => this.paint()).observe(this.svg);
  }

  show(series) {
    this.series = series;
    this.paint();
  }

  paint() {
    const { series, svg } = this, height = 150, width = svg.clientWidth || 300;
    if (!series.length) return;
    const most = Math.max(1, ...series.flatMap(one => [one.learned, one.predicted])) * 1.05;
    const x = t => LEFT + (width - LEFT - RIGHT) * (t + series.length) / Math.max(1, series.length - 1);
    const y = n => height - FLOOR - (height - FLOOR - TOP) * n / most;
    const brief = n => (n >= 1e6 ? `${n / 1e6} M` : n >= 1e4 ? `${n / 1e3} k` : whole(n));
    const ticks = steps(most, 3).filter(tick => Number.isInteger(tick));
    const curve = name => path(series.map(one => [x(one.t), y(one[name])]));
    const words = t => (t === -1 ? "now" : `${-t} s ago`);
    svg.replaceChildren(...frame(svg, height, ticks, brief, y),
      ...across([-series.length, -Math.round(series.length / 2), -1], x, words, height, width),
      draw("path", { class: "main", d: curve("learned") }), draw("path", { class: "second", d: curve("predicted") }));
    const total = name => whole(series.reduce((sum, one) => sum + one[name], 0));
    svg.setAttribute("aria-label", `In the last ${series.length} seconds ${total("learned")} examples were learned and `
      + `${total("predicted")} were predicted.`);
    legend("rate-legend", [["main", "examples learned per second"], ["second", "examples predicted per second"]]);
  }
}
