"""Separability decided, certificates checked, distances, margins and bounds computed straight from their formulas.

What proves something is in exact rational arithmetic: a float is taken as the fraction that it is. Perceptrons that
keep their weights after every update are in `binary.py` and `multiclass.py`.
"""

import hashlib
import json
import math
import re
from fractions import Fraction
from itertools import combinations

import numpy as np

# ---- examples as vectors that have to be on the right side


def differences(rows, codes, n_classes, fit_intercept):
    """The vectors z for which theta·z > 0 is wanted, as triples (row, rival, z), z a list of fractions.

    Two classes: y (x, 1), one for each example. Several: f(x, y) - f(x, rival), one for each example and rival, the
    K rows of which stand one behind the other; f(x, c) puts (x, 1) in row c. Without an intercept there is no 1.

    Parameters
    ----------
    rows : list of lists of floats.
    codes : list of class indices 0..K-1.
    """
    found = []
    for i, (row, code) in enumerate(zip(rows, codes, strict=True)):
        x = [Fraction(value) for value in row] + [Fraction(1)] * fit_intercept
        if n_classes == 2:
            found.append((i, 1 - code, x if code == 1 else [-value for value in x]))
            continue
        for rival in range(n_classes):
            if rival != code:
                z = [[Fraction(0)] * len(x) for _ in range(n_classes)]
                z[code], z[rival] = x, [-value for value in x]
                found.append((i, rival, [value for part in z for value in part]))
    return found


# ---- is there a hyperplane?


def decide(vectors):
    """Is there a theta with theta·z > 0 for every z? By phase 1 of the simplex method, with Bland's rule.

        sum of lambda_j z_j = 0,    sum of lambda_j = 1,    lambda >= 0        has a solution or there is such a theta

    (Gordan 1873). A tableau row is an equation; its artificial variable is minimised away.

    Parameters
    ----------
    vectors : list of lists of fractions, at least one.

    Returns
    -------
    separable : bool
    proof : theta if True, the list of all lambda if False.
    """
    n, m = len(vectors), len(vectors[0]) + 1
    tableau = [[z[r] for z in vectors] for r in range(m - 1)] + [[Fraction(1)] * n]
    for r, row in enumerate(tableau):
        row += [Fraction(int(r == a)) for a in range(m)] + [Fraction(int(r == m - 1))]
    cost = [-sum(column) for column in zip(*tableau, strict=True)]  # reduced costs; the last one is minus the sum left
    cost[n : n + m] = [Fraction(0)] * m
    basis = list(range(n, n + m))

    while True:
        entering = next((j for j in range(n + m) if cost[j] < 0), None)
        if entering is None:
            break
        ratios = [
            (tableau[r][-1] / tableau[r][entering], basis[r], r) for r in range(m) if tableau[r][entering] > 0
        ]  # never empty: the sum that is minimised is not below 0
        leaving = min(ratios)[2]
        basis[leaving] = entering
        pivot = tableau[leaving][entering]
        tableau[leaving] = [value / pivot for value in tableau[leaving]]
        for row in [*tableau[:leaving], *tableau[leaving + 1 :], cost]:
            factor = row[entering]
            if factor:
                row[:] = [a - factor * b if b else a for a, b in zip(row, tableau[leaving], strict=True)]

    if cost[-1] < 0:  # something is left: the dual variables, 1 - cost of the artificial ones, are a hyperplane
        return True, [cost[n + r] - 1 for r in range(m - 1)]
    weights = [Fraction(0)] * n
    for r, j in enumerate(basis):
        if j < n:
            weights[j] = tableau[r][-1]
    return False, weights


def separable(rows, codes, n_classes, fit_intercept):
    """Whether one hyperplane (several classes: one theta) has every example strictly on its side; see `decide`."""
    found = [z for _, _, z in differences(rows, codes, n_classes, fit_intercept)]
    width = len(found[0]) // n_classes if n_classes > 2 else 0  # the last row of theta may be 0: leads do not see it
    return decide([z[: len(z) - width] for z in found])[0]


# ---- margins, exactly


def whole(values):
    """The fractions times their common denominator, and that denominator."""
    fractions = [Fraction(value) for value in values]
    common = math.lcm(*(value.denominator for value in fractions))
    return [int(value * common) for value in fractions], common


def as_theta(coef, intercept):
    """Rows and biases of all classes; two classes, given by w and b, get the rows -w/2 and w/2: they lead by w."""
    if isinstance(coef[0], list):
        return [[Fraction(value) for value in row] for row in coef], [Fraction(value) for value in intercept]
    w, b = [Fraction(value) / 2 for value in coef], Fraction(intercept) / 2
    return [[-value for value in w], w], [-b, b]


