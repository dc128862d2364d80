"""`perceptrons tune`: tunes hyperparameters on a validation set, trains the model and tests it once."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from perceptrons.cli import hold_out, models
from perceptrons.cli.files import AnyModel, check_folder, check_output, name_of, save_model
from perceptrons.cli.hold_out import FOLDS
from perceptrons.cli.messages import BadInputError, plain
from perceptrons.cli.options import TuneOptions, given, refuse_both
from perceptrons.cli.screen import Grid, Screen, Waiting, grid, heading, print_result
from perceptrons.data import Table
from perceptrons.data.splitting import HELD_OUT_SHARE, HoldOut, has_enough_for_folds
from perceptrons.engine.wording import count, shown_epochs
from perceptrons.inspection.metrics import format_metric
from perceptrons.inspection.summary import describe_calibration
from perceptrons.kernel import KernelPerceptron
from perceptrons.linear import Perceptron
from perceptrons.selection import Recipe, recipe
from perceptrons.selection.test_set_ledger import RERUN
from perceptrons.theory.scales import scaler_for

MAX_SETTINGS_SHOWN = 12
BAR_WIDTH = 24  # characters


def tune(options: TuneOptions) -> None:
    """Run `perceptrons tune`."""
    hold_out.check_split(options)
    others = ("dev", "dev_share", "time_order", "no_retrain")
    refuse_both(options, "folds", others, "hyperparameters are chosen by all folds")
    models.check_calibration(options, options.folds)
    check_output(options.output, *options.data, options.dev, options.test)
    check_folder(options.output)
    ledger = hold_out.find_ledger(options)
    model = model_to_tune(options)
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
        lambda: {"data": data, "model": saved, **to_dict(result), "warnings": [*warnings, *notes]},
        lambda console: show(
            result, hold_out.describe_table(table), options.output, console, advice=advised, warnings=warnings
        ),
    )


def find_best(options: Any, name: str, model: Any, X: Any, y: Any, settings: Any, **more: Any) -> Recipe:
    """Try settings, train the model with the best ones, and test it.

    options: of `tune` or `tag tune`. name: of the data, for messages.
    """
    waiting = Waiting("Trying settings ...", options)
    with waiting, hold_out.refusing_selection(name):
        return recipe(
            model, X, y, settings, retrain=not options.no_retrain, random_state=options.seed,
            split="time" if options.time_order else None, force=options.force, n_jobs=options.jobs,
            tell=lambda setting: waiting.say(f"Tried {setting.describe()}: {setting.score:.4f} ..."), **more,
        )  # fmt: skip


def model_to_tune(options: TuneOptions) -> AnyModel:
    """Return the model whose hyperparameters are tuned."""
    parameters = {**given(options, ("combine", "kernel", "max_iter")), "random_state": options.seed}
    if options.probabilities is not None:
        parameters["probability"] = options.probabilities
    if options.kernel is None:
        return Perceptron(**parameters)
    if options.combine in ("pocket", "recent"):
        raise BadInputError(
            f"--combine {options.combine} cannot be combined with --kernel: choose average, last or vote."
        )
    return KernelPerceptron(**parameters)


def _parts(table: Table, method: HoldOut, options: TuneOptions) -> tuple[dict[str, Any], int | None, list[str]]:
    """Return the validation and test sets for `recipe`, the number of folds, and why these differ from the options.

    Examples that are too few for a test set are all used to choose hyperparameters, by cross-validation.
    """
    parts = hold_out.make_parts(options, lambda path: hold_out.examples_like(table, path, options))
    if table.several or method.share is not None or method.share_of(table.y):
        return parts, options.folds, []
    reason = f"The examples are too few to hold out {HELD_OUT_SHARE:.0%} for testing"
    needs_split = options.folds or options.dev or options.dev_share or options.no_retrain
    if needs_split or models.needs_held_out_examples(options) or not has_enough_for_folds(table.y, FOLDS):
        return {**parts, "test": 0}, options.folds, [f"{reason}: give more, or another file with --test."]
    return {**parts, "test": 0}, FOLDS, [f"{reason}, so hyperparameters are chosen by {FOLDS}-fold cross-validation."]


def _threshold(table: Table, options: TuneOptions) -> Any:
    """Return the threshold as `recipe` takes it, with costs by the classes of the data."""
    assert table.y is not None
    if table.classes is not None and options.threshold is not None:
        raise BadInputError(
            f"--threshold is for two classes, but {name_of(table)} has several labels per example: leave it out."
        )
    if not models.is_threshold_chosen(options):
        return options.threshold
    return models.by_class(models.threshold_criterion(options), table.y)


def _majority_warnings(result: Recipe, table: Table) -> list[str]:
    """Return warnings about a model that is no better than always predicting the commonest class."""
    if table.several or result.metric != "accuracy":
        return []
    if result.parts.test is None or result.test_score is None:
        return hold_out.majority_warnings(table.y, result.dev_score)
    return hold_out.majority_warnings(result.parts.test.taken()[1], result.test_score)


def to_dict(result: Recipe) -> dict[str, Any]:
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


def show(
    result: Recipe, about: str, output: Path | None, console: Screen, thing: str = "example",
    advice: Sequence[str] = (), warnings: Sequence[str] = (),
) -> None:  # fmt: skip
    """Print the result. about: the data; thing: example or sentence; warnings: about the test set."""
    sizes, folds = result.sizes, len(result.best.folds)
    console.print(about)
    tested = f"{sizes['test']:,} for the test" if sizes["test"] else "no test set"
    validation = f"in {folds} folds for cross-validation" if folds else f"{sizes['dev']:,} for validation"
    console.print(f"{sizes['train']:,} for training, {validation}, {tested} (split {result.parts.how})")
    by = f"mean {result.metric} over {folds} folds" if folds else f"{result.metric} on the validation set"
    console.print(heading(f"Settings tried, by {by}"), _settings(result, console))
    if len(result.best.curve) > 1:
        console.print(heading(f"The best setting, by epoch: {result.best.describe()}"), _curve(result, console))
    data = f"the training {thing}s"
    if result.retrained and not folds:
        data = f"the training and validation {thing}s together"
    console.print(f"\nTrained with it on {data}.")
    if getattr(result.model, "threshold_", None) is not None:
        console.print(models.describe_threshold(result.model, result.threshold))
    if result.calibrated is not None:
        console.print(f"Probabilities {describe_calibration(result.model)}")
    console.warn(*warnings)
    for line, style in _outcome(result, thing):
        console.print(line, style=style)
    console.warn(*advice)
    console.show_saved(output)
    if output is not None:
        command = f"perceptrons inspect {shlex.quote(str(output))}"
        console.show_suggestions([(command, "show the most important features")])


def _outcome(result: Recipe, thing: str) -> Iterator[tuple[str, str | None]]:
    """Yield lines about the test score and its limits, each with a style."""
    if result.test_score is None or result.test_interval is None:
        optimistic = "The validation score chose the best of several settings, so it is too optimistic."
        yield f"There was no test. {optimistic}", None
    else:
        low, high, level, _ = result.test_interval
        digits = 1 if thing == "example" else 2  # a test set has many more tokens than sentences
        score, lower, upper = (format_metric(result.metric, value, digits) for value in (result.test_score, low, high))
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


def _settings(result: Recipe, console: Screen) -> Grid:
    rows = sorted(result.settings, key=lambda setting: -setting.score)
    table = grid("", f">{result.metric}", "", ">seconds")
    for setting in rows[:MAX_SETTINGS_SHOWN]:
        name = plain(setting.describe(), max(12, min(44, console.width - 36)))
        length = console.bar(setting.score, BAR_WIDTH // 2)
        cells = [name, format_metric(result.metric, setting.score, 2), length, f"{setting.seconds:.2f}"]
        table.row(*cells, style="bold" if setting is result.best else None)
    if len(rows) > MAX_SETTINGS_SHOWN:
        table.row(f"and {len(rows) - MAX_SETTINGS_SHOWN} more (--json has all)", "", "", "")
    return table


def _curve(result: Recipe, console: Screen) -> Grid:
    curve, best = result.best.curve, (result.best.epochs or 1) - 1
    table = grid(">epoch", f">{result.metric}", "")
    for place in sorted({*shown_epochs(len(curve)), min(best, len(curve) - 1)}):
        cells = [f"{place + 1}", format_metric(result.metric, curve[place], 2), console.bar(curve[place], BAR_WIDTH)]
        table.row(*cells, style="bold" if place == best else None)
    return table
