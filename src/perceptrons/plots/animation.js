"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const at = id => document.getElementById(id);
const slider = at("slider"), play = at("play"), ring = at("ring");
const regions = data.classes.map((_, k) => at("region" + k));
const dots = [...at("dots").children], arrow = at("arrow");
const set = (element, values) => { for (const name in values) element.setAttribute(name, values[name]); };
function label([x, y, side, text]) {
  const element = document.createElementNS(ring.namespaceURI, "text");
  set(element, side === "x" ? {x, y: y + 18, "text-anchor": "middle"} : {x: x - 6, y: y + 5, "text-anchor": "end"});
  element.textContent = text;
  return element;
}
let ticks = [];
for (const frame of data.frames) ticks = frame.k = frame.k === undefined ? ticks : frame.k;
let now = 0, timer = null;
function view([left, right, low, high]) {
  const [x0, x1, y0, y1] = data.area, across = (x1 - x0) / (right - left), up = (y1 - y0) / (high - low);
  data.points.forEach(([x, y], i) => set(dots[i], {x: x0 + (x - left) * across, y: y0 + (y - low) * up}));
}
function show(i) {
  now = Math.max(0, Math.min(data.frames.length - 1, i));
  const frame = data.frames[now];
  view(frame.v);
  at("ticks").replaceChildren(...frame.k.map(label));
  regions.forEach((region, k) => set(region, {d: frame.r[k]}));
  if (frame.e) set(ring, {cx: frame.e[0], cy: frame.e[1], "stroke-dasharray": frame.l ? "none" : "3 4"});
  if (frame.a) set(arrow, {x1: frame.a[0], y1: frame.a[1], x2: frame.a[2], y2: frame.a[3]});
  set(ring, {visibility: frame.e ? "visible" : "hidden"});
  set(arrow, {visibility: frame.a ? "visible" : "hidden"});
  at("text").textContent = frame.t;
  at("numbers").textContent = frame.n;
  slider.value = now;
  slider.setAttribute("aria-valuetext", frame.t + " " + frame.n);
}
function stop() {
  clearInterval(timer);
  timer = null;
  play.textContent = "\u25B6 Play";
}
function start() {
  if (now === data.frames.length - 1) show(0);
  play.textContent = "\u23F8 Pause";
  timer = setInterval(() => {
    show(now + 1);
    if (now === data.frames.length - 1) stop();
  }, data.wait);
}
const toggle = () => timer === null ? start() : stop();
const go = i => { stop(); show(i); };
play.addEventListener("click", toggle);
at("back").addEventListener("click", () => go(now - 1));
at("next").addEventListener("click", () => go(now + 1));
slider.addEventListener("input", () => go(Number(slider.value)));
document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const moves = {ArrowLeft: now - 1, ArrowDown: now - 1, ArrowRight: now + 1, ArrowUp: now + 1,
    Home: 0, End: data.frames.length - 1};
  if (event.key in moves) go(moves[event.key]);
  else if (event.key === " " && event.target.tagName !== "BUTTON") toggle();
  else return;
  event.preventDefault();
});
show(0);
