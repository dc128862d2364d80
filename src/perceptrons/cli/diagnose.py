"""`perceptrons diagnose`: whether a hyperplane separates the classes, with proof, and what makes learning it hard."""

from pathlib import Path
from typing import Annotated, Any

import typer

from perceptrons.cli import options
from perceptrons.cli.diagnosis import Diagnosis, Effort, examine
from perceptrons.cli.errors import BadInputError, refusing
from perceptrons.cli.files import check_output, read_table, save_text
from perceptrons.cli.findings import show
from perceptrons.cli.screen import as_json, screen
from perceptrons.cli.train import check_classes
from perceptrons.cli.waiting import Waiting


def diagnose(
    data: options.Data,
    format: options.Format = None,
    label_column: options.LabelColumn = None,
    max_seconds: Annotated[
        float, typer.Option("--max-seconds", metavar="S", help="Time limit in seconds, half of it for a proof.")
    ] = 60.0,
    certificate: Annotated[
        Path | None,
        typer.Option("--certificate", metavar="FILE", readable=False, help="Write the proof here, as JSON."),
    ] = None,
    no_intercept: Annotated[bool, typer.Option("--no-intercept", help="Only hyperplanes through the origin.")] = False,
    many_classes: options.ManyClasses = False,
    json: options.Json = False,
) -> None:
    """Say whether a hyperplane separates the classes of DATA, with proof, and what makes learning it hard.

    Margin, radius and mistake bound; scales of features; equal rows with different labels, named by line.
    """
    if not max_seconds > 0:
        raise BadInputError(f"--max-seconds {max_seconds:g}: give a number above 0.")
    check_output(certificate, data)
    with Waiting("Reading ...", shown=not json) as waiting:
        table = read_table(data, format, label_column)
        check_classes(table, many_classes)
        with refusing(ValueError, TypeError, about=data):
            found = examine(table, not no_intercept, max_seconds, waiting.say)
    if certificate is not None:
        save_text(found.certificate.to_json() + "\n", certificate)
    if json:
        saved = None if certificate is None else str(certificate)
        print(as_json({**summary(found), "certificate": saved}), end="")
    else:
        show(found, certificate, screen())


def summary(found: Diagnosis) -> dict[str, Any]:
    """Everything under names that stay. Rows count from 0; lines, from 1, are null where the file has none."""
    certificate = found.certificate
    return {
        "data": str(found.table.path),
        "examples": len(found.codes),
        "features": found.table.X.shape[1],
        "classes": found.classes,
        "counts": found.counts,
        "fit_intercept": found.fit_intercept,
        "separable": found.separable,
        "why": certificate.explain(),
        "margin": None if certificate.margin is None else certificate.margin._asdict(),
        "witness": None if certificate.witness is None else _combination(found, certificate.witness),
        "effort": _effort_summary(found.effort),
        "scales": _scales_summary(found),
        "even_scale": {
            "how": "mean 0, variance 1" if found.centred else "largest absolute value 1",
            "effort": _effort_summary(found.even),
        },
        "contradictions": {
            "groups": [_rows(found, group) for group in found.groups],
            "examples": sum(map(len, found.groups)),
            "unlearnable": found.unlearnable,
            "best_accuracy": 1 - found.unlearnable / len(found.codes),
        },
        "pairs": {
            "total": found.n_pairs,
            "examined": len(found.pairs),
            "inseparable": [
                {"classes": pair.classes, **_rows(found, pair.rows)} for pair in found.pairs if pair.separable is False
            ],
            "undecided": [pair.classes for pair in found.pairs if pair.separable is None],
        },
    }


def _rows(found: Diagnosis, rows: Any) -> dict[str, Any]:
    rows = [int(row) for row in rows]
    return {
        "rows": rows,
        "lines": None if found.table.lines is None else [found.place(row) for row in rows],
        "labels": [found.classes[found.codes[row]] for row in rows],
    }


def _combination(found: Diagnosis, witness: Any) -> dict[str, Any]:
    return {
        **_rows(found, witness.rows),
        "rivals": list(witness.rivals),
        "weights": [str(weight) for weight in witness.weights],
    }


def _effort_summary(effort: Effort | None) -> dict[str, Any] | None:
    if effort is None:
        return None
    bound = effort.bound
    return {
        "at_most": bound.updates, "in_epochs": bound.epochs,
        "radius": bound.radius, "margin": bound.margin, "deviation": bound.deviation,
        "updates": effort.updates, "epochs": effort.epochs, "converged": effort.converged,
    }  # fmt: skip


def _scales_summary(found: Diagnosis) -> dict[str, Any]:
    scales = found.scales
    return {
        "radius": scales.radius,
        "farthest": _rows(found, [scales.farthest]),
        "median_norm": scales.typical,
        "deviation_ratio": found.unevenness(),
        "dominant": [
            {
                "feature": found.feature(column), "column": column, "share": float(scales.shares[column]),
                "mean": float(scales.means[column]), "standard_deviation": float(scales.deviations[column]),
            }
            for column in found.dominant(20)
        ],
        "constant": [{"feature": found.feature(column), "column": column} for column in found.constant()],
    }  # fmt: skip
