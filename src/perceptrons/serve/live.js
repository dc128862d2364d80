// The page: it asks the server how it is, once a second while somebody looks, and shows the answer.
const EVERY = 1000, LONGEST = 10000, PATIENCE = 15000; // milliseconds
const CLASSES = 6; // with their features at once
const MARKS = { // by shape and word, not by colour alone
  good: "M5 0a5 5 0 1 0 0 10a5 5 0 1 0 0-10z", bad: "M5 0L10 10H0z", "": "M0 0h10v10H0z",
};

class TokenNeeded extends Error {}

let token = null;
try {
  token = sessionStorage.getItem("perceptrons-token");
} catch { /* the browser keeps nothing: then the token lives as long as the page */ }

function keep(value) {
  token = value;
  try {
    if (value === null) sessionStorage.removeItem("perceptrons-token");
    else sessionStorage.setItem("perceptrons-token", value);
  } catch { /* as above */ }
}

async function ask(path, body = null) {
  const headers = token === null ? {} : { Authorization: `Bearer ${token}` };
  const options = { headers, cache: "no-store", signal: AbortSignal.timeout(PATIENCE) };
  if (body !== null) Object.assign(options, { method: "POST", body: JSON.stringify(body) });
  if (body !== null) headers["Content-Type"] = "application/json";
  let answer, content;
  try {
    answer = await fetch(path, options);
    content = await answer.json();
  } catch {
    throw new Error("The server does not answer.");
  }
  if (answer.status === 401) {
    const had = token !== null;
    keep(null);
    needToken(had);
    throw new TokenNeeded(content.error);
  }
  if (!answer.ok) throw new Error(content.error || `The server answers with status ${answer.status}.`);
  return content;
}

function say(kind, words) {
  by("state").className = `state ${kind}`;
  by("state-mark").setAttribute("d", MARKS[kind]);
  write("state-text", words);
}

function needToken(wrong) {
  by("token-form").hidden = false;
  by("all").hidden = true;
  write("token-why", wrong ? "The token was not accepted." : "");
  say("", "Waiting for the token");
  if (document.activeElement !== by("token")) by("token").focus();
}

const errorChart = new ErrorChart(), rateChart = new RateChart(), tryBox = new TryBox(ask);

function showCards(stats) {
  const windows = Object.entries(stats.windows || {}).filter(([, error]) => error !== null);
  const [n, error] = windows.find(([size]) => size === "1000") || windows.at(-1) || [];
  const total = stats.learned ? stats.mistakes / stats.learned : undefined;
  write("learned", whole(stats.version));
  write("learned-more", stats.learned !== stats.version ? `${whole(stats.learned)} in all` : "while served");
  write("error", percent(error ?? total));
  write("error-more", n ? `newest ${whole(n)}` : stats.learned ? `of ${whole(stats.learned)}` : "nothing learned yet");
  write("learning-rate", rate(stats.throughput?.learned_per_second));
  write("predicting-rate", rate(stats.throughput?.predicted_per_second));
  const rows = [...Object.entries(stats.windows || {}), ["all", total]];
  if (changed("windows", [rows, stats.learned])) {
    const most = Math.max(...rows.map(([, share]) => share || 0), 1e-9);
    put("windows", ...rows.map(([size, share]) => {
      const name = size === "all" ? `all (${whole(stats.learned)})` : whole(size);
      const few = size === "all" ? "–" : "too few";
      return make("tr", {}, make("th", { scope: "row" }, name), make("td", { class: "number" },
        typeof share === "number" ? percent(share) : few), make("td", { class: "bars" }, bar((share || 0) / most)));
    }));
  }
}

// An example in one line: a record by its names, numbers to four digits. What was cut by the server cannot be tried.
function inLine(example) {
  if (example === null || typeof example !== "object") return shown(example);
  const brief = value => (typeof value === "number" ? String(Number(value.toPrecision(4))) : shown(value));
  const words = Array.isArray(example) && example.every(one => typeof one === "string");
  if (Array.isArray(example)) return words ? example.join(" ") : example.map(brief).join(", ");
  return Object.entries(example).map(([name, value]) => `${name}: ${brief(value)}`).join(" · ");
}

const wasCut = example => typeof example === "string" && (example.endsWith(" ...") && example.length > 500
  || !["text", "sparse", "pipeline"].includes(model.input));

function wrongParts({ example, label, predicted }) { // [of what, predicted, label]: of a tagger its wrong tokens only
  const tokens = Array.isArray(example) ? example : example?.tokens;
  if (model.input !== "tokens" || ![tokens, label, predicted].every(Array.isArray)) {
    const listed = labels => labels.map(shown).join(", ") || "no label";
    const words = value => (value === null ? "nothing" : Array.isArray(value) ? listed(value) : shown(value));
    return [["", words(predicted), words(label)]];
  }
  const all = label.map((one, k) => [`${shown(tokens[k])}: `, shown(predicted[k]), shown(one)]);
  return all.filter(([, said, right]) => said !== right);
}

function showMistakes(mistakes) {
  if (!changed("mistakes", [mistakes, model.input])) return;
  by("no-mistakes").hidden = mistakes.length > 0;
  const list = by("mistakes"), place = list.scrollTop;
  list.replaceChildren(...mistakes.map(one => {
    const parts = wrongParts(one), more = parts.length - 4;
    const words = parts.slice(0, 4).map(([what, said, right]) => make("p", {}, make("bdi", {}, what), "predicted ",
      make("strong", {}, make("bdi", {}, said)), ", label ", make("strong", {}, make("bdi", {}, right))));
    if (more > 0) words.push(make("p", { class: "soft" }, `and ${counted(more, "more token")}`));
    const button = wasCut(one.example) ? null : make("button", { class: "small", type: "button",
      "aria-label": `Try the example of version ${whole(one.version)}`, on: { click: () => tryBox.take(one.example) } },
    "Try it");
    return make("li", {}, make("blockquote", {}, make("bdi", {}, inLine(one.example))),
      make("div", { class: "row" }, make("div", {}, ...words), button));
  }));
  list.scrollTop = place;
}

