"""What the library makes of runs of the lab page: read as JSON from stdin, weights written as JSON to stdout.

Run as a program of its own, since numba reads how to compile when it starts. As compiled for this processor, the
library may take the sums of an expression in another order, and join a product and a sum into one rounding (fused
multiply-add), which JavaScript never does: weights then differ in their last bits. Compiled without optimization and
for a processor without that instruction, it computes as its source is written. The page is compared with that.
"""

import json
import os
import platform
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from tools.compiled import cache_folder

ROOT = Path(__file__).parent.parent.parent
X86 = platform.machine().lower() in ("x86_64", "amd64")  # the smallest version of others has the instruction, too


def answers(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The library's answers to cases, computed by a process that compiles as the source is written."""
    how = {"NUMBA_OPT": "0", "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    env = {**os.environ, **how, "NUMBA_CACHE_DIR": f"{cache_folder()}-as-written"}
    ran = subprocess.run(
        [sys.executable, "-m", "tests.support.lab_library"],
        input=json.dumps(cases), capture_output=True, text=True, env=env, cwd=ROOT, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-3000:]
    return json.loads(ran.stdout)


def train(case: dict[str, Any]) -> dict[str, Any]:
    """Weights of the library after the visits of one case."""
    return _kernel(case) if case["kernel"] else _linear(case)


def _linear(case: dict[str, Any]) -> dict[str, Any]:
    from perceptrons import Perceptron

    X, y, rule = np.array(case["x"], float), np.array(case["y"]), case["rule"]
    constant = rule["step"] == "constant"
    parameters = {
        "step": rule["step"], "eta0": rule["eta"] if constant else 1.0, "C": 1.0 if constant else rule["C"],
        "margin": rule["margin"], "zero_score": rule["zero"],
        "batch_size": rule["batch"] or "all", "intercept_scaling": 1, "fit_intercept": case["bias"],
        "shuffle": False, "tol": None, "random_state": 0,
    }  # fmt: skip
    if rule["decay"]:
        parameters |= {"penalty": "l2", "alpha": rule["decay"] / parameters["eta0"]}
    start = {"coef_init": np.array(case["w"]), "intercept_init": np.array(case["b"])}
    classes = np.array(case["classes"])
    out: dict[str, Any] = {}
    for combine in ("last", "average"):
        model = Perceptron(combine=combine, max_iter=1, warm_start=True, keep_learning="average", **parameters)
        _begin(model, X, y, classes, start, case["orders"])
        out[combine] = {"w": model.coef_.tolist(), "b": model.intercept_.tolist()}
        out["mistakes"], out["updates"] = int(model.n_mistakes_), int(model.n_updates_)
    return out


def _begin(model: Any, X: Any, y: Any, classes: Any, start: Any, orders: list[list[int]]) -> None:
    """Epoch by epoch, in the given orders. `partial_fit` takes no start, so the first epoch is `fit`'s."""
    for epoch, order in enumerate(orders):
        if epoch == 0:
            model.fit(X[order], y[order], **start)
        else:
            model.partial_fit(X[order], y[order])
    assert list(model.classes_) == list(classes)


def _kernel(case: dict[str, Any]) -> dict[str, Any]:
    from perceptrons import KernelPerceptron

    X, y, kernel = np.array(case["x"], float), np.array(case["y"]), case["kernel"]
    model = KernelPerceptron(
        kernel=kernel["name"], gamma=kernel["gamma"], degree=kernel["degree"], coef0=1, eta0=case["rule"]["eta"],
        shuffle=False, max_iter=len(case["orders"]), tol=None, combine="last",
    )  # fmt: skip
    model.fit(X, y)
    alpha = np.zeros((len(model.classes_) if len(model.classes_) > 2 else 1, len(X)))
    alpha[:, model.support_] = np.atleast_2d(model.dual_coef_)
    return {"alpha": alpha.tolist(), "updates": int(model.n_updates_), "scores": model.decision_function(X).tolist()}


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of runs that have not converged
    json.dump([train(case) for case in json.load(sys.stdin)], sys.stdout)
