"""Exported models as programs: compiled C and onnxruntime, and what they answer."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import perceptrons.onnx
from perceptrons.export import as_bytes

WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")


def compiled(model, folder: Path, inputs="raw", options=("-DPERCEPTRONS_MAIN",), alone=True) -> Path:
    """The C file of a model, compiled without a warning. alone: or another file, among the options, includes it."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    source, program = folder / "model.c", folder / "model"
    source.write_bytes(as_bytes(model, ".c", inputs))
    sources = [str(source)] if alone else []
    command = [compiler, *WARNINGS, "-O1", *options, *sources, "-o", str(program), "-lm"]
    done = subprocess.run(command, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    return program


def answers(program: Path, lines: list[bytes]) -> tuple[list[str], np.ndarray]:
    """Labels and scores of one example per line."""
    done = subprocess.run(
        [str(program)], input=b"".join(line + b"\n" for line in lines), capture_output=True, check=True
    )
    cells = [line.split("\t") for line in done.stdout.decode().split("\n")[:-1]]
    return [row[0] for row in cells], np.array([[float(cell) for cell in row[1:]] for row in cells])


def c_answers(model, X, folder: Path, inputs="raw", pairs=False):
    """The same of rows of numbers."""
    program = compiled(model, folder, inputs)
    if pairs:
        X = sp.csr_matrix(X)
        parts = [slice(a, b) for a, b in zip(X.indptr, X.indptr[1:], strict=False)]
        lines = [
            " ".join(f"{c}:{v!r}" for c, v in zip(X.indices[p].tolist(), X.data[p].tolist(), strict=True))
            for p in parts
        ]
    else:
        X = X.toarray() if sp.issparse(X) else np.asarray(X)
        lines = [" ".join(map(repr, row)) for row in X.astype(np.float64).tolist()]
    return answers(program, [line.encode() for line in lines])


def onnx_answers(model, X, **how):
    """Labels and scores by onnxruntime."""
    runtime = pytest.importorskip("onnxruntime")
    content = perceptrons.onnx.convert(model, **how).SerializeToString()
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return session.run(None, perceptrons.onnx.inputs_of(model, X, **how))


def far(found, wanted) -> float:
    """The largest difference of scores, relative to the largest score."""
    found, wanted = np.asarray(found).reshape(np.shape(wanted)), np.asarray(wanted, np.float64)
    return float(np.abs(found - wanted).max() / max(np.abs(wanted).max(), np.finfo(float).tiny))


def same_c(model, X, folder: Path, within=1e-12, **how):
    labels, scores = c_answers(model, X, folder, **how)
    assert labels == [str(one) for one in model.predict(X).tolist()]
    assert far(scores, model.decision_function(X)) < within


def same_onnx(model, X, within=1e-12, **how):
    labels, scores = onnx_answers(model, X, **how)
    np.testing.assert_array_equal(labels, model.predict(X))
    assert far(scores, model.decision_function(X)) < within
