"""What `perceptrons tune` tries, and what it says when it is done, for people and for machines."""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perceptrons.cli.byclass import file_of
from perceptrons.cli.errors import BadInputError
from perceptrons.cli.screen import bar, count, grid, heading, percent, plain
from perceptrons.cli.selecting import in_words
from perceptrons.inspection.wording import shown_epochs

if TYPE_CHECKING:
    from rich.console import Console

    from perceptrons.cli.files import AnyModel
    from perceptrons.data import Table
    from perceptrons.selection import Recipe

SHOWN = 12  # settings at most
WIDEST = 24  # characters of a bar


def new_model(combine: Any, kernel: Any, max_iter: int | None, seed: int) -> "AnyModel":
    """The estimator whose settings are to be found."""
    from perceptrons import KernelPerceptron, Perceptron

    given: dict[str, Any] = {"random_state": seed}
    given |= {} if combine is None else {"combine": combine.value}
    given |= {} if max_iter is None else {"max_iter": max_iter}
    if kernel is None:
        return Perceptron(**given)
    if given.get("combine") == "pocket":
        raise BadInputError("--combine pocket does not go with --kernel: choose average, last or vote.")
    return KernelPerceptron(kernel=kernel.value, **given)


def grid_of(given: str | None, model: "AnyModel") -> Any:
    """The settings to try: the usual ones, or those of JSON, checked by name."""
    if given is None:
        return "usual"
    path = None if given.lstrip()[:1] in ("{", "[") else file_of(given)
    try:
        content = json.loads(given if path is None else path.read_text("utf-8-sig"))
    except OSError as error:
        raise BadInputError(f"--grid {plain(given, 60)}: {(error.strerror or str(error)).lower()}.") from error
    except (ValueError, RecursionError) as error:
        raise BadInputError(f'--grid {plain(given, 60)}: not JSON ({error}): give {{"C": [0.1, 1]}}.') from error
    grids = content if isinstance(content, list) else [content]
    known = model.get_params()
    for one in grids or [None]:
        if not isinstance(one, dict) or not all(isinstance(values, list) and values for values in one.values()):
            raise BadInputError(f'--grid {plain(given, 60)}: give lists of values by parameter, {{"C": [0.1, 1]}}.')
        for name in one:
            if name not in known:
                raise BadInputError(f"--grid: {plain(name)} is no parameter of {type(model).__name__}.")
    return grids


def summary(found: "Recipe") -> dict[str, Any]:
    """Everything as JSON knows it."""
    model = found.model
    return {
        **found.to_dict(),
        "kind": type(model).__name__,
        "classes": model.classes_.tolist(),
        "n_features": model.n_features_in_,
        "parameters": model.get_params(),
        "stop_reason": model.stop_reason_,
    }


def show(found: "Recipe", table: "Table", output: Path | None, console: "Console") -> None:
    """The report for people."""
    from perceptrons.selection.seal import RERUN
    from perceptrons.selection.search import named
    from perceptrons.theory.scales import scaler_for

    sizes = found.sizes
    console.print(in_words(table), markup=False)
    tested = f"{sizes['test']:,} to test on, once" if sizes["test"] else "none to test on"
    console.print(
        f"{sizes['train']:,} to learn from, {sizes['dev']:,} to choose by, {tested} (split {found.parts.how})",
        markup=False,
    )
    console.print(heading(f"Settings tried, by {found.metric} on development data"), _settings(found, console))
    if len(found.best.curve) > 1:
        console.print(heading(f"The best setting, epoch by epoch: {named(found.best)}"), _curve(found, console))
    again = "train and development examples together" if found.retrained else "the train examples"
    console.print(f"\nLearned with it from {again}.", markup=False)
    if found.test_score is None:
        console.print("There was no test: the development figure is of the best of several, and flatters.")
    else:
        assert found.test_interval is not None
        low, high, level, _ = found.test_interval
        score, least, most = (_figure(value, found.metric) for value in (found.test_score, low, high))
        opened = ", opened once" * (found.looks == 1)
        console.print(
            f"Test {found.metric} {score}, with {level:.0%} confidence from {least} to {most} "
            f"({count(sizes['test'], 'example')}{opened})",
            markup=False,
            style="bold",
        )
    if found.twice:
        console.print(
            f"{found.twice:,} of the test examples are also among those learned from or chosen by.", style="yellow"
        )
    if found.rerun:
        console.print(RERUN)
    if found.looks > 1:
        console.print(
            f"Forced: these test examples were looked at {found.looks} times by now, so that the figure may flatter. "
            "The model says so too.", style="yellow",
        )  # fmt: skip
    if scaler_for(table.X, found.model) is not None:
        console.print(
            "The features differ widely in scale: scaling them may help, more than any setting.", style="yellow"
        )
    if output is not None:
        console.print(f"\nSaved as {output}", markup=False, soft_wrap=True)
        console.print(heading("What to try next"))
        console.print(f"  perceptrons inspect {shlex.quote(str(output))}", markup=False, soft_wrap=True, style="cyan")
        console.print("      what the model looks at", style="dim")


def _settings(found: "Recipe", console: "Console") -> Any:
    from perceptrons.selection.search import named

    rows = sorted(found.settings, key=lambda setting: -setting.score)
    low, high = rows[-1].score, rows[0].score
    table = grid(("", "left"), (found.metric, "right"), ("", "left"), ("seconds", "right"))
    for setting in rows[:SHOWN]:
        share = 1.0 if high == low else 0.1 + 0.9 * (setting.score - low) / (high - low)
        name = plain(named(setting), max(12, min(44, console.width - 36)))
        cells = [name, _figure(setting.score, found.metric, 2), bar(share, WIDEST // 2, console)]
        table.row(*cells, f"{setting.seconds:.2f}", style="bold" if setting is found.best else None)
    if len(rows) > SHOWN:
        table.row(f"and {len(rows) - SHOWN} more (--json has all)", "", "", "")
    return table


def _curve(found: "Recipe", console: "Console") -> Any:
    curve, best = found.best.curve, (found.best.epochs or 1) - 1
    low, high = min(curve), max(curve)
    table = grid(("epoch", "right"), (found.metric, "right"), ("", "left"))
    for place in sorted({*shown_epochs(len(curve)), min(best, len(curve) - 1)}):
        share = 1.0 if high == low else 0.05 + 0.95 * (curve[place] - low) / (high - low)
        table.row(
            f"{place + 1}",
            _figure(curve[place], found.metric, 2),
            bar(share, WIDEST, console),
            style="bold" if place == best else None,
        )
    return table


def _figure(value: float, metric: str, digits: int = 1) -> str:
    """Shares in percent; Matthews' coefficient is none."""
    return f"{value:.{digits + 2}f}" if metric == "matthews" else percent(value, digits)