const nameOf = row => {
  const { intercept, raw_intercept: raw, weights, features, ...named } = row;
  const name = Object.values(named)[0];
  return Array.isArray(name) ? name.map(shown).join(" vs ") : shown(name);
};

function showFeatures(features) {
  if (!changed("features", features)) return;
  const rows = (features || []).map(row => ({ name: nameOf(row), weights: (row.weights || row.features || [])
    .map(one => [one.feature, one.weight]) })).filter(row => row.weights.length);
  if (!rows.length) {
    put("features", make("p", { class: "soft" }, features === null
      ? "This model does not have one weight for each feature." : "No feature has a weight yet."));
    return;
  }
  const mirrored = rows.length === 2 && rows[0].weights.every(([name, weight], k) =>
    rows[1].weights[k]?.[0] === name && rows[1].weights[k][1] === -weight);
  if (mirrored) {
    put("features", make("p", { class: "sides soft" }, make("span", {}, "← for ", make("bdi", {}, rows[0].name)),
      make("span", {}, "for ", make("bdi", {}, rows[1].name), " →")), make("div", { class: "scroll" },
      barsTable(["Feature", "Weight"], rows[1].weights)));
    return;
  }
  const one = ({ name, weights }) => make("section", {}, make("h3", {}, make("bdi", {}, name)),
    make("div", { class: "scroll" }, barsTable(["Feature", "Weight"], weights)));
  const open = by("features").querySelector("details")?.open;
  const rest = rows.length > CLASSES ? make("details", { open }, make("summary", {}, `${rows.length - CLASSES} more`),
    make("div", { class: "classes" }, ...rows.slice(CLASSES).map(one))) : null;
  put("features", ...[make("div", { class: "classes" }, ...rows.slice(0, CLASSES).map(one)), rest].filter(Boolean));
}

function showServer(stats) {
  const { model: of = {}, log = {} } = stats, classes = (of.classes || []).map(shown);
  const some = classes.slice(0, 12).join(", ") + (classes.length > 12 ? ", …" : "");
  const facts = {
    Role: stats.role === "follower" ? `follower of ${stats.leader}` : stats.role,
    Version: whole(stats.version) + (stats.generation ? `, generation ${whole(stats.generation)}` : ""),
    "Up for": lasted(stats.uptime || 0), Model: of.kind || "–", Input: of.input || "not known yet",
    Classes: classes.length ? some : "none yet", Features: whole(of.n_features || 0),
    "Log": `${bytes(log.bytes)} in ${counted(log.segments || 0, "file")}, position ${whole(stats.position || 0)}`,
  };
  if (changed("facts", facts)) {
    put("facts", ...Object.entries(facts).map(([name, value]) => make("div", {}, make("dt", {}, name),
      make("dd", {}, make("bdi", {}, value)))));
  }
  if (changed("snapshots", log.snapshots)) {
    const rows = [...(log.snapshots || [])].reverse().map(one =>
      [whole(one.version), whole(one.generation || 0), one.bytes ? bytes(one.bytes) : "empty"]);
    put("snapshots", rows.length ? table(["#Version", "#Generation", "#Size"], rows)
      : make("p", { class: "soft" }, "None."));
  }
  write("title", of.kind ? `${of.kind} being served` : "perceptrons serve");
  write("facts-line", [of.input && `input: ${of.input}`, classes.length
    && `${whole(classes.length)} class${classes.length === 1 ? "" : "es"}`, `version ${whole(stats.version)}`,
  stats.role].filter(Boolean).join(" · "));
}

function show(stats) {
  by("token-form").hidden = true;
  by("all").hidden = false;
  by("main").classList.remove("stale");
  say("good", "Live");
  tryBox.show(stats);
  write("error-note", model.input === "tokens" ? "A sequence with one wrong label is wrong." : "");
  showCards(stats);
  showMistakes(stats.recent_mistakes || []);
  showFeatures(stats.features ?? null);
  showServer(stats);
  errorChart.show(stats.history || []);
  rateChart.show(stats.throughput?.series || []);
}

let timer = null, pause = EVERY, asking = false;

async function poll() {
  clearTimeout(timer);
  if (document.hidden || asking) return;
  asking = true;
  try {
    show(await ask("stats"));
    pause = EVERY;
  } catch (error) {
    if (error instanceof TokenNeeded) return;
    by("main").classList.add("stale");
    say("bad", `${error.message} Trying again …`);
    pause = Math.min(LONGEST, pause * 2);
  } finally {
    asking = false;
  }
  timer = setTimeout(poll, pause);
}

document.addEventListener("visibilitychange", () => {
  clearTimeout(timer);
  if (!document.hidden && by("token-form").hidden) poll();
});
by("token-form").addEventListener("submit", event => {
  event.preventDefault();
  const given = by("token").value.trim();
  by("token").value = "";
  if (!/^[\x21-\x7e]+$/.test(given)) { // what a header cannot hold is not a token
    write("token-why", "The token was not accepted.");
    return;
  }
  keep(given);
  by("token-form").hidden = true;
  poll();
});
if (token === null && document.body.dataset.token === "needed") needToken(false);
else poll();
