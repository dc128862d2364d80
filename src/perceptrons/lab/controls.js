// What people do: mouse, touch, keyboard, fields, files and links.
"use strict";

const BUILT_IN = JSON.parse(byId("data").textContent);

function say(text) {
  byId("message").textContent = text;
}

// ---- the plane: one pointer, mouse or finger

function nearestPoint(app, px, py, within) {
  let best = -1,
    least = within;
  app.state.points.forEach((point, i) => {
    const distance = Math.hypot(app.plane.across(point.x) - px, app.plane.up(point.y) - py);
    if (distance < least) [best, least] = [i, distance];
  });
  return best;
}

// Coordinates with few digits, as fine as the screen shows them.
function placed(app, px, py) {
  const { view } = app.plane,
    [x, y] = app.plane.world(px, py);
  const fine = (span) => 10 ** Math.floor(Math.log10(span / 100));
  const keep = (value, step) =>
    Number(Math.max(-LARGEST, Math.min(LARGEST, Math.round(value / step) * step)).toPrecision(10));
  return { x: keep(x, fine(view.x1 - view.x0)), y: keep(y, fine(view.y1 - view.y0)) };
}

function addPoint(app, where, c) {
  if (app.state.points.length >= MOST_POINTS) return say(`The page takes at most ${MOST_POINTS} points.`);
  app.state.points.push({ ...where, c });
  byId("preset").value = "";
  app.changed();
}

function removePoint(app, i) {
  app.state.points.splice(i, 1);
  byId("preset").value = "";
  app.changed();
}

// Set the line itself: its weights become the start.
function setLine(app, w, b) {
  const tidy = (value) => Number(value.toPrecision(4));
  Object.assign(app.state.settings, {
    start: "own",
    w1: tidy(w[0]),
    w2: tidy(w[1]),
    b: app.state.settings.bias ? tidy(b) : 0,
  });
  app.changeSoon(0);
}

// The line that is shown: the start, or what it has become.
function shownLine(app) {
  const { w, b } = lastOf(app.run.state(app.t).m);
  return { w: w[0], b: b[0] };
}

function lineDrag(app, px, py) {
  const line = shownLine(app),
    arrow = app.plane.arrowOf(line),
    from = app.plane.world(px, py);
  if (!arrow) {
    // no line yet: draw one from here to there; + is on the left of the way
    return ([x, y]) => {
      const w = [from[1] - y, x - from[0]],
        size = Math.hypot(...w);
      if (size) setLine(app, [w[0] / size, w[1] / size], -(w[0] * from[0] + w[1] * from[1]) / size);
    };
  }
  if (Math.hypot(arrow.to[0] - px, arrow.to[1] - py) < 24) {
    // the tip of w: turn the line about the foot of the arrow
    const foot = app.plane.world(...arrow.from),
      size = Math.hypot(...line.w);
    return ([x, y]) => {
      const d = [x - foot[0], y - foot[1]],
        long = Math.hypot(...d);
      if (long) {
        const w = d.map((v) => (v / long) * size);
        setLine(app, w, -(w[0] * foot[0] + w[1] * foot[1]));
      }
    };
  }
  return ([x, y]) => setLine(app, line.w, line.b - line.w[0] * (x - from[0]) - line.w[1] * (y - from[1]));
}

function watchPlane(app) {
  const canvas = byId("plane");
  let drag = null,
    moved = false;
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    const [px, py] = at(event),
      reach = event.pointerType === "touch" ? 26 : 14,
      i = nearestPoint(app, px, py, reach);
    app.cursor = null;
    canvas.setPointerCapture(event.pointerId);
    moved = false;
    if (app.tool === "line") drag = lineDrag(app, px, py);
    else if (app.tool === "erase") drag = i < 0 ? null : () => {};
    else if (i >= 0)
      drag = (_, x, y) => {
        Object.assign(app.state.points[i], placed(app, x, y));
        app.changeSoon();
      };
    else drag = null;
    canvas.dataset.from = JSON.stringify([px, py, i]);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!canvas.dataset.from) return;
    const [px, py] = at(event),
      [fx, fy] = JSON.parse(canvas.dataset.from);
    if (!moved && Math.hypot(px - fx, py - fy) < 4) return;
    moved = true;
    if (drag) drag(app.plane.world(px, py), px, py);
  });
  const end = (event, cancelled) => {
    if (!canvas.dataset.from) return;
    const [px, py, i] = JSON.parse(canvas.dataset.from);
    delete canvas.dataset.from;
    drag = null;
    if (cancelled || moved) return;
    if (app.tool === "erase" && i >= 0) removePoint(app, i);
    else if (/^[012]$/.test(app.tool) && i < 0) addPoint(app, placed(app, px, py), Number(app.tool));
  };
  canvas.addEventListener("pointerup", (event) => end(event, false));
  canvas.addEventListener("pointercancel", (event) => end(event, true));
  canvas.addEventListener("blur", () => {
    app.cursor = null;
    app.requestDraw();
  });
  canvas.addEventListener("keydown", (event) => planeKey(app, event));
}

