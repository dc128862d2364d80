"""A model as one file of C99 without dependencies: constant weights, and functions that score a row.

The code that is the same for all models stands in `c/`; here are the constants that it is compiled with.
"""

from importlib.resources import files
from typing import Any

import numpy as np
import scipy.sparse as sp

from perceptrons.export.c_literals import c_array, c_number, c_strings, defined
from perceptrons.export.c_names import feature_names, table_constants, text_constants
from perceptrons.export.parts import (
    COLUMNS_INSTEAD,
    Answer,
    ColumnInputs,
    Dual,
    ExportError,
    Subject,
    TableInputs,
    TaggerSubject,
    TextInputs,
    VersionsOfWeights,
    Weights,
)

HEAD = """/* A perceptron, written by perceptrons. C99, without dependencies. */
/* Include it, or compile it with -lm; with -DPERCEPTRONS_MAIN it is a program that reads examples from stdin. */

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

"""
DENSE = 4096  # columns: wider rows are read as pairs


def code(name: str) -> str:
    """A part that is the same for all models."""
    return (files("perceptrons.export") / "c" / f"{name}.c").read_text()


def as_c(subject: Subject | TaggerSubject) -> str:
    """The file."""
    if isinstance(subject, TaggerSubject):
        return _tagger(subject)
    answer, inputs, scores = subject.answer, subject.inputs, subject.scores
    n_rows = len(scores.coef if isinstance(scores, Dual) else scores.b)
    parts = [HEAD, _classes(answer.classes), defined("ROWS", n_rows), defined("COLUMNS", inputs.n_columns)]
    parts += [defined("SCORES", 1 if answer.binary else len(answer.classes)), _answer(answer)]
    if isinstance(inputs, ColumnInputs):
        parts += _columns(inputs, scores, answer)
    elif isinstance(scores, Weights):
        parts += [_weights(scores.w, scores.b), code("start")]
        parts += _text(inputs) if isinstance(inputs, TextInputs) else _table(inputs)
    else:
        raise ExportError(f"Texts or tables before a kernel or voted model cannot be exported. {COLUMNS_INSTEAD}")
    return "".join([*parts, _main(inputs, scores)])


def _classes(classes: np.ndarray) -> str:
    names = [str(one) for one in classes.tolist()]
    return defined("CLASSES", len(names)) + c_strings("perceptrons_classes", names, public=True)


# ---- weights


def _weights(w: np.ndarray, b: np.ndarray | None) -> str:
    """The weights by column, and the function that adds a feature; columns without a weight are left out if many."""
    single = w.dtype == np.float32
    kind = "float" if single else "double"
    found = "" if b is None else c_array("float" if b.dtype == np.float32 else "double", "perceptrons_bias", b)
    used = np.flatnonzero((w != 0).any(axis=0))
    if 2 * len(used) >= w.shape[1]:
        return found + c_array(kind, "perceptrons_weights", w.T, width=len(w)) + code("dense_weights")
    found += defined("USED", len(used)) + c_array("uint32_t", "perceptrons_used", used)
    return found + c_array(kind, "perceptrons_weights", w[:, used].T, width=len(w)) + code("sparse_weights")


def _columns(inputs: ColumnInputs, scores: Any, answer: Answer) -> list[str]:
    parts = []
    if inputs.shift is not None and inputs.scale is not None:
        parts += [c_array("double", "perceptrons_shift", inputs.shift)]
        parts += [c_array("double", "perceptrons_scale", inputs.scale)]
        shifted = "(((x)[j] - perceptrons_shift[j]) * perceptrons_scale[j])"
        filled = f"x[j] = {shifted.replace('(x)', '(raw)')};"
        row = f"double x[PERCEPTRONS_COLUMNS]; {{ size_t j; for (j = 0; j < PERCEPTRONS_COLUMNS; j++) {filled} }}"
    else:
        shifted, row = "((x)[j])", "const double *x = (raw);"
    if isinstance(scores, Weights):
        parts += [defined("SHIFTED(x, j)", shifted), _weights(scores.w, scores.b), code("start"), code("linear")]
        return [*parts, code("linear_sparse")] if inputs.shift is None else parts
    parts.append(defined("ROW(raw)", row))
    if isinstance(scores, Dual):
        return parts + _kernel(scores)
    return parts + _votes(scores, answer)


def _support(rows: Any) -> str:
    """Support vectors by the columns that are not 0."""
    rows = sp.csr_matrix(rows)
    kind = "float" if rows.dtype == np.float32 else "double"
    return (
        c_array("size_t", "perceptrons_support_ends", rows.indptr)
        + c_array("uint32_t", "perceptrons_support_columns", rows.indices)
        + c_array(kind, "perceptrons_support_values", rows.data)
        + code("support")
    )


