"""Checks a certificate of `perceptrons.theory.separability` against a CSV in exact arithmetic, without the library.
python check_certificate.py CERTIFICATE.json DATA.csv [--label-column NAME_OR_NUMBER]  exit: 0 holds, 1 not, 2 error"""

import csv, hashlib, json, os, struct, sys  # noqa: E401, I001 (sixty lines in all)
from fractions import Fraction

sys.excepthook = lambda kind, error, _: os._exit(os.write(2, f"Not checked: {kind.__name__}: {error}\n".encode()) and 2)


def need(holds, what):
    if not holds:
        sys.exit(print(f"does not hold: {what}") or 1)


def key(text):  # labels are compared as numbers where they are numbers
    try:
        return float(text)
    except ValueError:
        return text


claim = json.loads(open(sys.argv[1], encoding="utf-8").read())  # noqa: SIM115
told = claim.pop("digest")
seal = hashlib.sha256(json.dumps(claim, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
need(told == seal and claim["format"] == "perceptrons-certificate-1", "it was altered, or is of another kind")
classes, d, one = claim["classes"], claim["n_features"], int(claim["fit_intercept"])  # one: the feature of the bias
names, K, separable = [str(label) for label in classes], len(classes), claim["separable"]
kind = f"{d}{ {'float32': 'f', 'float64': 'd'}[claim['number_type']] }"
text = open(sys.argv[2], newline="", encoding="utf-8-sig").read()  # noqa: SIM115
mark = next((mark for mark in ",;\t" if mark in text.partition("\n")[0]), ",")
lines = [row for row in csv.reader(text.splitlines(True), delimiter=mark, skipinitialspace=True) if any(row)]
label, first = sys.argv[4] if "--label-column" in sys.argv else str(len(lines[0])), [cell.strip() for cell in lines[0]]
at = first.index(label) if label in first else int(label) - 1
rows = lines[all(isinstance(key(cell), str) for cell in first) :]  # a header has no numbers
need(len(rows) == claim["n_samples"] and all(len(row) == d + 1 for row in rows), "the data have another shape")
packed = [struct.pack(kind, *(float(cell) for k, cell in enumerate(row) if k != at)) for row in rows]
X, texts = [[Fraction(v) for v in struct.unpack(kind, row)] for row in packed], [row[at].strip() for row in rows]
y = [names.index(t) if t in names else [*map(key, names), key(t)].index(key(t)) for t in texts]
need(separable is not None and set(y) == set(range(K)), "it claims nothing, or the data have other labels")
pairs, total = claim["support" if separable else "witness"], [[0] * (d + 1) for _ in classes]
a = [int(weight, 0) for weight in pairs["weights"]]
for i, own, rival, weight in zip(pairs["rows"], pairs["labels"], pairs["rivals"], a, strict=True):
    k, r = classes.index(own), classes.index(rival)
    need(0 <= i < len(X) and y[i] == k != r and weight > 0, f"row {i} is not what it is said to be")
    for j, v in enumerate([*X[i], one]):  # total is the sum of a (f(x, y) - f(x, r))
        total[k][j], total[r][j] = total[k][j] + weight * v, total[r][j] - weight * v
need(a and not any(any(row[d if separable else 0 :]) for row in total), "the weighted examples do not cancel")
if separable:
    low, high = (Fraction(v) for v in claim["margin"])
    need(high >= low >= 0 and sum(v * v for t in total for v in t) <= 2 * (high * sum(a)) ** 2, "no proof of the bound")
    theta, b = (claim["coef"], claim["intercept"]) if K > 2 else ([[0] * d, claim["coef"]], [0, claim["intercept"]])
    read = lambda v: Fraction(*(int(p, 0) for p in v.split("/"))) if isinstance(v, str) else Fraction(v)  # noqa: E731
    w = [[*map(read, row), read(bias)] for row, bias in zip(theta, b, strict=True)]
    need(one or not any(row[d] for row in w), "there is a bias")
    square = 2 * sum(sum(v * v for v in c) - sum(c) ** 2 / K for c in list(zip(*w, strict=True))[:d])
    for i, x in enumerate(X):
        s = [sum(u * v for u, v in zip(row, [*x, one], strict=True) if v) for row in w]
        lead = s[y[i]] - max(score for k, score in enumerate(s) if k != y[i])
        need(lead > 0 and lead * lead >= low * low * square, f"row {i} is on the wrong side or too close")
print("holds: the data are" + " not" * (not separable) + " linearly separable")