// ---- keys

function planeKey(app, event) {
  const { view } = app.plane,
    moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  if (!app.cursor) {
    if (event.key !== "Enter") return;
    app.cursor = [(view.x0 + view.x1) / 2, (view.y0 + view.y1) / 2];
  } else if (moves[event.key]) {
    const fine = event.shiftKey ? 200 : 25,
      [dx, dy] = moves[event.key];
    const inside = (value, low, high) => Math.max(low, Math.min(high, value));
    app.cursor = [
      inside(app.cursor[0] + (dx * (view.x1 - view.x0)) / fine, view.x0, view.x1),
      inside(app.cursor[1] + (dy * (view.y1 - view.y0)) / fine, view.y0, view.y1),
    ];
  } else if (event.key === "Enter") {
    addPoint(
      app,
      placed(app, app.plane.across(app.cursor[0]), app.plane.up(app.cursor[1])),
      /^[012]$/.test(app.tool) ? Number(app.tool) : 0,
    );
  } else if (event.key === "Delete" || event.key === "Backspace") {
    const i = nearestPoint(app, app.plane.across(app.cursor[0]), app.plane.up(app.cursor[1]), Infinity);
    if (i >= 0) removePoint(app, i);
  } else if (event.key === "Escape") app.cursor = null;
  else return;
  event.preventDefault();
  event.stopPropagation();
  app.requestDraw();
}

function nextMistake(app) {
  const { run, t } = app,
    next = run.updates[run.updatesUntil(t)];
  return next ? next.t : run.length;
}

const nextEpoch = ({ run, t }) => (Math.floor(t / run.n) + 1) * run.n;

function watchKeys(app) {
  const keys = {
    ArrowRight: () => go(app, app.t + 1),
    ArrowLeft: () => go(app, app.t - 1),
    ArrowUp: () => go(app, nextEpoch(app)),
    m: () => go(app, nextMistake(app)),
    Home: () => go(app, 0),
    End: () => go(app, app.run.length),
    " ": () => toggle(app),
    1: () => app.choose("0"),
    2: () => app.choose("1"),
    3: () => byId("third").hidden || app.choose("2"),
    e: () => app.choose("erase"),
    l: () => byId("lineTool").hidden || app.choose("line"),
    f: () => {
      app.fitView();
      app.render();
    },
  };
  document.addEventListener("keydown", (event) => {
    const inField = event.target.closest("input, select, textarea, summary"),
      key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const button = event.target.closest("button") && key === " ";
    if (inField || button || event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, key)) return;
    event.preventDefault();
    keys[key]();
  });
}

function go(app, t) {
  app.pause();
  app.goTo(t);
}

function toggle(app) {
  if (app.running) {
    app.pause();
    app.render();
  } else app.play();
}

// ---- fields, files and links

function readField(app, name) {
  const field = byId(name),
    text = field.type === "checkbox" ? String(field.checked) : field.value,
    value = SETTINGS[name].read(text);
  if (field.setCustomValidity) field.setCustomValidity(value === undefined ? "This value is not possible here." : "");
  if (value === undefined) return;
  app.state.settings[name] = value;
  if (name === "classes" && value === 2) app.state.points = app.state.points.filter((point) => point.c < 2);
  app.changed();
}

function takeState(app, make, done = "") {
  try {
    app.take(make());
    say(done);
  } catch (error) {
    say(error.message);
  }
}

async function copyLink(app) {
  const address = `${location.href.split("#")[0]}#${toFragment(app.state)}`;
  try {
    await navigator.clipboard.writeText(address);
    say("The link is in the clipboard. It holds all points and settings.");
  } catch {
    location.hash = toFragment(app.state);
    say("The link is in the address bar. It holds all points and settings.");
  }
}