def worst_lead(coef, intercept, rows, codes):
    """The smallest lead of any example over any rival, a fraction: > 0 if all are strictly on their sides."""
    theta, biases = as_theta(coef, intercept)
    d = len(theta[0])
    flat, common = whole([value for row in theta for value in row] + biases)
    theta, biases = [flat[k * d : (k + 1) * d] for k in range(len(theta))], flat[len(theta) * d :]
    worst = None
    for row, code in zip(rows, codes, strict=True):
        x, own = whole(row)
        cells = [(j, value) for j, value in enumerate(x) if value]
        scores = [sum(part[j] * value for j, value in cells) + b * own for part, b in zip(theta, biases, strict=True)]
        lead = Fraction(scores[code] - max(scores[:code] + scores[code + 1 :]), own * common)
        worst = lead if worst is None else min(worst, lead)
    return worst


def squared_norm(coef):
    """|w|^2 of two classes; of several twice the squared Frobenius norm after subtracting the mean row."""
    if not isinstance(coef[0], list):
        return sum(Fraction(value) ** 2 for value in coef)
    total = Fraction(0)
    for column in zip(*coef, strict=True):
        values = [Fraction(value) for value in column]
        mean = sum(values) / len(values)
        total += 2 * sum((value - mean) ** 2 for value in values)
    return total


def squared_margin(coef, intercept, rows, codes):
    """The square of the geometric margin of these weights on the data, with the sign of the margin."""
    lead = worst_lead(coef, intercept, rows, codes)
    return lead * abs(lead) / squared_norm(coef)


# ---- certificates


