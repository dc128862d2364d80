"""`perceptrons tune`: the recipe from data to a tested model, settings chosen on a validation set."""

from typing import Any

from perceptrons.cli.files import check_folder, check_output, save_model
from perceptrons.cli.options import READING, takes
from perceptrons.cli.screen import Waiting, as_json, screen

SPLITTING = ("dev_share", "test_share", "test", "group_column", "time_order", "seed", "metric", "force", "ledger")


@takes(
    "files", "output", *READING, "dev", *SPLITTING, "grid", "combine", "kernel", "max_iter", "no_retrain", "jobs",
    "quiet", "json",
)  # fmt: skip
def tune(asked: Any) -> None:
    """Find good settings on a validation set, learn with them, and test the model once.

    The data are split in three: a training set, a validation set to choose settings by, and a test set that stays
    sealed until the end. The number of epochs is found from one run of each setting. A second use of the same test set
    is refused, unless forced; then the report and the model say so. Running the same command again is allowed.
    """
    from perceptrons.cli.selecting import check_split, ledger_file, part_of, read_examples, refusing_what_is_wrong
    from perceptrons.cli.tuning import grid_of, new_model, show, summary
    from perceptrons.selection import recipe
    from perceptrons.selection.search import named

    check_split(asked, dev=(asked.dev, asked.dev_share), test=(asked.test, asked.test_share))
    check_output(asked.output, *asked.files, asked.dev, asked.test)
    check_folder(asked.output)
    where = ledger_file(asked.ledger, asked.quiet)
    model = new_model(asked.combine, asked.kernel, asked.max_iter, asked.seed)
    settings = grid_of(asked.grid, model)
    waiting = Waiting("Trying settings ...", shown=not (asked.quiet or asked.json))
    table, groups = read_examples(asked)
    parts = {
        name: part_of(path, share, table, asked)
        for name, path, share in (("dev", asked.dev, asked.dev_share), ("test", asked.test, asked.test_share))
    }
    with waiting, refusing_what_is_wrong(table):
        found = recipe(
            model, table.X, table.y, settings, **parts, retrain=not asked.no_retrain, random_state=asked.seed,
            split="time" if asked.time_order else None, groups=groups, metric=asked.metric.value, force=asked.force,
            ledger=where, n_jobs=asked.jobs,
            tell=lambda setting: waiting.say(f"Tried {named(setting)}: {setting.score:.4f} ..."),
        )  # fmt: skip
    table.teach(found.model)
    if asked.output is not None:
        save_model(found.model, asked.output)
    if asked.json:
        saved = None if asked.output is None else str(asked.output)
        print(as_json({"data": [str(path) for path in asked.files], "model": saved, **summary(found)}), end="")
    elif not asked.quiet:
        show(found, table, asked.output, screen())
