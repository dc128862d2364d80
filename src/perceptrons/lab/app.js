// The page itself: what is shown now, and drawing all of it. What people do is in controls.js.
"use strict";

class App {
  constructor(state) {
    this.plane = new Plane(byId("plane"));
    this.small = Object.fromEntries(KINDS.map((kind) => [kind, new Plane(byId(`small-${kind}`), true)]));
    this.tool = "0";
    this.t = 0;
    this.running = false;
    this.cursor = null;
    this.proofJob = 0;
    this.restyle();
    this.take(state);
  }

  // Colours and the size of letters, as the style sheet has them now.
  restyle() {
    this.colours = palette();
  }

  // Show another state: points, settings and names.
  take(state, keepView = false) {
    this.state = state;
    this.pause();
    this.learnAgain(0);
    if (!keepView) this.fitView();
    this.writeSettings();
    this.render();
  }

  fitView() {
    this.plane.measure();
    const { settings } = this.state,
      own = settings.start === "own" ? [{ w: [settings.w1, settings.w2], b: settings.b }] : [];
    this.plane.fit(this.state.points, own);
  }

  // Points or settings have changed: a new run, seen after t visits, and a new proof.
  learnAgain(t) {
    this.run = new Run(this.state.points, this.state.settings);
    this.t = Math.min(t, this.run.length);
    this.fields = new Map();
    this.proof = null;
    this.proveSoon();
  }

  // Stay at the same visit, or at the end if that is where we were: so the final line follows a point that is dragged.
  changed(t = this.t && this.t === this.run.length ? Infinity : this.t) {
    this.state.settings = consistent(this.state.settings);
    this.pause();
    this.learnAgain(t);
    this.writeSettings();
    this.render();
  }

  // The same, once before the next frame, however often it is asked for.
  changeSoon(t) {
    if (this.changing) return;
    this.changing = true;
    requestAnimationFrame(() => {
      this.changing = false;
      this.changed(t);
    });
  }

  // The proof is found in slices of a few milliseconds, a moment after the last change.
  proveSoon() {
    clearTimeout(this.proofJob);
    const run = this.run,
      steps = prove(run.examples, run.settings),
      began = performance.now();
    const work = () => {
      const until = performance.now() + 6;
      let step;
      do step = steps.next();
      while (!step.done && performance.now() < until);
      if (!step.done && performance.now() - began < 5000) {
        this.proofJob = setTimeout(work, 0);
        return;
      }
      this.proof = step.done ? step.value : { why: "No proof was found within 5 seconds." };
      this.requestDraw();
    };
    this.proofJob = setTimeout(work, 60);
  }

  requestDraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.render();
    });
  }

  goTo(t) {
    this.t = Math.max(0, Math.min(t, this.run.length));
    this.requestDraw();
  }

  pause() {
    this.running = false;
    byId("run").textContent = "▶ Run";
    byId("arithmetic").setAttribute("aria-live", "polite");
  }

  play() {
    if (!this.run.length) return;
    if (this.t >= this.run.length) this.t = 0;
    this.running = true;
    byId("run").textContent = "❚❚ Pause";
    byId("arithmetic").setAttribute("aria-live", "off"); // else a screen reader would speak all the time
    let before = performance.now(),
      due = 0;
    const frame = (now) => {
      if (!this.running) return;
      due += (Math.min(100, now - before) / 1000) * this.speed();
      before = now;
      const visits = Math.floor(due);
      due -= visits;
      if (visits) {
        this.t = Math.min(this.t + visits, this.run.length);
        if (this.t >= this.run.length) this.pause();
        this.render();
      }
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  speed() {
    return Math.round(2 ** Number(byId("speed").value));
  }

  render() {
    const { run, t } = this,
      record = t > 0 ? run.record(t) : null,
      now = record ? record.after : run.state(0);
    this.drawPlane(record, now);
    this.writeSlide(record, now);
    this.writeProof(now);
    byId("time").max = run.length;
    byId("time").value = t;
    byId("timeOut").textContent = `${t.toLocaleString("en")} of ${run.length.toLocaleString("en")}`;
    byId("speedOut").textContent = `${this.speed().toLocaleString("en")} visits/s`;
    for (const id of ["first", "back"]) byId(id).disabled = t === 0;
    for (const id of ["visit", "mistake", "epoch", "last"]) byId(id).disabled = t >= run.length;
    byId("run").disabled = !run.length;
    const clock = performance.now();
    if (!this.running) {
      for (const kind of KINDS) this.drawSmall(kind, now);
      drawCharts(run, t, this.proof, this.colours);
    } else if (clock - (this.drawnSmall || 0) > 60) {
      // while running, one of the small pictures at a time
      this.drawnSmall = clock;
      this.turn = ((this.turn || 0) + 1) % 5;
      if (this.turn < 4) this.drawSmall(KINDS[this.turn], now);
      else drawCharts(run, t, this.proof, this.colours);
    }
  }

  // A boundary: a straight line where it is one, else a sampled field.
  boundary(plane, kind, state, budget) {
    const { run, t } = this,
      { settings } = run,
      straight = settings.classes === 2 && settings.features === "none";
    if (straight && kind !== "vote") {
      const weights =
        kind === "pocket" ? state.pocket.weights : kind === "average" ? averageOf(state.m) : lastOf(state.m);
      return { line: { w: weights.w[0], b: weights.b[0] } };
    }
    const predict = run.predictor(kind, t, state);
    if (!predict) return null;
    let costs = 1; // of one value
    if (kind === "vote") costs = run.updatesUntil(t) + 1;
    else if (state.m.alpha) costs = state.m.alpha[0].reduce((n, a) => n + (a !== 0), 1);
    return {
      field: plane.sample(
        predict,
        Math.max(300, Math.min(this.running ? 4000 : 20000, budget / costs)),
        kind === "vote" && !this.running,
      ),
    };
  }

  drawPlane(record, now) {
    const { run, plane, colours, state } = this,
      { settings } = state,
      budget = this.running ? 6e4 : 1.5e6;
    plane.measure();
    for (const one of [plane, ...Object.values(this.small)]) one.font = colours.letters;
    const last = this.boundary(plane, "last", now, budget),
      boundaries = [];
    const straight = last && last.line;
    if (record && record.seen.changed && straight && byId("show-last").checked) {
      const before = this.boundary(plane, "last", record.before, budget);
      boundaries.push({ ...before, colour: colours.ink, dash: [6, 6], width: 2, alpha: 0.45 });
    }
    for (const kind of KINDS) {
      if (!byId(`show-${kind}`).checked) continue;
      const shown = kind === "last" ? last : this.boundary(plane, kind, now, budget);
      if (shown)
        boundaries.push({
          ...shown,
          colour: colours.kinds[kind],
          dash: DASHES[kind],
          width: kind === "last" ? 3 : 2.5,
        });
    }
    let proof = null;
    if (this.proof && !this.proof.why && byId("showProof").checked) {
      proof = this.proof;
      if (proof.separable && !proof.street && proof.fieldOf !== JSON.stringify([plane.view, plane.width])) {
        proof.fieldOf = JSON.stringify([plane.view, plane.width]);
        proof.field = plane.sample(proof.scores, 6000);
      }
    }
    const arrow = straight && byId("show-last").checked ? last.line : null;
    plane.draw({
      colours,
      run,
      points: state.points,
      axes: state.axes,
      regions: last,
      boundaries,
      arrow,
      proof,
      cursor: this.cursor,
      visited: record && {
        point: state.points[record.i],
        mistake: record.seen.mistake && record.seen.update,
        update: record.seen.update,
      },
    });
    this.writeLegend(straight ? last.line : null, record);
    const words = record
      ? `example ${record.i + 1} was ${record.seen.mistake ? "a mistake" : "right"}`
      : "at the start";
    byId("plane").setAttribute(
      "aria-label",
      `Plane with ${many(state.points.length, "point")} after ${many(this.t, "visit")}: ${words}.`,
    );
  }

  writeLegend(line, record) {
    const parts = [];
    for (const kind of KINDS) {
      if (!byId(`show-${kind}`).checked || (kind === "pocket" && isKernel(this.state.settings))) continue;
      const svg = drawing("0 0 40 8", "line", {
        x1: 0,
        x2: 40,
        y1: 4,
        y2: 4,
        "stroke-width": 3,
        stroke: this.colours.kinds[kind],
        "stroke-dasharray": DASHES[kind].join(" "),
      });
      svg.setAttribute("preserveAspectRatio", "none");
      parts.push(element("span", "", {}, svg, LABELS[kind]));
    }
    if (line && record && record.seen.changed && byId("show-last").checked)
      parts.push(element("span", "grey dashes: before this update"));
    if (line && !line.w[0] && !line.w[1]) parts.push(element("span", "w = 0: there is no line yet."));
    else if (line && !this.plane.segment(line.w, line.b))
      parts.push(element("span", "The line is outside of this view."));
    if (this.plane.even === false)
      parts.push(element("span", "The axes have different scales, so w does not look perpendicular."));
    if (this.state.note) parts.push(element("span", this.state.note));
    byId("legend").replaceChildren(...parts);
  }

  writeSlide(record, now) {
    const { run, t, state } = this,
      words = record ? visitInWords(run, record, t, state.names) : startInWords(run, state.names);
    byId("slideTitle").textContent = words.title;
    byId("verdict").textContent = words.verdict ? words.verdict.text : "";
    byId("verdict").className = `verdict ${words.verdict ? words.verdict.kind : ""}`;
    const lines = words.lines.map((line) =>
      element(
        "p",
        "",
        {},
        ...line
          .filter(([text]) => text)
          .map(([text, kind]) => element("span", "", kind ? { class: kind } : {}, ...withSubscripts(text))),
      ),
    );
    byId("arithmetic").replaceChildren(...lines);
    byId("nEpoch").textContent = run.n ? Math.ceil(t / run.n).toLocaleString("en") : "0";
    byId("nMistakes").textContent = now.m.mistakes.toLocaleString("en");
    byId("nUpdates").textContent = now.m.updates.toLocaleString("en");
    const ends = {
      converged: "Converged: an epoch without an update. More epochs change nothing.",
      stuck: "No more updates, but some scores of 0 are answered wrongly: they count as right while learning.",
      epochs: `Stopped after ${many(run.epochs.length, "epoch")}, still making updates.`,
      empty: "",
    };
    byId("stopText").textContent = t === run.length ? ends[run.stop] : "";
  }

  writeProof(now) {
    const { proof, run, state } = this,
      words = proofInWords(proof, run),
      bound = boundInWords(proof, run, now.m.updates);
    byId("proofTitle").textContent = words.title;
    byId("showProof").closest("label").hidden = Boolean(proof && proof.why);
    byId("proofTitle").className = !proof || proof.why ? "" : proof.separable ? "yes" : "no";
    byId("proofText").replaceChildren(...words.lines.map((line) => element("p", line)));
    const members = proof && proof.separable === false ? proof.members : [];
    if (this.listed !== members) {
      this.listed = members;
      byId("witness").replaceChildren(
        ...members.map(({ i, k, weight }) => {
          const { x, y, c } = state.points[i],
            than = k === undefined ? "" : ` over ${state.names[k]}`;
          return element(
            "li",
            "",
            {},
            element("b", num(weight)),
            shapeOf(c),
            element("span", `${i + 1}: ${vector([x, y])}${than}`),
          );
        }),
      );
    }
    byId("boundBox").hidden = !bound;
    byId("boundText").textContent = bound ? bound.text : "";
    if (bound) {
      byId("boundForm").textContent = bound.form;
      byId("bound").textContent = bound.value;
    }
  }

  drawSmall(kind, now) {
    const { run, t, state, colours } = this,
      plane = this.small[kind],
      none = kind === "pocket" && !now.pocket;
    plane.canvas.closest("figure").hidden = none;
    if (none || !plane.measure()) return;
    plane.view = this.wholeView(plane);
    const shown = this.boundary(plane, kind, now, this.running ? 6e4 : 6e5);
    plane.draw({
      colours,
      run,
      points: state.points,
      axes: state.axes,
      regions: shown,
      boundaries: [{ ...shown, colour: colours.kinds[kind], dash: [], width: 2 }],
    });
    const wrong = run.n ? run.errorsOf(kind, t, now) : 0;
    byId(`errors-${kind}`).textContent = run.n ? `${wrong} of ${run.n} wrong` : "";
    plane.canvas.setAttribute(
      "aria-label",
      `Boundary of the ${LABELS[kind]} weights: ${many(wrong, "example")} of ${run.n} wrong.`,
    );
  }

  // The view of the plane, made wider or higher to fit a small picture, so that angles stay what they are.
  wholeView(plane) {
    const { x0, x1, y0, y1 } = this.plane.view,
      { width, height } = this.plane.inner;
    const unitX = (x1 - x0) / width,
      unitY = (y1 - y0) / height,
      grow = Math.max(width / plane.width, height / plane.height);
    const w = (unitX * grow * plane.width) / 2,
      h = (unitY * grow * plane.height) / 2,
      x = (x0 + x1) / 2,
      y = (y0 + y1) / 2;
    return { x0: x - w, x1: x + w, y0: y - h, y1: y + h };
  }

  // Put the settings into the fields, and show only those that matter now.
  writeSettings() {
    const { settings, names } = this.state,
      kernel = isKernel(settings);
    for (const name of Object.keys(SETTINGS)) {
      const field = byId(name);
      if (field.type === "checkbox") field.checked = settings[name];
      else if (document.activeElement !== field || field.tagName === "SELECT") field.value = String(settings[name]);
    }
    for (const field of document.querySelectorAll("[data-for]"))
      field.hidden = !field.dataset.for.split(" ").includes(settings.rule);
    for (const field of document.querySelectorAll("[data-kernel]"))
      field.hidden = !field.dataset.kernel.split(" ").includes(settings.features);
    byId("rule").disabled = kernel;
    byId("zeroField").hidden = settings.classes === 3 || kernel || ["pa", "pa1", "arow"].includes(settings.rule);
    byId("biasField").hidden = byId("startField").hidden = kernel;
    byId("own").hidden = settings.start !== "own" || kernel;
    byId("seedField").hidden = settings.order === "given";
    byId("lineTool").hidden = settings.classes !== 2 || kernel || settings.features !== "none";
    byId("third").hidden = settings.classes !== 3;
    byId("start").querySelector('[value="own"]').disabled = settings.classes === 3;
    names.forEach((name, k) => {
      byId(`name${k}`).textContent = name;
    });
    const hidden = { 2: "third", line: "lineTool" }[this.tool];
    if (hidden && byId(hidden).hidden) this.choose("0");
  }

  choose(tool) {
    this.tool = tool;
    document.querySelector(`[name="tool"][value="${tool}"]`).checked = true;
    byId("plane").style.cursor = tool === "erase" ? "not-allowed" : tool === "line" ? "move" : "crosshair";
  }
}