def digest(certificate):
    """The digest that the certificate, a dict as json.loads gives it, has to have."""
    rest = {key: value for key, value in certificate.items() if key != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def alike(one, other):
    """Equal and of the same kinds: to Python True is 1, to a reader of labels it is not."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return type(one) is type(other) and one == other


def is_index(value, end):
    return type(value) is int and 0 <= value < end


def combined(combination, certificate, rows, labels):
    """The sum of weight * (f(x, label) - f(x, rival)), a list of K rows; a string that says why if it is ill-formed."""
    classes, n, d = certificate["classes"], len(rows), len(rows[0])
    several, one = len(classes) > 2, int(certificate["fit_intercept"])
    parts = [combination[key] for key in ("rows", "labels", "rivals", "weights")]
    if not parts[0] or len({len(part) for part in parts}) != 1:
        return "the parts of a combination are of different lengths, or empty"
    if len(parts[0]) > ((len(classes) - 1) * (d + 1) + 1 if several else d + 1 + one):
        return "a combination of too many entries"
    seen, weights = set(), []
    for i, label, rival, weight in zip(*parts, strict=True):
        if not is_index(i, n):
            return f"there is no row {i}"
        if not alike(label, labels[i]):
            return f"row {i} has not the label {label!r}"
        if not any(alike(rival, known) for known in classes) or alike(rival, label):
            return f"{rival!r} is no rival of {label!r}"
        if (i, rival) in seen:
            return f"row {i} stands twice"
        seen.add((i, rival))
        if not (isinstance(weight, str) and re.fullmatch("0x[0-9a-f]+|[0-9]+", weight) and int(weight, 0) > 0):
            return f"{weight!r} is no positive whole number"
        weights.append(int(weight, 0))
    total = [[Fraction(0)] * (d + one) for _ in classes]
    for i, label, rival, weight in zip(*parts[:3], weights, strict=True):
        share = Fraction(weight, sum(weights))
        x = [Fraction(value) for value in rows[i]] + [Fraction(1)] * one
        for j, value in enumerate(x):
            total[classes.index(label)][j] += share * value
            total[classes.index(rival)][j] -= share * value
    return total


def numbers(values):
    """A JSON list of numbers or "p/q" as fractions; None if one of them is neither."""
    found = []
    for value in values:
        quotient = isinstance(value, str) and re.fullmatch(r"-?[0-9]+(/[1-9][0-9]*)?", value)
        if not quotient and not (type(value) in (int, float) and math.isfinite(value)):
            return None
        found.append(Fraction(value))
    return found


def why_not(certificate, rows, labels):
    """Why what the certificate claims is not so of these data; "" if it is. The digest is not looked at.

    Parameters
    ----------
    certificate : dict, as json.loads gives it.
    rows : list of lists of floats.
    labels : list of Python labels.
    """
    try:
        return false_claim(certificate, rows, labels)
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        return f"this is no certificate: {error!r}"


def false_claim(certificate, rows, labels):
    classes, fit_intercept = certificate["classes"], certificate["fit_intercept"]
    if certificate["format"] != "perceptrons-certificate-1":
        return "another format"
    if not alike([certificate["n_samples"], certificate["n_features"]], [len(rows), len(rows[0])]):
        return "data of another shape"
    if not alike(classes, sorted(set(labels))):
        return "other classes"
    if type(fit_intercept) is not bool:
        return "fit_intercept is neither true nor false"
    if certificate["number_type"] not in ("float32", "float64", "decimal"):
        return "another number type"
    if certificate["number_type"] == "decimal":
        rows = [[Fraction(repr(value)) for value in row] for row in rows]
    if certificate["number_type"] == "float32" and any(np.float32(value) != value for row in rows for value in row):
        return "numbers that are no float32"
    if certificate["separable"] is False:
        return false_witness(certificate, rows, labels)
    if certificate["separable"] is True:
        return false_separator(certificate, rows, labels)
    return "it decides nothing"


def false_witness(certificate, rows, labels):
    if any(certificate[key] is not None for key in ("coef", "intercept", "margin", "support")):
        return "a hyperplane for what is not separable"
    total = combined(certificate["witness"], certificate, rows, labels)
    if isinstance(total, str):
        return total
    return "the witness does not add up to zero" if any(value for row in total for value in row) else ""


def false_separator(certificate, rows, labels):
    classes, d = certificate["classes"], len(rows[0])
    codes = [classes.index(label) for label in labels]
    if certificate["witness"] is not None:
        return "a witness against what is separable"
    if len(classes) == 2:
        coef, intercept = numbers(certificate["coef"]), numbers([certificate["intercept"]])
        if coef is None or intercept is None or len(coef) != d:
            return "weights of another shape"
        intercept = intercept[0]
    else:
        coef, intercept = [numbers(row) for row in certificate["coef"]], numbers(certificate["intercept"])
        if None in coef or intercept is None or len(intercept) != len(classes):
            return "biases of another shape"
        if [len(row) for row in coef] != [d] * len(classes):
            return "weights of another shape"
    if not certificate["fit_intercept"] and any(intercept if isinstance(intercept, list) else [intercept]):
        return "a bias where there is none"
    if worst_lead(coef, intercept, rows, codes) <= 0:
        return "an example is not on its side"
    reached, at_most = certificate["margin"]
    if not all(type(value) in (int, float) and math.isfinite(value) for value in (reached, at_most)):
        return "margins that are no numbers"
    if reached > 0 and Fraction(reached) ** 2 > squared_margin(coef, intercept, rows, codes):
        return "the margin is not reached"
    total = combined(certificate["support"], certificate, rows, labels)
    if isinstance(total, str):
        return total
    if certificate["fit_intercept"] and any(row.pop() for row in total):
        return "the support does not balance"
    square = sum(value**2 for row in total for value in row) / 2  # of two classes both rows are p, up to the sign
    return "" if at_most >= 0 and Fraction(at_most) ** 2 >= square else "the support does not prove the bound"


# ---- the largest margin, by trying all sets of examples that could lie on it


def largest_margin(rows, codes, n_classes, fit_intercept):
    """The largest geometric margin of separable data: 1/|w| for the smallest w with every lead at least 1.

    Of all sets of constraints that may be tight, the one that satisfies Karush, Kuhn and Tucker's conditions gives the
    optimum. For a dozen constraints.
    """
    Z = np.array([z for _, _, z in differences(rows, codes, n_classes, fit_intercept)], dtype=float)
    width = len(rows[0]) + fit_intercept
    counted = np.array([not (fit_intercept and j % width == width - 1) for j in range(Z.shape[1])], dtype=float)
    for size in range(1, Z.shape[1] + 2):
        for tight in combinations(range(len(Z)), size):
            A = Z[list(tight)]
            system = np.block([[np.diag(counted), -A.T], [A, np.zeros((size, size))]])
            wanted = np.concatenate([np.zeros(Z.shape[1]), np.ones(size)])
            solution = np.linalg.lstsq(system, wanted)[0]
            theta, forces = solution[: Z.shape[1]], solution[Z.shape[1] :]
            if (
                np.allclose(system @ solution, wanted, atol=1e-8)
                and (Z @ theta > 1 - 1e-8).all()
                and min(forces) > -1e-8
            ):
                return 1 / math.sqrt((2 if n_classes > 2 else 1) * theta**2 @ counted)
    raise ValueError("not separable")


# ---- geometry of given weights, in floats


def lead(coef, intercept, x, k, r):
    """How far class k leads class r at x."""
    return (coef[k] - coef[r]) @ x + intercept[k] - intercept[r]


def distance(coef, intercept, x, k, r):
    """The signed distance of x from the boundary of the classes k and r, positive on the side of k."""
    normal, ahead = np.linalg.norm(coef[k] - coef[r]), lead(coef, intercept, x, k, r)
    if normal == 0:
        return 0.0 if ahead == 0 else math.copysign(math.inf, ahead)
    return ahead / normal


def two_rows(coef, intercept):
    """Two classes given by one row of weights, written with one row a class."""
    if len(coef) == 1:
        return np.array([-coef[0] / 2, coef[0] / 2]), np.array([-intercept[0] / 2, intercept[0] / 2])
    return coef, intercept


def predicted(coef, intercept, x):
    return int(np.argmax([row @ x + b for row, b in zip(coef, intercept, strict=True)]))


def signed_distances(coef, intercept, X, codes=None):
    """For every row of X the distance to the nearest boundary of its class, or of the class predicted if codes is None.

    Two classes without codes: positive on the side of the second.
    """
    coef, intercept = two_rows(coef, intercept)
    if codes is None:
        codes = [1 if len(coef) == 2 else predicted(coef, intercept, x) for x in X]
    return np.array(
        [
            min(distance(coef, intercept, x, k, r) for r in range(len(coef)) if r != k)
            for x, k in zip(X, codes, strict=True)
        ]
    )


def projections(coef, intercept, X):
    """The nearest point to every row of X at which the class predicted there ties with another."""
    coef, intercept = two_rows(coef, intercept)
    found = []
    for x in X:
        k = predicted(coef, intercept, x)
        candidates = []
        for r in range(len(coef)):
            if r != k:
                normal = coef[k] - coef[r]
                candidates.append(x - lead(coef, intercept, x, k, r) * normal / (normal @ normal))
        found.append(min(candidates, key=lambda point: np.linalg.norm(point - x)))
    return np.array(found)


def functional_margins(coef, intercept, X, codes):
    """The lead of every example over its best rival."""
    coef, intercept = two_rows(coef, intercept)
    others = [[r for r in range(len(coef)) if r != k] for k in codes]
    return np.array(
        [min(lead(coef, intercept, x, k, r) for r in rest) for x, k, rest in zip(X, codes, others, strict=True)]
    )


def norm(coef):
    """What functional margins are divided by: |w|, or sqrt(2) times the Frobenius norm around the mean row."""
    if len(coef) == 1:
        return math.sqrt(float(np.sum(coef**2)))
    return math.sqrt(2) * math.sqrt(float(np.sum((coef - coef.mean(axis=0)) ** 2)))


# ---- bounds on updates


def with_ones(X):
    """Examples (x, 1)."""
    return np.hstack([X, np.ones((len(X), 1))])


def radius(X):
    return max(math.sqrt(float(sum(value * value for value in x))) for x in X)


def deviation(margins, gamma):
    """D: the root of the sum of max(0, gamma - margin)^2, the margins being of a unit vector."""
    return math.sqrt(sum(max(0.0, gamma - margin) ** 2 for margin in margins))


def mistake_bound(R, gamma, D=0.0, epochs=1):
    """k <= ((R + sqrt(epochs) D) / gamma)^2."""
    return ((R + math.sqrt(epochs) * D) / gamma) ** 2


def bound_from(R, gamma, *, norm=0.0, along=0.0, eta=1.0, demanded=0.0):
    """The larger root k of (k eta gamma + w0·u)^2 = |w0|^2 + k (eta^2 R^2 + 2 eta m); norm = |w0|, along = w0·u."""
    a = (eta * gamma) ** 2
    b = 2 * eta * gamma * along - (eta * R) ** 2 - 2 * eta * demanded
    c = along**2 - norm**2
    return (-b + math.sqrt(b * b - 4 * a * c)) / (2 * a)


def squared_distances(versions, rho, solution):
    """|w_k - rho w*|^2 of all versions (w, b, ...) of a run; w* = solution = (w, b), bias included."""
    w, b = solution
    return [
        float(np.sum((version[0] - rho * w) ** 2) + np.sum((np.asarray(version[1]) - rho * b) ** 2))
        for version in versions
    ]
