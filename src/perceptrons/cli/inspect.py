"""`perceptrons inspect`: what is in a model file, and which weights, or support examples, tell most."""

from typing import TYPE_CHECKING, Any

from perceptrons.cli.columns import (
    audit,
    hashing_in_words,
    listed_names,
    names_of,
    shared_in_words,
    show_collisions,
    source_in_words,
)
from perceptrons.cli.errors import BadInputError
from perceptrons.cli.files import is_kernel, is_tagger, load_any, several_labels
from perceptrons.cli.never import never_in_words, never_updated
from perceptrons.cli.ondata import look_at, show_found
from perceptrons.cli.options import READING, given, takes, typed
from perceptrons.cli.screen import as_json, count, grid, heading, listed, plain, screen
from perceptrons.cli.support import kernel_facts, kernel_in_words, support_in_words, support_names, top_support
from perceptrons.cli.tag.inside import inspect_tagger
from perceptrons.cli.weights import rows_of, show_rows, top_by_row
from perceptrons.inspection.wording import NOT_PROBABILITIES, apart, settings, tested, why_it_stopped

if TYPE_CHECKING:
    from perceptrons import SequencePerceptron
    from perceptrons.cli.files import AnyModel
    from perceptrons.cli.weights import Row

SHOWN_ROWS = 20
MORE = " (--class, --json)"
CALIBRATE = """For probabilities, in Python, with examples that it has not learned from:
    CalibratedClassifierCV(FrozenEstimator(perceptrons.load(MODEL))).fit(X, y)"""


@takes(
    "model", "top", "label", "data:inspected", "example:number", *READING, "collisions", "json",
)  # fmt: skip
def inspect(asked: Any) -> None:
    """Show what a model was trained with, what it has seen, why it stopped, and its most telling weights.

    Of a model with a kernel, its support examples with the largest coefficients; of a tagger, also its transitions.
    With data: whether weights can be compared, how undivided votes are, and why one example is answered as it is.
    """
    model, top, label = load_any(asked.model), asked.top, asked.label
    _check_data(model, asked)
    if is_tagger(model):
        inspect_tagger(model, asked.model, top, label, asked.json)
        return
    mirrored = asked.json or label is not None
    rows = [row for row in rows_of(model, mirrored=mirrored) if label is None or row.is_about(label)]
    if not rows:
        known = listed(model.classes_.tolist())
        raise BadInputError(f"--class {label}: the model has no such class, only {known}.")
    hashing = None if is_kernel(model) else audit(model, rows, top)
    if asked.collisions and hashing is None:
        raise BadInputError(
            f"{asked.model}: its features are not hashed, so none share a column: leave --collisions out."
        )
    found = None if not asked.data else look_at(model, asked.data, asked)
    if asked.json:
        inside = {"support": top_support(model, rows, top)} if is_kernel(model) else {
            "weights": top_by_row(model, rows, top)}  # fmt: skip
        seen = {} if found is None else {"on_data": found.as_json(top)}
        print(as_json({"model": str(asked.model), **_facts(model), "hashing": hashing, **inside, **seen}), end="")
        return
    console = screen()
    _show_facts(model, hashing, rows, console)
    if asked.collisions:
        assert hashing is not None
        show_collisions(hashing, console)
        return
    (_show_support if is_kernel(model) else _show_weights)(model, rows, top, console)
    if found is not None:
        show_found(found, model, top, console)
    console.print(f"\n{NOT_PROBABILITIES}")
    if not several_labels(model):
        console.print(CALIBRATE, style="dim", markup=False, soft_wrap=True)


def _check_data(model: "AnyModel | SequencePerceptron", asked: Any) -> None:
    """Refuse options that go with --data alone, or with a tagger."""
    if not asked.data:
        for name in given(asked, ("example", *READING)):
            raise BadInputError(f"{typed(name)} is for --data DATA: give it.")
    if asked.data and is_tagger(model):
        raise BadInputError(f"{asked.model}: is a tagger: explain a sentence in Python, with model.explain(tokens).")