function saveCSV(app) {
  const address = URL.createObjectURL(new Blob([toCSV(app.state)], { type: "text/csv" }));
  const anchor = element("a", "", { href: address, download: "points.csv" });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

function watchFields(app) {
  const preset = byId("preset");
  preset.append(element("option", "Your own points", { value: "", hidden: "" }));
  if (BUILT_IN.own) preset.append(element("option", cleanName(BUILT_IN.own.title) || "Your data", { value: "own" }));
  for (const [name, { title }] of Object.entries(PRESETS)) preset.append(element("option", title, { value: name }));
  preset.addEventListener("change", () =>
    takeState(app, preset.value === "own" ? ownState : PRESETS[preset.value].make),
  );
  for (const name of Object.keys(SETTINGS)) byId(name).addEventListener("change", () => readField(app, name));
  for (const name of Object.keys(SETTINGS))
    if (byId(name).type === "number") byId(name).addEventListener("input", () => readField(app, name));
  for (const kind of KINDS) byId(`show-${kind}`).addEventListener("change", () => app.render());
  byId("showProof").addEventListener("change", () => app.render());
  for (const radio of document.getElementsByName("tool"))
    radio.addEventListener("change", () => app.choose(radio.value));
  // After a click the arrow keys belong to time again; with the keyboard they stay with the tools or ticks.
  for (const input of document.querySelectorAll('[type="radio"], [type="checkbox"]'))
    input.addEventListener("click", (event) => event.detail > 0 && input.blur());
  byId("random").addEventListener("click", () =>
    takeState(app, () => {
      const read = (id, low, high, whole) => {
        const value = number(0, low, high, whole).read(byId(id).value);
        if (value === undefined) throw new Error("A value for the random data is not possible.");
        return value;
      };
      const { classes } = app.state.settings,
        n = read("randomN", 2, MOST_POINTS, true),
        seed = read("randomSeed", 0, 1e6, true);
      const points = randomPoints({
        n,
        margin: read("randomMargin", 0, 2),
        noise: read("randomNoise", 0, 0.5),
        seed,
        classes,
      });
      byId("randomSeed").value = seed + 1;
      preset.value = "";
      return newState(points, app.state.settings);
    }),
  );
  byId("load").addEventListener("change", async (event) => {
    const [file] = event.target.files;
    if (!file) return;
    const text = file.size > 5e6 ? "" : await file.text();
    takeState(
      app,
      () => {
        if (!text) throw new Error("The file is empty, or larger than 5 MB.");
        preset.value = "";
        return fromCSV(text);
      },
      "The file is open. It stays on this computer.",
    );
    event.target.value = "";
  });
  byId("save").addEventListener("click", () => saveCSV(app));
  byId("link").addEventListener("click", () => copyLink(app));
  byId("link").hidden = location.protocol === "about:";
  byId("clear").addEventListener("click", () => {
    app.state.points = [];
    preset.value = "";
    app.state.note = "";
    app.changed(0);
  });
}

function watchTime(app) {
  const actions = {
    first: () => go(app, 0),
    back: () => go(app, app.t - 1),
    run: () => toggle(app),
    visit: () => go(app, app.t + 1),
    mistake: () => go(app, nextMistake(app)),
    epoch: () => go(app, nextEpoch(app)),
    last: () => go(app, app.run.length),
    fit: () => {
      app.fitView();
      app.render();
    },
  };
  for (const [id, act] of Object.entries(actions)) byId(id).addEventListener("click", act);
  byId("time").addEventListener("input", () => go(app, Number(byId("time").value)));
  byId("speed").addEventListener("input", () => app.render());
}

// ---- where the page begins

// The data that Python put into the page.
function ownState() {
  const { points, settings, names, axes, note } = BUILT_IN.own;
  return newState(
    points.map(([x, y, c]) => ({ x, y, c })),
    settings,
    NAMES.map((name, k) => cleanName(names[k] ?? "") || name),
    axes.map(cleanName),
    note,
  );
}

function firstState() {
  try {
    const linked = fromFragment(location.hash);
    if (linked) return linked;
  } catch (error) {
    say(error.message);
  }
  return BUILT_IN.own ? ownState() : PRESETS.lecture.make();
}

// Styles are read when the page is drawn, and canvases again when their size or the colours change.
function begin() {
  const app = new App(firstState());
  watchPlane(app);
  watchKeys(app);
  watchFields(app);
  watchTime(app);
  byId("preset").value = location.hash.length > 1 ? "" : BUILT_IN.own ? "own" : "lecture";
  if (innerWidth < 760)
    for (const part of document.querySelectorAll("#settings > details:not(:first-child)")) part.open = false;
  const again = () => {
    app.restyle();
    app.fitView();
    app.render();
  };
  new ResizeObserver(again).observe(byId("plane"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  addEventListener("hashchange", () => {
    try {
      const linked = fromFragment(location.hash);
      if (linked) {
        app.take(linked);
        byId("preset").value = "";
        say("");
      }
    } catch (error) {
      say(error.message);
    }
  });
  window.lab = app; // for those who look inside
}

begin();
