"""Checks a certificate of `perceptrons.theory.separability` against a CSV in exact arithmetic, without the library.
python check_certificate.py CERTIFICATE.json DATA.csv [--label-column NAME_OR_NUMBER]  exit: 0 holds, 1 not, 2 error"""

import csv, hashlib, io, json, os, pathlib, re, struct, sys  # noqa: E401, I001 (sixty lines in all)
from fractions import Fraction

sys.excepthook = lambda kind, error, _: os._exit(os.write(2, f"Not checked: {kind.__name__}: {error}\n".encode()) and 2)
NUMBER = re.compile(r"\s*[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?|nan|inf|infinity)\s*", re.ASCII | re.IGNORECASE)
WHOLE = re.compile(r"[+-]?(0|[1-9]\d{0,17})(\.0*)?", re.ASCII)
need = lambda holds, what: holds or sys.exit(print(f"does not hold: {what}") or 1)  # noqa: E731
# 1, 1.0 and "1" are the same label
name = lambda label: str(int(str(label).partition(".")[0])) if WHOLE.fullmatch(str(label)) else str(label)  # noqa: E731
if len(sys.argv) not in (3, 5) or sys.argv[3:4] not in ([], ["--label-column"]):
    sys.exit(print(__doc__, file=sys.stderr) or 2)
claim = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
need(not re.search(r"(?<!\w)\w{100000}", json.dumps(claim, ensure_ascii=False)), "a number has 100,000 digits or more")
told = claim.pop("digest")
seal = hashlib.sha256(json.dumps(claim, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
need(told == seal and claim["format"] == "perceptrons-certificate-1", "it was altered, or is of another kind")
classes, d, one, separable = (claim[part] for part in ("classes", "n_features", "fit_intercept", "separable"))
names, K, kind = [name(label) for label in classes], len(classes), "df"[claim["number_type"] == "float32"]
text = pathlib.Path(sys.argv[2]).read_bytes().decode("utf-8-sig")
mark = next((m for m in ("\t,;" if ".tsv" in sys.argv[2] else ",;\t") if m in text.partition("\n")[0]), ",")
lines = [[c.strip() for c in row] for row in csv.reader(io.StringIO(text, newline=""), delimiter=mark) if any(row)]
header, label = not any(map(NUMBER.fullmatch, lines[0])), [*sys.argv[4:], str(len(lines[0]))][0]
at, rows = lines[0].index(label) if header and label in lines[0] else int(label) - 1, lines[header:]
need(len(rows) == claim["n_samples"] and all(len(row) == d + 1 for row in rows), "the data have another shape")
numbers = [[cell for k, cell in enumerate(row) if k != at] for row in rows]
need(all(NUMBER.fullmatch(cell) for row in numbers for cell in row), "a cell is not a number")
need(claim["number_type"] in ("decimal", "float64", "float32"), "it is about another kind of numbers")
X = exact = [[Fraction(cell) for cell in row] for row in numbers]
if claim["number_type"] != "decimal":
    X = [[Fraction(*struct.unpack(kind, struct.pack(kind, value))) for value in row] for row in exact]
y = [[*names, name(row[at])].index(name(row[at])) for row in rows]
need(type(separable) is type(one) is bool and set(y) == set(range(K)), "it claims nothing, or of other labels")
pairs, total = claim["support" if separable else "witness"], [[0] * (d + 1) for _ in classes]
own, rivals = ([classes.index(label) for label in pairs[part]] for part in ("labels", "rivals"))
a = [int(weight, 0) for weight in pairs["weights"]]
for i, k, r, weight in zip(pairs["rows"], own, rivals, a, strict=True):
    need(0 <= i < len(X) and y[i] == k != r and weight > 0, f"row {i} is not what it is said to be")
    for j, v in enumerate([*X[i], int(one)]):  # total is the sum of a (f(x, y) - f(x, r)), the bias last
        total[k][j], total[r][j] = total[k][j] + weight * v, total[r][j] - weight * v
need(a and not any(any(row[d if separable else 0 :]) for row in total), "the weighted examples do not cancel")
if separable:
    low, high = (Fraction(v if type(v) is float else -1) for v in claim["margin"])
    need(high >= low >= 0 and sum(v * v for t in total for v in t) <= 2 * (high * sum(a)) ** 2, "no proof of the bound")
    theta, b = (claim["coef"], claim["intercept"]) if K > 2 else ([[0] * d, claim["coef"]], [0, claim["intercept"]])
    read = lambda v: Fraction(*(int(p, 0) for p in v.split("/"))) if isinstance(v, str) else Fraction(v)  # noqa: E731
    w = [[*map(read, row), read(bias)] for row, bias in zip(theta, b, strict=True)]
    need(len(w) == K and (one or not any(row[d] for row in w)), "there are too many weights, or there is a bias")
    square = 2 * sum(sum(v * v for v in c) - sum(c) ** 2 / K for c in list(zip(*w, strict=True))[:d])
    for i, x in enumerate(X):
        s = [sum(u * v for u, v in zip(row, [*x, int(one)], strict=True) if v) for row in w]
        lead = s[y[i]] - max(score for k, score in enumerate(s) if k != y[i])
        need(lead > 0 and lead * lead >= low * low * square, f"row {i} is on the wrong side or too close")
what = f", rounded to {claim['number_type']}," * (exact != X) + " are" + " not" * (not separable)
what += " linearly separable" + " by hyperplanes through the origin" * (not one)
print(f"holds: the data{what}" + (f", with a margin between {float(low)} and {float(high)}" if separable else ""))
