"""`perceptrons tune`: tunes hyperparameters on a validation set, trains the model and tests it once."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from perceptrons.cli.errors import BadInputError, refusing_data
from perceptrons.cli.files import check_folder, check_output, save_model
from perceptrons.cli.inputs import SHARE, groups_in, like_table, name_of, opened, whole
from perceptrons.cli.options import READING, takes
from perceptrons.cli.parameters import by_class, grid_of, model_to_tune
from perceptrons.cli.screen import (
    Waiting,
    as_json,
    count,
    grid,
    heading,
    metric_text,
    plain,
    say,
    score_bar,
    screen,
    show_suggestions,
)
from perceptrons.cli.threshold import check_threshold, is_chosen, wanted_by
from perceptrons.cli.threshold import in_words as threshold_in_words
from perceptrons.engine.wording import shown_epochs

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console

    from perceptrons.cli.hold_out import HoldOut
    from perceptrons.data import Table
    from perceptrons.selection import Recipe

UNREMEMBERED = "{path}: {why}. This use of the test set is not recorded; to record it, use --ledger FILE."
SHOWN = 12  # settings at most
WIDEST = 24  # characters of a bar
SPLITTING = ("dev_share", "test_share", "test", "group_column", "time_order", "seed", "metric", "force", "ledger")


@takes(
    "files", "output", *READING, "dev", *SPLITTING, "folds", "grid", "combine", "kernel", "max_iter", "threshold",
    "probabilities", "no_retrain", "jobs", "quiet", "json",
)  # fmt: skip
def tune(asked: Any) -> None:
    """Tune hyperparameters on a validation set, train with the best ones, and test the model once.

    The data are split into a training set, a validation set to choose hyperparameters by, and a test set that is used
    once, at the end. One run per setting finds the number of epochs. A second use of the same test set is refused
    unless you give --force; the results and the model then say so. Running the same command again is allowed.
    """
    from perceptrons.selection import recipe

    check_split(asked, dev=(asked.dev, asked.dev_share), test=(asked.test, asked.test_share))
    _check_folds(asked)
    check_threshold(asked)
    check_output(asked.output, *asked.files, asked.dev, asked.test)
    check_folder(asked.output)
    where = ledger_file(asked.ledger, asked.quiet)
    model = model_to_tune(asked)
    if asked.probabilities is not None:
        model.set_params(probability=str(asked.probabilities))
    settings = grid_of(asked.grid, model)
    waiting = Waiting("Trying settings ...", shown=not (asked.quiet or asked.json))
    table, groups = read_examples(asked)
    parts, folds, reason = _parts(table, groups, asked)
    threshold = _threshold(table, asked)
    with waiting, refusing_what_is_wrong(name_of(table)):
        found = recipe(
            model, table.X, labels_of(table), settings, **parts, retrain=not asked.no_retrain, random_state=asked.seed,
            split="time" if asked.time_order else None, groups=groups, keys=table.keys, metric=asked.metric.value,
            force=asked.force, ledger=where, n_jobs=asked.jobs, folds=folds, threshold=threshold,
            tell=lambda setting: waiting.say(f"Tried {setting.describe()}: {setting.score:.4f} ..."),
        )  # fmt: skip
    table.teach(found.model)
    if asked.output is not None:
        save_model(found.model, asked.output)
    if asked.json:
        saved = None if asked.output is None else str(asked.output)
        data = [str(path) for path in asked.files]
        warnings = [*reason, *test_set_warnings_of(found.parts, table, asked), *_majority_warnings(found, table)]
        print(as_json({"data": data, "model": saved, **summary(found), "warnings": warnings}), end="")
    elif not asked.quiet:
        warnings = [*reason, *test_set_warnings_of(found.parts, table, asked)]
        after = [*_majority_warnings(found, table), *advice(found, table)]
        show(found, in_words(table), asked.output, screen(), advice=after, warnings=warnings)


def _parts(table: "Table", groups: Any, asked: Any) -> tuple[dict[str, Any], int | None, list[str]]:
    """The validation and test sets as `recipe` takes them, the number of folds, and why it is not what was asked for.

    Examples that are too few for a test set are all used to choose hyperparameters, by cross-validation.
    """
    from perceptrons.cli.hold_out import FOLDS, has_enough_for_folds

    parts = {
        name: part_of(path, share, table, asked)
        for name, path, share in (("dev", asked.dev, asked.dev_share), ("test", asked.test, asked.test_share))
    }
    hold_out = hold_out_for(asked, groups)
    if table.several or hold_out.share is not None or hold_out.share_of(table.y):
        return parts, asked.folds, []
    reason = f"The examples are too few to hold out {SHARE:.0%} for testing"
    options = (asked.folds, asked.dev, asked.dev_share, asked.probabilities)
    if any(options) or asked.no_retrain or is_chosen(asked) or not has_enough_for_folds(table.y):
        return {**parts, "test": 0}, asked.folds, [f"{reason}: give more, or another file with --test."]
    return {**parts, "test": 0}, FOLDS, [f"{reason}, so hyperparameters are chosen by {FOLDS}-fold cross-validation."]


def test_set_warnings_of(parts: Any, table: "Table", asked: Any) -> list[str]:
    """Warnings about a test set that was held out of a table."""
    from perceptrons.cli.hold_out import FOLDS, count_by_class, test_set_warnings

    if asked.test is not None or parts.test is None:
        return []
    n, n_tested, share = table.X.shape[0], len(parts.test), SHARE if asked.test_share is None else asked.test_share
    n_tested_of = {} if table.several else count_by_class(parts.test.taken()[1], table.y)
    return test_set_warnings(
        share, n_tested, n, n_tested_of, f"perceptrons train --folds {FOLDS} tests on all examples"
    )


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


def advice(found: "Recipe", table: "Table") -> list[str]:
    """What may help more than any setting."""
    from perceptrons.theory.scales import scaler_for

    if scaler_for(table.X, found.model) is None:
        return []
    return ["The features differ widely in scale: scaling them may help more than any hyperparameter."]


def _majority_warnings(found: "Recipe", table: "Table") -> list[str]:
    """Warnings about a model that is no better than always predicting the commonest class."""
    from perceptrons.cli.hold_out import majority_warnings

    if table.several or found.metric != "accuracy":
        return []
    if found.parts.test is None or found.test_score is None:
        return majority_warnings(table.y, found.dev_score)
    return majority_warnings(found.parts.test.taken()[1], found.test_score)


def show(
    found: "Recipe", about: str, output: Path | None, console: "Console", thing: str = "example",
    advice: Sequence[str] = (), warnings: Sequence[str] = (),
) -> None:  # fmt: skip
    """The report for people. about: the data; thing: what there is of them; warnings: about the test set."""
    sizes = found.sizes
    console.print(about, markup=False)
    tested = f"{sizes['test']:,} for the test" if sizes["test"] else "no test set"
    folds = len(found.best.folds)
    held = f"in {folds} folds for cross-validation" if folds else f"{sizes['dev']:,} for validation"
    console.print(f"{sizes['train']:,} for training, {held}, {tested} (split {found.parts.how})", markup=False)
    by = f"mean {found.metric} over {folds} folds" if folds else f"{found.metric} on the validation set"
    console.print(heading(f"Settings tried, by {by}"), _settings(found, console))
    if len(found.best.curve) > 1:
        console.print(heading(f"The best setting, by epoch: {found.best.describe()}"), _curve(found, console))
    both = found.retrained and not folds
    again = f"the training and validation {thing}s together" if both else f"the training {thing}s"
    console.print(f"\nTrained with it on {again}.", markup=False)
    if getattr(found.model, "threshold_", None) is not None:
        console.print(threshold_in_words(found.model, found.threshold), markup=False)
    if found.calibrated is not None:
        from perceptrons.modelfile.summary import calibration_in_words

        console.print(f"Probabilities {calibration_in_words(found.model)}", markup=False)
    for warning in warnings:
        console.print(warning, markup=False, style="yellow")
    for line, style in _outcome(found, thing):
        console.print(line, markup=False, style=style)
    for line in advice:
        console.print(line, markup=False, style="yellow")
    if output is not None:
        console.print(f"\nSaved as {output}", markup=False, soft_wrap=True)
        again = f"perceptrons inspect {shlex.quote(str(output))}"
        show_suggestions([(again, "show the most important features")], console)


def _outcome(found: "Recipe", thing: str) -> Iterator[tuple[str, str | None]]:
    """What the test says, and what weakens it."""
    from perceptrons.selection.test_set_ledger import RERUN

    if found.test_score is None or found.test_interval is None:
        yield (
            "There was no test. The validation score chose the best of several settings, so it is too optimistic.",
            None,
        )
    else:
        low, high, level, _ = found.test_interval
        digits = 1 if thing == "example" else 2  # a test set has many more tokens than sentences
        score, least, most = (metric_text(found.metric, value, digits) for value in (found.test_score, low, high))
        tested = f"{count(found.sizes['test'], thing)}{', used once' * (found.looks == 1)}"
        sure = f"with {level:.0%} confidence from {least} to {most}"
        yield f"Test {found.metric} {score}, {sure} ({tested})", "bold"
    if found.twice:
        yield f"{found.twice:,} of the test {thing}s also occur in the training or validation set.", "yellow"
    if found.rerun:
        yield RERUN, None
    if found.looks > 1:
        forced = f"Forced: these test {thing}s have been used {found.looks} times"
        yield f"{forced}, so the score may be too optimistic. The model file records this.", "yellow"


def _settings(found: "Recipe", console: "Console") -> Any:
    rows = sorted(found.settings, key=lambda setting: -setting.score)
    table = grid(("", "left"), (found.metric, "right"), ("", "left"), ("seconds", "right"))
    for setting in rows[:SHOWN]:
        name = plain(setting.describe(), max(12, min(44, console.width - 36)))
        length = score_bar(setting.score, WIDEST // 2, console)
        cells = [name, metric_text(found.metric, setting.score, 2), length, f"{setting.seconds:.2f}"]
        table.row(*cells, style="bold" if setting is found.best else None)
    if len(rows) > SHOWN:
        table.row(f"and {len(rows) - SHOWN} more (--json has all)", "", "", "")
    return table


def _curve(found: "Recipe", console: "Console") -> Any:
    curve, best = found.best.curve, (found.best.epochs or 1) - 1
    table = grid(("epoch", "right"), (found.metric, "right"), ("", "left"))
    for place in sorted({*shown_epochs(len(curve)), min(best, len(curve) - 1)}):
        length = score_bar(curve[place], WIDEST, console)
        cells = [f"{place + 1}", metric_text(found.metric, curve[place], 2), length]
        table.row(*cells, style="bold" if place == best else None)
    return table


def _check_folds(asked: Any) -> None:
    """Refuse what does not go with folds."""
    if asked.folds is None:
        return
    for given, option in ((asked.dev, "--dev"), (asked.dev_share, "--dev-share"), (asked.time_order, "--time-order"),
                          (asked.no_retrain, "--no-retrain")):  # fmt: skip
        if given:
            raise BadInputError(f"--folds and {option} cannot be combined: hyperparameters are chosen by all folds.")


def _threshold(table: "Table", asked: Any) -> Any:
    """As `recipe` takes it: costs by the classes of the data."""
    assert table.y is not None
    if table.classes is not None and asked.threshold is not None:
        raise BadInputError(
            f"--threshold is for two classes, but {name_of(table)} has several labels per example: leave it out."
        )
    known = {str(label): label for label in table.y.tolist()} if is_chosen(asked) else {}
    return by_class(wanted_by(asked), known) if is_chosen(asked) else asked.threshold


# ---- what tune and compare share: examples with groups, splits, and the ledger of uses of test sets


def check_split(asked: Any, **parts: tuple[Path | None, float | None]) -> None:
    """Refuse what does not go together. parts: by name, the file and the share that were given for each."""
    check_shares(**parts)
    if asked.time_order and asked.group_column is not None:
        raise BadInputError("--time-order and --group-column cannot be combined: split by time, or by groups.")


def check_shares(**parts: tuple[Path | None, float | None]) -> None:
    """Refuse both a file and a share for one part, and shares that are none."""
    for name, (path, share) in parts.items():
        if path is not None and share is not None:
            raise BadInputError(f"--{name} and --{name}-share cannot be combined: give a file, or a share to hold out.")
        if share is not None and not 0 <= share < 1:
            raise BadInputError(f"--{name}-share {share:g}: give a share from 0 to below 1.")


def hold_out_for(asked: Any, groups: "np.ndarray | None") -> "HoldOut":
    """How to hold out the test set; `compare` always needs one."""
    from perceptrons.cli.hold_out import HoldOut

    share = 0.0 if asked.test is not None else asked.test_share
    if share is None and not hasattr(asked, "folds"):
        share = SHARE
    return HoldOut(share, asked.seed, asked.time_order, groups)


def read_examples(asked: Any) -> tuple["Table", "np.ndarray | None"]:
    """All examples, and their groups if there are any."""
    from perceptrons.data.table import check_classes

    groups = None if asked.group_column is None else groups_in(asked.files, asked, asked.group_column)
    changes = {} if groups is None else {"ignore": [*(asked.ignore or []), asked.group_column]}
    reader = opened(asked.files, SimpleNamespace(**{**vars(asked), **changes}))
    hold_out_for(asked, groups).apply_to(reader)
    table = whole(reader)
    if groups is not None and len(groups) != table.X.shape[0]:
        raise BadInputError(
            f"--group-column {plain(asked.group_column)}: only {len(groups):,} of {table.X.shape[0]:,} examples have "
            "a value: add the missing ones."
        )
    if table.weight is not None:
        raise BadInputError(
            f"{name_of(table)}: has example weights, which only perceptrons train supports: remove them."
        )
    with refusing_data():
        check_classes(table, asked.many_classes)
    return table, groups


def part_of(path: Path | None, share: float | None, table: "Table", asked: Any) -> Any:
    """A validation or test set as `recipe` takes it: the examples of a file, or a share."""
    if path is None:
        return SHARE if share is None else share
    more = like_table(table, path, asked)
    return more.X, labels_of(more)


def labels_of(table: "Table") -> Any:
    """The labels as `recipe` and `compare` take them: where examples may have several, sets of them."""
    return table.y if table.classes is None else table.label_sets


def in_words(table: "Table") -> str:
    assert table.y is not None
    n, d = table.X.shape
    if table.classes is not None:
        classes = count(len(table.classes), "label")
    else:
        classes = count(len(set(table.y.tolist())), "class", "classes")
    return f"{name_of(table)}: {count(n, 'example')}, {count(d, 'feature')}, {classes}"


def ledger_file(asked: Path | None, quiet: bool = False) -> Path | None:
    """Where uses of test sets are remembered: as asked, or in the user's folder for program state.

    None, and a line on stderr, if there is no such folder and none can be made: they are not remembered then.
    """
    from perceptrons.selection.test_set_ledger import usual_ledger

    if asked is not None:
        if (asked.exists() and not asked.is_file()) or not asked.parent.is_dir():
            raise BadInputError(
                f"--ledger {asked}: this is not a regular file in an existing folder: give another name."
            )
        return asked
    path, why = usual_ledger()
    if why is None:
        return path
    if not quiet:
        say(UNREMEMBERED.format(path=path.parent, why=why))
    return None


@contextmanager
def refusing_what_is_wrong(name: str) -> Iterator[None]:
    """Turn what splitting, learning and the seal find wrong with the data into refusals, in the command's words."""
    from perceptrons.selection import OpenedBeforeError

    try:
        yield
    except OpenedBeforeError as error:
        again = OpenedBeforeError(error.n, error.looks, "use another test set (--test FILE, --seed N), or give --force")
        raise BadInputError(f"{name}: {again}") from error
    except OSError as error:
        raise BadInputError(f"{error.filename}: {error.strerror}") from error
    except (ValueError, TypeError) as error:
        raise BadInputError(f"{name}: {error}") from error