SQUARE = "double own = 0.0; { size_t j; for (j = 0; j < PERCEPTRONS_COLUMNS; j++) own += x[j] * x[j]; }"
ABSOLUTE = "double own = 0.0; { size_t j; for (j = 0; j < PERCEPTRONS_COLUMNS; j++) own += fabs(x[j]); }"


def _kernel(scores: Dual) -> list[str]:
    parts = [defined("SUPPORT", scores.coef.shape[1])]
    if scores.kernel == "precomputed":
        parts += [c_array("uint32_t", "perceptrons_index", scores.index), defined("OWN(x)", "")]
        parts += [defined("KERNEL(x, s)", "((x)[perceptrons_index[s]])")]
    else:
        own = {"rbf": SQUARE, "cosine": SQUARE + " own = own > 0.0 ? sqrt(own) : 1.0;", "laplacian": ABSOLUTE}
        has_own = scores.kernel in own
        parts += [_support(scores.support) if scores.kernel != "laplacian" else _support_only(scores.support)]
        parts += [_norms(scores), _kernel_function(scores), defined("OWN(x)", own.get(scores.kernel, ""))]
        parts += [defined("KERNEL(x, s)", f"perceptrons_kernel(x, {'own, ' if has_own else ''}s)")]
    kind = "float" if scores.coef.dtype == np.float32 else "double"
    return [*parts, c_array(kind, "perceptrons_coef", scores.coef.T, width=len(scores.coef)), code("kernel")]


def _support_only(rows: Any) -> str:
    return _support(rows).removesuffix(code("support"))


def _norms(scores: Dual) -> str:
    """Squared norms of the support vectors, or their norms, where the kernel needs them."""
    if scores.kernel not in ("rbf", "cosine"):
        return ""
    rows = sp.csr_matrix(scores.support).astype(np.float64)
    squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    norms = np.sqrt(squares)
    return c_array("double", "perceptrons_norms", squares if scores.kernel == "rbf" else np.where(norms > 0, norms, 1))


def _kernel_function(scores: Dual) -> str:
    gamma, coef0 = c_number(scores.gamma), c_number(scores.coef0)
    own, dot = "", "perceptrons_dot(x, s)"
    if scores.kernel == "rbf":
        own = "double own, "
        body = (
            f"    double k = -{gamma} * (own + perceptrons_norms[s] - 2.0 * {dot});\n    return exp(k < 0.0 ? k : 0.0);"
        )
    elif scores.kernel == "cosine":
        own, body = "double own, ", f"    return {dot} / own / perceptrons_norms[s];"
    elif scores.kernel == "laplacian":
        own = "double own, "
        body = (
            "    size_t p;\n    for (p = perceptrons_support_ends[s]; p < perceptrons_support_ends[s + 1]; p++) {\n"
            "        double here = x[perceptrons_support_columns[p]];\n"
            "        own += fabs(here - (double)perceptrons_support_values[p]) - fabs(here);\n    }\n"
            f"    return exp(-{gamma} * own);"
        )
    elif scores.kernel == "poly":
        body = (
            f"    double k = {gamma} * {dot} + {coef0}, power = 1.0;\n    int degree = {scores.degree};\n"
            "    for (; degree > 0; degree /= 2, k *= k)\n        if (degree % 2)\n            power *= k;\n"
            "    return power;"
        )
    else:
        body = f"    return tanh({gamma} * {dot} + {coef0});" if scores.kernel == "sigmoid" else f"    return {dot};"
    return f"\nstatic double perceptrons_kernel(const double *x, {own}size_t s)\n{{\n{body}\n}}\n"


def _votes(scores: VersionsOfWeights, answer: Answer) -> list[str]:
    binary = len(scores.b) == 1
    steps = scores.signed if binary else scores.step
    parts = [
        _weights(scores.w, scores.b), code("start"), _support(scores.support), defined("UPDATES", len(scores.which)),
        defined("ONE", c_number(scores.one)), defined("TOTAL", c_number(max(scores.t, np.finfo(float).tiny))),
        c_array("uint32_t", "perceptrons_which", scores.which), c_array("double", "perceptrons_steps", steps),
        c_array("double", "perceptrons_faded", scores.faded), c_array("double", "perceptrons_counts", scores.counts),
    ]  # fmt: skip
    if binary:
        return [*parts, defined("ABOVE", ">=" if answer.positive_at_zero else ">"), code("votes_binary")]
    parts += [c_array("uint32_t", "perceptrons_true", scores.y), c_array("uint32_t", "perceptrons_taken", scores.y_hat)]
    return [*parts, code("votes_multiclass")]