def _show_weights(model: "AnyModel", rows: list["Row"], top: int, console: Any) -> None:
    kind = "averaged weights, which stand for the votes here" if model.combine == "vote" else f"{model.combine} weights"
    if len(rows) == 1:
        console.print(heading(f"Most telling for {rows[0].title()} ({kind}; bias {rows[0].bias:+.3g})"))
    elif rows[0].thing == "class":
        console.print(heading(f"Most telling of each class ({kind}); all of one: --class LABEL"))
    else:
        console.print(heading(f"Most telling of A vs B ({kind}; + for B); all of one: --class 'A vs B'"))
    show_rows(rows, names_of(model), top, SHOWN_ROWS, console, where_more=MORE)


def _show_support(model: "AnyModel", rows: list["Row"], top: int, console: Any) -> None:
    assert is_kernel(model)
    kind = "averaged, which stand for the votes here" if model.combine == "vote" else model.combine
    of_one = f" for {rows[0].title()}" if len(rows) == 1 else ""
    console.print(heading(f"Support examples with the largest coefficients{of_one} ({kind})"))
    if len(rows) > 1:
        console.print("Of each class, + for it, - against it; all of one: --class LABEL", style="dim")
    if (model.support_ >= 0).any():
        console.print("Examples as they came when it learned, counted from 1", style="dim")
    show_rows(rows, support_names(model), top, SHOWN_ROWS, console, ("example", "coefficient"), MORE)


def _facts(model: "AnyModel") -> dict[str, Any]:
    return {
        "kind": type(model).__name__,
        "parameters": model.get_params(),
        **(kernel_facts(model) if is_kernel(model) else {}),
        "classes": model.classes_.tolist(),
        "several_labels": several_labels(model),
        "n_features": model.n_features_in_,
        "feature_names": listed_names(model),
        "source": getattr(model, "source_", None),
        "examples_seen": model.t_,
        "updates": model.n_updates_,
        "n_mistakes": model.n_mistakes_,
        "epochs": model.n_iter_,
        "mistakes": model.mistakes_.tolist(),
        "stop_reason": model.stop_reason_ or None,
        "why": why_it_stopped(model),
        "recipe": getattr(model, "recipe_", None),
        "never_updated": never_updated(model),
    }


def _show_facts(model: "AnyModel", hashing: dict[str, Any] | None, rows: list["Row"], console: Any) -> None:
    labels = model.classes_.tolist()
    names = listed_names(model)
    features = f"{model.n_features_in_:,}"
    if names:
        some = names if len(names) <= 5 else [*names[:3], "...", names[-1]]
        features += ": " + "; ".join(plain(name) for name in some)
    several = ", several labels an example" if several_labels(model) else ""
    mistakes = "" if model.n_mistakes_ == model.n_updates_ else f"{count(model.n_mistakes_, 'mistake')}, "
    kernel = []
    if is_kernel(model):
        kernel = [("kernel", kernel_in_words(model)), ("keeps", support_in_words(model))]
    source = getattr(model, "source_", None)
    read = [("reads", source_in_words(source))] if source else []
    if hashing is not None:
        read += [("hashing", hashing_in_words(hashing)), ("shared", shared_in_words(hashing, rows))]
    never = never_updated(model) or {"count": 0}
    idle = [("never updated", never_in_words(never))] if never["count"] else []
    table = grid(("", "left"), ("", "left"))
    table.columns[0].style = "dim"
    table.columns[1].no_wrap = False
    for name, value in (
        ("kind", f"{type(model).__name__}, combine={model.combine!r}{several}"),
        *kernel,
        ("settings", settings(model) or "all as by default"),
        ("classes", f"{len(labels)}: {listed(labels, 12)}"),
        ("features", features),
        *idle,
        *read,
        ("learned", f"{count(model.n_iter_, 'epoch')}, {mistakes}{count(model.n_updates_, 'update')}{apart(model)}, "
                    f"{count(round(model.t_), 'example')} seen"),
        ("stopped", why_it_stopped(model)),
        *([("tested", tested(model))] if hasattr(model, "recipe_") else []),
    ):  # fmt: skip
        table.row(name, value)
    console.print(table)
