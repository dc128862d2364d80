// The box to try an example: what is typed becomes an example, the answer is shown, and its label can be sent back.
const HINTS = {
  text: ["Type a text.", "Free entry: text WIN to 80082"],
  table: ["A JSON object with the columns of the table.", '{"age": 33, "job": "clerk"}'],
  features: ["A JSON object of features by name.", '{"height": 1.5, "colour": "red"}'],
  numbers: ["Numbers, separated by commas or blanks, or a JSON list.", "5.1, 3.5, 1.4, 0.2"],
  sparse: ["A line without its label, or a JSON object of values by column.", "3:1.5 7:2"],
  tokens: ["Words separated by blanks, or a JSON list of tokens.", "The cat sat on the mat"],
  pipeline: ["What the first step of the pipeline takes: a text, a JSON object or a JSON list.", ""],
  new: ["The model is empty: the first example decides what all of them are. Text, or JSON.", "A first example"],
};
const FEATURES = 8;

const model = { input: undefined, classes: [], kind: "", role: "leader", leader: null };

function parsed(text, input) { // throws an error with a message for people
  const begins = text.trim()[0], json = begins === "{" || begins === "[";
  const read = () => {
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new Error(`This is not valid JSON: ${error.message}`);
    }
  };
  if (!text.trim()) throw new Error("Type an example first.");
  if (input === "text") return begins === "{" && /^\s*\{\s*"(text|x)"\s*:/.test(text) ? read() : text;
  if (json) return read();
  if (input === "numbers") {
    const numbers = text.trim().split(/[\s,;]+/).map(Number);
    if (numbers.some(Number.isNaN)) throw new Error("These are not all numbers.");
    return numbers;
  }
  if (input === "tokens") return text.trim().split(/\s+/);
  if (input === "sparse") return text.trim();
  if (input === "table" || input === "features") throw new Error(`Type a JSON object, such as ${HINTS[input][1]}`);
  return text;
}

function asText(example, input) {
  if (typeof example === "string") return example;
  const words = Array.isArray(example) && example.every(one => typeof one === "string");
  if (input === "tokens" && words) return example.join(" ");
  if (input === "text" && typeof example?.text === "string") return example.text;
  return JSON.stringify(example, null, Array.isArray(example) ? 0 : 1);
}

function labelOf(text) { // as the model has it: its classes may be numbers
  const known = model.classes.find(one => String(one) === text);
  if (known !== undefined) return known;
  const whole = model.classes.length && model.classes.every(one => typeof one === "number");
  return whole && /^-?\d+$/.test(text) ? Number(text) : text;
}

// What the features add between the prediction and the runner-up: [name, part], the largest first, then the bias.
function contributions(why) {
  const { rows, prediction, runner_up: other } = why;
  const row = label => rows.findIndex(one => one.length === 1 && one[0] === label);
  const pair = rows.findIndex(one => one.length === 2 && one.includes(prediction) && one.includes(other));
  let signs, words; // of each row of contributions, how it counts
  if (Array.isArray(prediction)) {
    const best = why.scores.indexOf(Math.max(...why.scores));
    [signs, words] = [{ [best]: 1 }, [`for ${rows[best].join(" vs ")}`, "against it"]];
  } else {
    words = [`for ${prediction}`, other === null ? "against it" : `for ${other}`];
    if (pair >= 0) signs = { [pair]: rows[pair][1] === prediction ? 1 : -1 };
    else if (rows.length === 1) signs = { 0: rows[0][0] === prediction ? 1 : -1 };
    else signs = { [Math.max(0, row(prediction))]: 1, ...(row(other) < 0 ? {} : { [row(other)]: -1 }) };
  }
  const sum = part => Object.entries(signs).reduce((total, [k, sign]) => total + sign * part(k), 0);
  const all = why.features.map((name, k) => [name, sum(one => why.contributions[one][k])]).filter(([, value]) => value);
  const found = all.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1])).slice(0, FEATURES);
  const bias = sum(one => why.bias[one]);
  return { words, found: bias ? [...found, ["(bias)", bias]] : found };
}

function barsTable(header, rows) { // [name, value]: signed values as bars from the middle
  const most = Math.max(...rows.map(([, value]) => Math.abs(value)), 1e-300);
  const laid = table([header[0], `#${header[1]}`, ""], rows.map(([name, value]) =>
    [make("bdi", {}, shown(name)), signed(value), bar(value / most, true)]));
  laid.querySelectorAll("td:last-child").forEach(cell => cell.classList.add("bars"));
  return laid;
}

function explained(why) {
  if (why.tokens) return null; // shown beside the tokens
  const { words, found } = contributions(why);
  const unknown = (why.unknown || []).slice(0, 10).map(shown).join(", ");
  return make("div", {}, make("h3", {}, "Why"), found.length
    ? make("div", { class: "scroll" }, make("p", { class: "soft" }, `Positive: ${words[0]}. Negative: ${words[1]}.`),
      barsTable([why.support ? "Training example" : "Feature", "Adds"], found))
    : make("p", { class: "soft" }, "No feature of the example has a weight."),
    unknown ? make("p", { class: "soft" }, `New to the model, so without effect: ${unknown}`) : null);
}