# ---- texts and tables


def _text(inputs: TextInputs) -> list[str]:
    return [*feature_names(inputs.columns, code), *text_constants(inputs.text, [], code), code("text")]


def _table(inputs: TableInputs) -> list[str]:
    parts = [*feature_names(inputs.columns, code, inputs.n_columns)]
    if inputs.text is not None:
        parts += text_constants(inputs.text, inputs.prefixes, code)
    parts += [defined("TEXTS", len(inputs.texts)), *table_constants(inputs), code("table")]
    return [*parts, code("table_alone" if inputs.text is None else "table_texts")]


# ---- answers, and the program


def _answer(answer: Answer) -> str:
    """The function that gives the number of the class by the scores of the rows of weights."""
    above = ">=" if answer.positive_at_zero else ">"
    found = defined("SEVERAL", int(answer.several)) + defined("HOLDS", "")
    found = found.replace("#define PERCEPTRONS_HOLDS \n", f"#define perceptrons_holds(score) ((score) {above} 0.0)\n")
    if answer.binary:
        wins = f"{above} 0.0" if answer.threshold is None else f">= {c_number(answer.threshold)}"
        body = f"    scores[0] = rows[0];\n    return scores[0] {wins};"
    elif answer.several:
        body = (
            "    size_t r;\n    int n = 0;\n    for (r = 0; r < PERCEPTRONS_CLASSES; r++) {\n"
            "        scores[r] = rows[r];\n        n += perceptrons_holds(rows[r]);\n    }\n    return n;"
        )
    else:
        body = "    size_t r, best = 0;\n" + (DUELS.replace("ABOVE", above) if answer.duels else COPY) + BEST
    return f"{found}\nstatic int perceptrons_answer(const double *rows, double *scores)\n{{\n{body}\n}}\n"


COPY = "    for (r = 0; r < PERCEPTRONS_CLASSES; r++)\n        scores[r] = rows[r];\n"
BEST = (
    "    for (r = 1; r < PERCEPTRONS_CLASSES; r++)\n        if (scores[r] > scores[best])\n            best = r;\n"
    "    return (int)best;"
)
DUELS = """    size_t a, b, row = 0;
    double won[PERCEPTRONS_CLASSES], sums[PERCEPTRONS_CLASSES];
    for (r = 0; r < PERCEPTRONS_CLASSES; r++)
        won[r] = sums[r] = 0.0;
    for (a = 0; a < PERCEPTRONS_CLASSES; a++)
        for (b = a + 1; b < PERCEPTRONS_CLASSES; b++, row++) {
            won[rows[row] ABOVE 0.0 ? b : a] += 1.0;
            sums[b] += rows[row];
            sums[a] -= rows[row];
        }
    for (r = 0; r < PERCEPTRONS_CLASSES; r++)
        scores[r] = won[r] + sums[r] / (3.0 * (fabs(sums[r]) + 1.0));
"""


def _main(inputs: Any, scores: Any) -> str:
    """The program, with the reader of lines that fits the inputs."""
    if isinstance(inputs, TextInputs):
        reader = code("read_text")
    elif isinstance(inputs, TableInputs):
        texts = inputs.text is not None
        member = "perceptrons_workspace space;" if texts else ""
        call = "perceptrons_predict_table((e)->numbers, (e)->cells, s)"
        if texts:
            cells = "(e)->cells + PERCEPTRONS_CATEGORIES"
            call = f"perceptrons_predict_table(&(e)->space, (e)->numbers, (e)->cells, {cells}, s)"
        reader = defined("SPACE_MEMBER", member) + defined("PREDICT_CELLS(e, s)", call) + code("read_table")
    else:
        wide = inputs.n_columns > DENSE and isinstance(scores, Weights) and inputs.shift is None
        reader = code("read_pairs" if wide else "read_numbers")
    return code("main").replace("\nstatic char perceptrons_line", f"\n{reader}\nstatic char perceptrons_line", 1)


def _tagger(subject: TaggerSubject) -> str:
    k = len(subject.classes)
    return "".join([
        HEAD.replace("; with -DPERCEPTRONS_MAIN it is a program that reads examples from stdin", ""),
        _classes(subject.classes), defined("ROWS", k), defined("COLUMNS", len(subject.w)),
        _weights(np.ascontiguousarray(subject.w.T), None),
        c_array("double", "perceptrons_arcs", subject.arcs, width=k + 1), code("tagger"),
    ])  # fmt: skip
