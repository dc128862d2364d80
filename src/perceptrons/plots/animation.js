"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const at = id => document.getElementById(id);
const slider = at("slider"), play = at("play"), ring = at("ring");
const regions = data.classes.map((_, k) => at("region" + k));
let now = 0, timer = null;
function show(i) {
  now = Math.max(0, Math.min(data.frames.length - 1, i));
  const frame = data.frames[now];
  regions.forEach((region, k) => region.setAttribute("points", frame.r[k]));
  if (frame.e) {
    ring.setAttribute("cx", frame.e[0]);
    ring.setAttribute("cy", frame.e[1]);
  }
  ring.setAttribute("visibility", frame.e ? "visible" : "hidden");
  at("text").textContent = frame.t;
  slider.value = now;
  slider.setAttribute("aria-valuetext", frame.t);
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