function tagged(found, tokens) { // one row for each token, with a field for its right label
  const why = found.explanation?.tokens || [];
  const rows = found.label.map((label, k) => {
    const { features = [], values = [], weights = [], rival = [] } = why[k] || {};
    const all = features.map((name, j) => [name, (weights[j] - (rival[j] || 0)) * values[j]]);
    const parts = all.filter(([, part]) => part).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
    const token = shown(tokens[k]), lead = found.scores?.[k];
    const most = parts.slice(0, 2).map(([name, part]) => `${name} ${signed(part)}`).join(", ");
    return [make("span", { class: "token" }, make("bdi", {}, token),
      make("small", { class: "soft" }, make("bdi", {}, most))), make("input", { class: "tag-input",
      value: String(label), "data-tag": k, "aria-label": `Label of ${token}`,
        list: "known-classes" }), typeof lead === "number" ? short(lead) : "–"];
  });
  return table(["Token, and what decides its label", "Label", "#Lead"], rows);
}

function resultOf(found, version, example) {
  const parts = [], several = Array.isArray(found.label) && model.input !== "tokens";
  if (model.input === "tokens" && Array.isArray(found.label)) {
    const tokens = Array.isArray(example) ? example : example.tokens;
    parts.push(make("div", { class: "scroll" }, tagged(found, tokens)));
  } else {
    const label = found.label === null ? "no label yet: the model is empty"
      : several ? found.label.map(shown).join(", ") || "no label" : shown(found.label);
    parts.push(make("p", { class: "answer" }, "Prediction: ", make("strong", {}, make("bdi", {}, label))));
  }
  if (found.top?.length) {
    parts.push(make("div", { class: "scroll" }, barsTable([several ? "Label" : "Class", "Score"], found.top)));
  }
  if (found.explanation) parts.push(explained(found.explanation));
  parts.push(make("p", { class: "soft" }, `By the model of version ${whole(version)}.`));
  return parts.filter(part => part !== null);
}

function feedbackOf(found, send) {
  if (model.role === "follower") {
    return [make("p", { class: "soft" }, `This server is a follower: send labels to its leader${model.leader
      ? `, ${model.leader}` : ""}.`)];
  }
  if (model.input === "pipeline") return [make("p", { class: "soft" }, "A pipeline does not learn from one example.")];
  const options = model.classes.map(one => make("option", { value: String(one) }));
  const known = make("datalist", { id: "known-classes" }, ...options);
  if (model.input === "tokens" && Array.isArray(found.label)) {
    const all = () => [...by("result").querySelectorAll("[data-tag]")].map(field => labelOf(field.value));
    return [known, make("div", { class: "row" }, make("button", { type: "button", on: { click: () => send(all()) } },
      "Learn these labels"))];
  }
  const several = Array.isArray(found.label), parts = [make("legend", {}, several ? "Right labels" : "Right label")];
  if (!several && model.classes.length && model.classes.length <= 8) {
    parts.push(make("div", { class: "row" }, ...model.classes.map(one =>
      make("button", { type: "button", on: { click: () => send(one) } }, make("bdi", {}, shown(one))))));
  }
  const field = make("input", { "aria-label": several ? "Right labels, separated by commas" : "Another label",
    placeholder: several ? "labels, separated by commas" : "another label", list: "known-classes", autocomplete: "off",
    value: several ? found.label.join(", ") : null });
  const submit = event => {
    event.preventDefault();
    const text = field.value.trim();
    if (several) send(text ? text.split(",").map(one => labelOf(one.trim())) : []);
    else if (text) send(labelOf(text));
  };
  parts.push(make("form", { class: "row", on: { submit } }, field, make("button", { type: "submit" }, "Learn")));
  return [known, make("fieldset", {}, ...parts),
    make("p", { class: "soft" }, "The model learns from the label you send.")];
}

class TryBox {
  constructor(ask) {
    this.ask = ask;
    this.touched = false;
    this.tried = 0;
    by("example").addEventListener("input", () => { this.touched = true; });
    by("example").addEventListener("keydown", event => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) by("try").requestSubmit();
    });
    by("try").addEventListener("submit", event => {
      event.preventDefault();
      this.predict();
    });
  }

  show(stats) {
    const { input = null, classes = [], kind = "", example = null } = stats.model || {};
    Object.assign(model, { input, classes, kind, role: stats.role, leader: stats.leader });
    const [hint, placeholder] = HINTS[input || "new"] || HINTS.new;
    write("example-hint", hint);
    by("example").placeholder = placeholder;
    if (!this.touched && example !== null && !by("example").value) by("example").value = asText(example, input);
  }

  take(example) { // from the list of mistakes
    this.touched = true;
    by("example").value = asText(example, model.input);
    by("example").focus();
    this.predict();
  }

  async predict() {
    const number = (this.tried += 1);
    put("feedback");
    write("feedback-said", "");
    try {
      const example = parsed(by("example").value, model.input);
      const tagging = model.input === "tokens", fitted = model.input && model.input !== "pipeline";
      const options = fitted ? { explain: true, ...(tagging ? { scores: true } : { top: 5 }) } : {};
      put("result", make("p", { class: "soft" }, "Predicting …"));
      const answer = await this.ask("predict", { examples: [example], ...options });
      if (number !== this.tried) return;
      const found = answer.predictions[0];
      put("result", ...resultOf(found, answer.version, example));
      put("feedback", ...feedbackOf(found, label => this.send(found.id, label)));
    } catch (error) {
      if (number === this.tried) put("result", make("p", { class: "warning" }, error.message));
    }
  }

  async send(id, label) {
    const buttons = [...by("feedback").querySelectorAll("button")];
    buttons.forEach(button => { button.disabled = true; });
    try {
      const answer = await this.ask("feedback", { id, label });
      write("feedback-said", answer.repeated ? "This prediction had its label already: nothing more was learned."
        : `Learned. The model is now at version ${whole(answer.version)}.`);
    } catch (error) {
      write("feedback-said", error.message);
      buttons.forEach(button => { button.disabled = false; });
    }
  }
}
