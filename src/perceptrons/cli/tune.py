"""`perceptrons tune`: tunes hyperparameters on a validation set, trains the model and tests it once."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perceptrons.cli import hold_out, models
from perceptrons.cli.files import SHARE, check_folder, check_output, name_of, save_model
from perceptrons.cli.hold_out import FOLDS, HoldOut
from perceptrons.cli.options import TuneOptions, command, given, typed
from perceptrons.cli.screen import (
    BadInputError,
    Waiting,
    bar,
    count,
    grid,
    heading,
    metric_text,
    plain,
    print_result,
    show_saved,
    show_suggestions,
)
from perceptrons.engine.wording import shown_epochs

if TYPE_CHECKING:
    from perceptrons import KernelPerceptron, Perceptron
    from perceptrons.cli.consoles import Grid, Screen
    from perceptrons.data import Table
    from perceptrons.selection import Recipe

MAX_SETTINGS_SHOWN = 12
MAX_BAR_WIDTH = 24  # characters


@command
def tune(options: TuneOptions) -> None:
    """Tune hyperparameters on a validation set, train with the best ones, and test the model once.

    The data are split into a training set, a validation set to choose hyperparameters by, and a test set that is used
    once, at the end. One run per setting finds the number of epochs. A second use of the same test set is refused
    unless you give --force; the results and the model then say so. Running the same command again is allowed.
    """
    from perceptrons.theory.scales import scaler_for

    hold_out.check_split(options)
    for name in given(options, ("dev", "dev_share", "time_order", "no_retrain")) if options.folds is not None else ():
        raise BadInputError(f"--folds and {typed(name)} cannot be combined: hyperparameters are chosen by all folds.")
    models.check_calibration(options, options.folds)
    check_output(options.output, *options.data, options.dev, options.test)
    check_folder(options.output)
    ledger = hold_out.find_ledger(options)
    model = model_to_tune(options)
    if options.probabilities is not None:
        model.set_params(probability=options.probabilities)
    settings = models.read_grid(options.grid, model)
    table, groups, method = hold_out.read_examples(options.data, options, options, needs_test_set=False)
    parts, folds, reason = _parts(table, method, options)
    result = find_best(
        options, name_of(table), model, table.X, hold_out.labels_of(table), settings, **parts, groups=groups,
        keys=table.keys, metric=options.metric, ledger=ledger, folds=folds, threshold=_threshold(table, options),
    )  # fmt: skip
    table.teach(result.model)
    save_model(result.model, options.output)
    warnings = [*reason, *hold_out.warnings_about_test_set(result.parts.test, table, options)]
    notes = _majority_warnings(result, table)
    advice = "The features differ widely in scale: scaling them may help more than any hyperparameter."
    advised = notes if scaler_for(table.X, result.model) is None else [*notes, advice]
    saved, data = None if options.output is None else str(options.output), [str(path) for path in options.data]
    print_result(
        options,
        lambda: {"data": data, "model": saved, **summary(result), "warnings": [*warnings, *notes]},
        lambda console: show(
            result, hold_out.describe_table(table), options.output, console, advice=advised, warnings=warnings
        ),
    )


def find_best(options: Any, name: str, model: Any, X: Any, y: Any, settings: Any, **more: Any) -> "Recipe":
    """Try settings, train the model with the best ones, and test it.

    options: of `tune` or `tag tune`. name: of the data, for messages.
    """
    from perceptrons.selection import recipe

    waiting = Waiting("Trying settings ...", options)
    with waiting, hold_out.refusing_selection(name):
        return recipe(
            model, X, y, settings, retrain=not options.no_retrain, random_state=options.seed,
            split="time" if options.time_order else None, force=options.force, n_jobs=options.jobs,
            tell=lambda setting: waiting.say(f"Tried {setting.describe()}: {setting.score:.4f} ..."), **more,
        )  # fmt: skip


def model_to_tune(options: TuneOptions) -> "Perceptron | KernelPerceptron":
    """Return the model whose hyperparameters are tuned."""
    from perceptrons import KernelPerceptron, Perceptron

    parameters = {**given(options, ("combine", "kernel", "max_iter")), "random_state": options.seed}
    if options.kernel is None:
        return Perceptron(**parameters)
    if parameters.get("combine") in ("pocket", "recent"):
        raise BadInputError(
            f"--combine {parameters['combine']} cannot be combined with --kernel: choose average, last or vote."
        )
    return KernelPerceptron(**parameters)


def _parts(table: "Table", method: HoldOut, options: TuneOptions) -> tuple[dict[str, Any], int | None, list[str]]:
    """Return the validation and test sets for `recipe`, the number of folds, and why these differ from the options.

    Examples that are too few for a test set are all used to choose hyperparameters, by cross-validation.
    """
    parts = hold_out.make_parts(options, lambda path: hold_out.examples_like(table, path, options))
    if table.several or method.share is not None or method.share_of(table.y):
        return parts, options.folds, []
    reason = f"The examples are too few to hold out {SHARE:.0%} for testing"
    needs_split = options.folds or options.dev or options.dev_share or options.probabilities or options.no_retrain
    if needs_split or models.is_threshold_chosen(options) or not hold_out.has_enough_for_folds(table.y):
        return {**parts, "test": 0}, options.folds, [f"{reason}: give more, or another file with --test."]
    return {**parts, "test": 0}, FOLDS, [f"{reason}, so hyperparameters are chosen by {FOLDS}-fold cross-validation."]


def summary(result: "Recipe") -> dict[str, Any]:
    """Return everything, for JSON."""
    model = result.model
    return {
        **result.to_dict(),
        "kind": type(model).__name__,
        "classes": model.classes_.tolist(),
        "n_features": model.n_features_in_,
        "parameters": model.get_params(),
        "stop_reason": model.stop_reason_,
    }


def _majority_warnings(result: "Recipe", table: "Table") -> list[str]:
    """Return warnings about a model that is no better than always predicting the commonest class."""
    if table.several or result.metric != "accuracy":
        return []
    if result.parts.test is None or result.test_score is None:
        return hold_out.majority_warnings(table.y, result.dev_score)
    return hold_out.majority_warnings(result.parts.test.taken()[1], result.test_score)


def show(
    result: "Recipe", about: str, output: Path | None, console: "Screen", thing: str = "example",
    advice: Sequence[str] = (), warnings: Sequence[str] = (),
) -> None:  # fmt: skip
    """Print the result. about: the data; thing: example or sentence; warnings: about the test set."""
    sizes = result.sizes
    console.print(about)
    tested = f"{sizes['test']:,} for the test" if sizes["test"] else "no test set"
    folds = len(result.best.folds)
    validation = f"in {folds} folds for cross-validation" if folds else f"{sizes['dev']:,} for validation"
    console.print(f"{sizes['train']:,} for training, {validation}, {tested} (split {result.parts.how})")
    by = f"mean {result.metric} over {folds} folds" if folds else f"{result.metric} on the validation set"
    console.print(heading(f"Settings tried, by {by}"), _settings(result, console))
    if len(result.best.curve) > 1:
        console.print(heading(f"The best setting, by epoch: {result.best.describe()}"), _curve(result, console))
    used_validation = result.retrained and not folds
    data = f"the training and validation {thing}s together" if used_validation else f"the training {thing}s"
    console.print(f"\nTrained with it on {data}.")
    if getattr(result.model, "threshold_", None) is not None:
        console.print(models.describe_threshold(result.model, result.threshold))
    if result.calibrated is not None:
        from perceptrons.inspection.summary import describe_calibration

        console.print(f"Probabilities {describe_calibration(result.model)}")
    console.print_lines(warnings, "yellow")
    for line, style in _outcome(result, thing):
        console.print(line, style=style)
    console.print_lines(advice, "yellow")
    show_saved(output, console)
    if output is not None:
        command = f"perceptrons inspect {shlex.quote(str(output))}"
        show_suggestions([(command, "show the most important features")], console)


def _outcome(result: "Recipe", thing: str) -> Iterator[tuple[str, str | None]]:
    """Yield lines about the test score and its limits, each with a style."""
    from perceptrons.selection.test_set_ledger import RERUN

    if result.test_score is None or result.test_interval is None:
        yield (
            "There was no test. The validation score chose the best of several settings, so it is too optimistic.",
            None,
        )
    else:
        low, high, level, _ = result.test_interval
        digits = 1 if thing == "example" else 2  # a test set has many more tokens than sentences
        score, lower, upper = (metric_text(result.metric, value, digits) for value in (result.test_score, low, high))
        tested = f"{count(result.sizes['test'], thing)}{', used once' * (result.looks == 1)}"
        confidence = f"with {level:.0%} confidence from {lower} to {upper}"
        yield f"Test {result.metric} {score}, {confidence} ({tested})", "bold"
    if result.twice:
        yield f"{result.twice:,} of the test {thing}s also occur in the training or validation set.", "yellow"
    if result.rerun:
        yield RERUN, None
    if result.looks > 1:
        forced = f"Forced: these test {thing}s have been used {result.looks} times"
        yield f"{forced}, so the score may be too optimistic. The model file records this.", "yellow"


def _settings(result: "Recipe", console: "Screen") -> "Grid":
    rows = sorted(result.settings, key=lambda setting: -setting.score)
    table = grid("", f">{result.metric}", "", ">seconds")
    for setting in rows[:MAX_SETTINGS_SHOWN]:
        name = plain(setting.describe(), max(12, min(44, console.width - 36)))
        length = bar(setting.score, MAX_BAR_WIDTH // 2, console)
        cells = [name, metric_text(result.metric, setting.score, 2), length, f"{setting.seconds:.2f}"]
        table.row(*cells, style="bold" if setting is result.best else None)
    if len(rows) > MAX_SETTINGS_SHOWN:
        table.row(f"and {len(rows) - MAX_SETTINGS_SHOWN} more (--json has all)", "", "", "")
    return table


def _curve(result: "Recipe", console: "Screen") -> "Grid":
    curve, best = result.best.curve, (result.best.epochs or 1) - 1
    table = grid(">epoch", f">{result.metric}", "")
    for place in sorted({*shown_epochs(len(curve)), min(best, len(curve) - 1)}):
        length = bar(curve[place], MAX_BAR_WIDTH, console)
        cells = [f"{place + 1}", metric_text(result.metric, curve[place], 2), length]
        table.row(*cells, style="bold" if place == best else None)
    return table


def _threshold(table: "Table", options: TuneOptions) -> Any:
    """Return the threshold as `recipe` takes it, with costs by the classes of the data."""
    assert table.y is not None
    if table.classes is not None and options.threshold is not None:
        raise BadInputError(
            f"--threshold is for two classes, but {name_of(table)} has several labels per example: leave it out."
        )
    if not models.is_threshold_chosen(options):
        return options.threshold
    return models.by_class(models.threshold_criterion(options), table.y)
