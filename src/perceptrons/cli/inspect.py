"""`perceptrons inspect`: what is in a model file, and which weights tell most."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from perceptrons.cli import options
from perceptrons.cli.errors import BadInputError
from perceptrons.cli.files import feature_names, load_model
from perceptrons.cli.screen import as_json, count, grid, heading, plain, screen
from perceptrons.cli.weights import every_class, intercepts, one_class, top_by_class
from perceptrons.cli.wording import NOT_PROBABILITIES, why_it_stopped

if TYPE_CHECKING:
    from perceptrons import Perceptron

SHOWN_CLASSES = 20


def inspect(
    model: options.Model,
    top: Annotated[int, typer.Option("--top", min=1, help="How many weights to show of a class.")] = 10,
    label: Annotated[str | None, typer.Option("--class", metavar="LABEL", help="Only this class.")] = None,
    json: options.Json = False,
) -> None:
    """Show what a model was trained with, what it has seen, why it stopped, and its most telling weights."""
    fitted = load_model(model)
    k = None if label is None else _number_of(fitted, label)
    if json:
        print(as_json({"model": str(model), **_facts(fitted), "weights": top_by_class(fitted, top, k)}), end="")
        return
    console = screen()
    _show_facts(fitted, console)
    binary = len(fitted.classes_) == 2
    kind = (
        "averaged weights, which stand for the votes here" if fitted.combine == "vote" else f"{fitted.combine} weights"
    )
    if binary or k is not None:
        k = len(fitted.classes_) - 1 if k is None else k
        console.print(
            heading(f"Most telling for {plain(fitted.classes_[k])} ({kind}; bias {intercepts(fitted)[k]:+.3g})")
        )
        console.print(one_class(fitted, k, top, console))
    else:
        console.print(heading(f"Most telling of each class ({kind}); all of one: --class LABEL"))
        console.print(every_class(fitted, top, SHOWN_CLASSES, console))
        if len(fitted.classes_) > SHOWN_CLASSES:
            console.print(f"and {len(fitted.classes_) - SHOWN_CLASSES} classes more (--class, --json)")
    console.print(f"\n{NOT_PROBABILITIES}")


def _facts(model: "Perceptron") -> dict[str, Any]:
    names = feature_names(model)
    return {
        "kind": type(model).__name__,
        "parameters": model.get_params(),
        "classes": model.classes_.tolist(),
        "n_features": model.n_features_in_,
        "feature_names": names,
        "examples_seen": model.t_,
        "updates": model.n_updates_,
        "epochs": model.n_iter_,
        "mistakes": model.mistakes_.tolist(),
        "stop_reason": model.stop_reason_ or None,
        "why": why_it_stopped(model),
    }


def _show_facts(model: "Perceptron", console: Any) -> None:
    from perceptrons import Perceptron

    defaults = Perceptron().get_params()
    changed = [f"{name}={value!r}" for name, value in model.get_params().items() if value != defaults[name]]
    labels = [plain(label) for label in model.classes_.tolist()]
    names = feature_names(model)
    features = f"{model.n_features_in_:,}"
    if names:
        some = names if len(names) <= 5 else [*names[:3], "...", names[-1]]
        features += ": " + "; ".join(plain(name) for name in some)
    table = grid(("", "left"), ("", "left"))
    table.columns[0].style = "dim"
    table.columns[1].no_wrap = False
    for name, value in (
        ("kind", f"{type(model).__name__}, combine={model.combine!r}"),
        ("settings", ", ".join(changed) or "all as by default"),
        ("classes", f"{len(labels)}: " + ", ".join(labels[:12]) + (", ..." if len(labels) > 12 else "")),
        ("features", features),
        ("learned", ", ".join([count(model.n_iter_, "epoch"), count(model.n_updates_, "update"),
                               f"{count(round(model.t_), 'example')} seen"])),
        ("stopped", why_it_stopped(model)),
    ):  # fmt: skip
        table.row(name, value)
    console.print(table)


def _number_of(model: "Perceptron", label: str) -> int:
    labels = [str(known) for known in model.classes_.tolist()]
    if label not in labels:
        known = ", ".join(plain(name) for name in labels[:10]) + (" ..." if len(labels) > 10 else "")
        raise BadInputError(f"--class {label}: the model has no such class, only {known}.")
    return labels.index(label)
