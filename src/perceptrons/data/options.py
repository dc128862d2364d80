"""Options of reading: `ReadOptions`, the formats that know each option, and what a fitted model prescribes."""

from copy import deepcopy
from dataclasses import dataclass, fields
from typing import Any

from perceptrons.data.sniffing import detect_format, format_of_name
from perceptrons.data.source import Inputs
from perceptrons.features import Columns, HashedText
from perceptrons.features.column_options import ColumnOptions, ModelColumns, listed
from perceptrons.features.values import Recipe

TABLES = ("csv", "tsv", "whitespace", "arff", "jsonl", "parquet", "arrow", "xlsx")
FORMATS = {
    **dict.fromkeys(TABLES, "table_reader.TableReader"),
    "svmlight": "svmlight.SvmlightReader", "libsvm": "svmlight.SvmlightReader", "vw": "vw.VwReader",
    "text": "text.LabelledTextReader", "npz": "npz.ArrayReader",
}  # fmt: skip
MEMORY = {"frame": "table_reader.TableReader", "records": "table_reader.TableReader", "arrays": "npz.ArrayReader"}
NAMED = (*TABLES, "frame", "records")  # whose columns have names
SPARSE = ("svmlight", "libsvm")
BY_DELIMITER = ("csv", "tsv", "whitespace")
NUMERIC = (*NAMED, *SPARSE, "npz", "arrays")  # any of which can be read for a model that learned from another
INTERACTIONS = ("quadratic", "cubic")
FIXED_BY_MODEL = ("scale", "on_missing", "missing", "keep", "interactions", "powers")
OPTIONS = {  # that only some formats know
    "zero_based": SPARSE,
    "n_features": (*SPARSE, "npz", "arrays"),
    "dtype": SPARSE,
    "text": ("text", *NAMED),
    "columns": ("vw", "text", *NAMED),
    "form": ("text",),
    "part": ("npz",),
    **dict.fromkeys(INTERACTIONS, ("vw",)),
    **dict.fromkeys(
        ("label_column", "labels", "text_column", "prefix", "categories", "numbers", "ignore", "optional", "model",
         "preparation", "labelled", "grow", *FIXED_BY_MODEL), NAMED,
    ),
    **dict.fromkeys(("names", "header", "decimal"), BY_DELIMITER),
    "encoding": (*BY_DELIMITER, "arff", "jsonl", *SPARSE, "vw", "text"),
    "multilabel": (*FORMATS, *MEMORY),
    "label_separator": ("text", *NAMED),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How files are read. `perceptrons.data.stream` describes the options; those of tables are `ColumnOptions`.

    Each format takes what it knows, and checks it.
    """

    format: str
    on_error: str = "raise"
    text_labels: bool = False
    need_labels: bool = True
    prompt: bool = False
    many_classes: bool = True  # may nearly every example have a label of its own?
    encoding: str | None = None
    multilabel: bool | None = None
    label_separator: str | None = None
    for_model: bool = False  # does a fitted model say how the files are read?
    hash_bits: int | None = None
    columns: Columns | None = None
    text: HashedText | dict[str, Any] | None = None
    form: str | None = None
    zero_based: bool | None = None
    n_features: int | None = None
    dtype: str = "float64"
    part: str = "train"
    quadratic: Any = None
    cubic: Any = None

    def __post_init__(self) -> None:
        if self.on_error not in ("raise", "skip"):
            raise ValueError(f"on_error={self.on_error!r}: choose 'raise' or 'skip'.")


def options_of_format(format: str, options: Recipe) -> Recipe:
    """Return the options that are not None. Raise an error for those that the format does not know."""
    selected = {name: value for name, value in options.items() if value is not None}
    if selected.get("scale") == "none" and format not in OPTIONS["scale"]:
        del selected["scale"]  # as nothing else is scaled
    for name in selected:
        if name not in OPTIONS:
            raise TypeError(f"stream() has no option {name!r}.")
        if format not in OPTIONS[name]:
            raise ValueError(f"{name} does not apply to files of format {format!r}: leave it out.")
    return selected


def table_options(shared: Recipe, options: Recipe) -> tuple[ReadOptions, ColumnOptions]:
    """Return the options of a table: those of all files, and those of columns."""
    of_columns = {field.name for field in fields(ColumnOptions)} - {"need_labels"}
    columns = {name: value for name, value in options.items() if name in of_columns}
    return ReadOptions(**shared, **{k: v for k, v in options.items() if k not in of_columns}), ColumnOptions(**columns)


def options_for_model(
    model: Any, paths: Inputs, format: str | None, options: Recipe, grow: bool = False
) -> tuple[str, Inputs, Recipe]:
    """Return format, paths and options to read files into the columns of a fitted model, or to let them grow."""
    recipe = dict(getattr(model, "source_", None) or {})
    trained_on = str(recipe.get("format"))
    if recipe and trained_on not in {*FORMATS, *MEMORY}:
        raise ValueError(f"The model's description of its data format is invalid (format {trained_on[:40]!r}).")
    if format is None:
        named_format = format_of_name(paths[0])  # what the model learned from says more than what is in a file
        if trained_on in FORMATS and named_format != "npz" and not (trained_on in NUMERIC and named_format in NUMERIC):
            format = trained_on
        else:
            format, paths = detect_format(paths, options.get("encoding"))
    has_names = trained_on in NAMED or getattr(model, "columns_", None) is not None
    if format in ("npz", "arrays") or (format in NAMED and not has_names):
        model_options: Recipe = _options_by_position(model, format)
    else:
        model_options = _options_by_recipe(model, format, recipe, grow)
    if model_options.get("form") == "files" and format_of_name(paths[0]) == "text":
        del model_options["form"]  # lines of text, for a model that learned from whole files
    requested = {name: value for name, value in options.items() if value is not None}
    for name in FIXED_BY_MODEL:
        if name in requested and recipe.get("preparation") is not None:
            typed = name.replace("_", "-")
            raise ValueError(f"{name} (--{typed}): the model already knows how to prepare tables: leave it out.")
    if format in NAMED and requested.get("text_column") and not (recipe.get("text_column") or recipe.get("text")):
        raise ValueError("text_column (--text-column): the model was not trained on text columns: leave it out.")
    if isinstance(model_options.get("text"), dict) and isinstance(requested.get("text"), dict):
        requested["text"] = model_options["text"] | requested["text"]
    if "categories" in requested and "categories" in model_options:
        for name in listed(requested.pop("categories")):
            if name not in model_options["categories"]:
                message = f"categories names {name!r}, which is not a category column of the model: leave it out."
                raise ValueError(message)
    for name in INTERACTIONS:
        if format == "vw" and name in requested and requested[name] != model_options.get(name):
            trained_with = f"with {', '.join(model_options[name])}" if name in model_options else "without"
            raise ValueError(f"{name} is fixed by the model, which was trained {trained_with}: leave it out.")
    combined = model_options | requested
    return format, paths, combined | _label_options(model, combined)


def _label_options(model: Any, options: Recipe) -> Recipe:
    """Return how the labels of files are read for a model: one each, or several, as it was trained."""
    from perceptrons.engine.training.base import Classifier, has_learned
    from perceptrons.inspection.evaluation import several_labels

    if not (isinstance(model, Classifier) and has_learned(model)):
        return {}
    several = several_labels(model)
    return {"multilabel": several} | (
        {} if several or not options.get("label_separator") else {"label_separator": None}
    )


def _options_by_recipe(model: Any, format: str, recipe: Recipe, grow: bool) -> Recipe:
    """Return what a model says of files that are like those it learned from, or at least have the same features."""
    options = {name: value for name, value in recipe.items() if format in OPTIONS.get(name, ()) and value is not None}
    options["hash_bits"] = recipe.get("hash_bits")
    if format in NAMED:
        options.setdefault("prefix", False)  # as models were trained that do not say it
    if getattr(model, "columns_", None) is not None and format in OPTIONS["columns"]:
        options["columns"] = deepcopy(model.columns_) if grow else model.columns_.as_frozen()
        options["columns"].frozen = not grow
        options |= {"grow": True} if grow and format in NAMED else {}
    elif format in SPARSE and not recipe.get("hash_bits"):
        options |= {} if grow else {"n_features": model.n_features_in_}
        if not recipe and str(next(iter(getattr(model, "feature_names_in_", [])), "")) == "0":
            options["zero_based"] = True
    elif not recipe:
        message = f"like: this model was not trained on files of format {format}, so it does not know how to read them"
        raise ValueError(f"{message}.")
    return options


def _options_by_position(model: Any, format: str) -> Recipe:
    """Return the names of the features of a model that learned from arrays, or their number."""
    n_features = int(model.n_features_in_)
    if format not in NAMED:
        return {"n_features": n_features}
    names = getattr(model, "feature_names_in_", None)
    return {"model": ModelColumns(None if names is None else [str(name) for name in names], n_features)}
