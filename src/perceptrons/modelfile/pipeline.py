"""Pipelines of scikit-learn in a model file: skops writes them, and our own models keep their own format inside.

skops builds objects from a description without running code. Which classes a file may contain is listed in `TRUSTED`.
A model of this library is replaced by a `Stored` before skops sees it: compiled loops check no index, so it is read by
the function that also reads its own file.
"""

import copy
import importlib
import inspect
import io
import json
import re
import warnings
import zipfile
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
import sklearn
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils.validation import check_is_fitted

from perceptrons.engine.training.base import has_learned
from perceptrons.features import Columns, HashedFeatures, HashedText, TableFeatures
from perceptrons.features.rows import check_recipe
from perceptrons.kernel import KernelPerceptron
from perceptrons.linear import Perceptron
from perceptrons.modelfile import kernel, linear, sequence
from perceptrons.modelfile.contents import Codec, Content, finite_number, require
from perceptrons.sequence import SequencePerceptron

TRUSTED = {
    "sklearn.calibration": ("CalibratedClassifierCV",),
    "sklearn.compose": ("ColumnTransformer", "make_column_selector"),
    "sklearn.decomposition": ("FactorAnalysis", "IncrementalPCA", "PCA", "TruncatedSVD"),
    "sklearn.discriminant_analysis": ("LinearDiscriminantAnalysis",),
    "sklearn.ensemble": ("AdaBoostClassifier", "BaggingClassifier", "StackingClassifier", "VotingClassifier"),
    "sklearn.feature_extraction": ("DictVectorizer", "FeatureHasher"),
    "sklearn.feature_extraction.text": (
        "CountVectorizer", "HashingVectorizer", "TfidfTransformer", "TfidfVectorizer"),
    "sklearn.feature_selection": ("RFE", "SelectFromModel", "SelectKBest", "SelectPercentile", "VarianceThreshold"),
    "sklearn.frozen": ("FrozenEstimator",),
    "sklearn.impute": ("MissingIndicator", "SimpleImputer"),
    "sklearn.isotonic": ("IsotonicRegression",),
    "sklearn.kernel_approximation": ("AdditiveChi2Sampler", "Nystroem", "RBFSampler"),
    "sklearn.linear_model": ("LogisticRegression",),
    "sklearn.metrics": ("make_scorer",),
    "sklearn.model_selection": (
        "FixedThresholdClassifier", "GridSearchCV", "KFold", "RandomizedSearchCV", "ShuffleSplit", "StratifiedKFold",
        "StratifiedShuffleSplit"),
    "sklearn.multiclass": ("OneVsOneClassifier", "OneVsRestClassifier"),
    "sklearn.multioutput": ("ClassifierChain", "MultiOutputClassifier"),
    "sklearn.pipeline": ("FeatureUnion", "Pipeline"),
    "sklearn.preprocessing": (
        "Binarizer", "FunctionTransformer", "KBinsDiscretizer", "LabelBinarizer", "LabelEncoder", "MaxAbsScaler",
        "MinMaxScaler", "Normalizer", "OneHotEncoder", "OrdinalEncoder", "PolynomialFeatures", "PowerTransformer",
        "QuantileTransformer", "RobustScaler", "StandardScaler", "TargetEncoder"),
    "sklearn.random_projection": ("GaussianRandomProjection", "SparseRandomProjection"),
    "sklearn.utils": ("Bunch",),
    "perceptrons": ("HashedFeatures", "HashedText", "KernelPerceptron", "Perceptron", "SequencePerceptron"),
    "perceptrons.features": ("Columns", "FeatureTemplates", "TableFeatures"),
}  # fmt: skip
FUNCTION_MODULES = ("sklearn.feature_selection", "sklearn.metrics")  # whose public functions may be parameters
LOADERS = {
    "CachedNode", "DTypeNode", "DefaultDictNode", "DictNode", "FunctionNode", "JsonNode", "ListNode", "MaskedArrayNode",
    "NdArrayNode", "ObjectNode", "RandomStateNode", "SetNode", "SliceNode", "SparseMatrixNode", "TupleNode", "TypeNode",
}  # fmt: skip
ADVICE = "the documentation of perceptrons.save says what can"
MAX_DEPTH = 200  # of objects inside objects
MAX_JOBS = 128  # processes
SCHEMA = "schema.json"  # the entry of a skops file that describes its objects


class StepCodec(Codec, Protocol):
    """A module that writes and reads models which may be steps of a pipeline."""

    def check_choices(self, model: Any) -> None:
        """Raise ValueError for parameters that cannot be combined."""


MODELS: dict[type, StepCodec] = {Perceptron: linear, KernelPerceptron: kernel, SequencePerceptron: sequence}


class OtherVersionError(ValueError):
    """The file was written with another version of scikit-learn or skops, which the installed one cannot read."""


class Stored:
    """Stands in a skops file for a fitted model of this library."""

    def __init__(self, model: Any) -> None:
        self.name = type(model).__name__
        header, self.arrays = MODELS[type(model)].contents(model)
        self.header = json.dumps(header)

    def model(self) -> Any:
        """Return the model."""
        require(set(vars(self)) == {"name", "header", "arrays"} and isinstance(self.arrays, dict), "a stored model")
        arrays = {str(name): array for name, array in self.arrays.items()}
        require(all(isinstance(array, np.ndarray) and array.dtype != object for array in arrays.values()), "arrays")
        module = {kind.__name__: module for kind, module in MODELS.items()}[self.name]
        header = json.loads(self.header, parse_constant=finite_number, parse_float=finite_number)
        return module.read(Content(header, arrays))


def is_pipeline(model: object) -> bool:
    """Return whether this is a trusted estimator of scikit-learn, which a file may contain."""
    kind = type(model)
    return kind.__module__.startswith("sklearn.") and is_trusted(kind.__module__, kind.__name__)


def is_trusted(module: str, name: str) -> bool:
    """Return whether a file may contain objects of this class, or this function.

    A trusted class may have helpers: classes with a leading underscore that are defined in the same module.
    """
    if (module, name) == (Stored.__module__, Stored.__name__):
        return True
    for public, names in TRUSTED.items():
        if not f"{module}.".startswith(f"{public}." if public.startswith("sklearn.") else "perceptrons."):
            continue
        package = importlib.import_module(public)
        if name in names and getattr(package, name).__module__ == module:
            return True
        if name.startswith("_") and any(getattr(package, known).__module__ == module for known in names):
            helper = getattr(importlib.import_module(module), name, None)
            return inspect.isclass(helper) and helper.__module__ == module
        if public in FUNCTION_MODULES and name in package.__all__:
            function = getattr(package, name)
            return inspect.isfunction(function) and function.__module__ == module
    return False


def contents(model: Any) -> Content:
    """Return the header and the arrays of a fitted model."""
    from skops.io import dumps
    from skops.io.exceptions import UnsupportedTypeException

    check_is_fitted(model)
    replaced: dict[int, object] = {}
    for location, part in parts_of(model):
        try:
            if type(part) in MODELS and has_learned(part):
                replaced[id(part)] = Stored(part)
            elif is_index(part):
                replaced[id(part)] = part.tolist()
            else:
                check_part(part)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{location} ({type(part).__name__}): {error}") from error
    try:
        content = without_addresses(dumps(copy.deepcopy(model, replaced)))
    except UnsupportedTypeException as error:
        raise TypeError(f"The {type(model).__name__} cannot be saved safely: {error}") from error
    check_schema(content)
    header = {"class": type(model).__name__, "sklearn": sklearn.__version__}
    return Content(header, {"skops": np.frombuffer(content, np.uint8)})


def read(content: Content) -> Any:
    """Return the pipeline, or raise one of the errors that `load` expects for an invalid file."""
    from skops.io import loads
    from skops.io.exceptions import UntrustedTypesFoundException

    (header, arrays), version = content, content.header["sklearn"]
    require(isinstance(version, str) and re.fullmatch(r"\d+\.\d+[\w.]{0,20}", version) is not None, "a version")
    require(arrays["skops"].dtype == np.uint8 and arrays["skops"].ndim == 1, "the bytes of a skops file")
    skops_file = arrays["skops"].tobytes()
    is_same_version = version.split(".")[:2] == sklearn.__version__.split(".")[:2]
    try:
        trusted = check_schema(skops_file)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InconsistentVersionWarning)
            model = loads(skops_file, trusted=trusted)
        is_expected = type(model).__name__ == header["class"] and is_pipeline(model)
        require(is_expected, "a pipeline, or another known estimator")
        replaced: dict[int, object] = {}
        for _, part in parts_of(model):
            check_part(part)
            if isinstance(part, Stored):
                replaced[id(part)] = part.model()
        model = copy.deepcopy(model, replaced)
        check_is_fitted(model)
    except (zipfile.BadZipFile, UntrustedTypesFoundException) as error:
        raise ValueError(str(error)) from error
    except (TypeError, ValueError, AttributeError, ImportError) as error:
        if is_same_version:
            raise ValueError(str(error)) from error
        raise OtherVersionError(
            f"was saved with scikit-learn {version}, which scikit-learn {sklearn.__version__} cannot read ({error}): "
            f"install scikit-learn {'.'.join(version.split('.')[:2])}."
        ) from error
    if not is_same_version:
        warnings.warn(
            f"This {header['class']} was saved with scikit-learn {version}, but scikit-learn {sklearn.__version__} "
            "is installed. Check its predictions, then save it again, or install the version it was saved with.",
            stacklevel=4,
        )
    return model


def without_addresses(content: bytes) -> bytes:
    """Return a skops file with numbers in place of memory addresses and dates: equal models give equal files."""
    numbers: dict[str, str] = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(entries.pop(SCHEMA))
    for node in _schema_nodes(schema):
        if node.get("__loader__") == "JsonNode":
            node.pop("__id__", None)  # equal numbers may or may not be one object
        if "__id__" in node:
            node["__id__"] = int(numbers.setdefault(str(node["__id__"]), str(len(numbers) + 1)))
        if "file" in node:
            stem, suffix = node["file"].split(".")
            node["file"] = f"{numbers.setdefault(stem, str(len(numbers) + 1))}.{suffix}"
    renamed = io.BytesIO()
    with zipfile.ZipFile(renamed, "w") as archive:
        for name, value in entries.items():
            stem, suffix = name.split(".")
            archive.writestr(zipfile.ZipInfo(f"{numbers[stem]}.{suffix}"), value)
        archive.writestr(zipfile.ZipInfo(SCHEMA), json.dumps(schema))
    return renamed.getvalue()


def check_schema(content: bytes) -> list[str]:
    """Return the classes and functions of a skops file, or raise an error if any of them is not trusted."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        stored = all(entry.compress_type == zipfile.ZIP_STORED for entry in archive.infolist())
        require(stored and len(set(archive.namelist())) == len(archive.infolist()), "entries that are not compressed")
        schema = json.loads(archive.read(SCHEMA))
    trusted = set[str]()
    for node in _schema_nodes(schema):
        if "__loader__" not in node:
            continue
        loader, module, name = (str(node[key]) for key in ("__loader__", "__module__", "__class__"))
        if loader not in LOADERS:
            raise TypeError(f"it contains a {name}, which cannot be saved safely: {ADVICE}.")
        needs_trust = loader in ("ObjectNode", "FunctionNode") and module.split(".")[0] not in ("numpy", "scipy")
        if needs_trust or module.startswith("sklearn."):
            if not is_trusted(module, name):
                raise TypeError(f"it contains a {module}.{name}, which cannot be saved safely: {ADVICE}.")
            trusted.add(f"{module}.{name}")
        elif loader == "SparseMatrixNode" and module.startswith("scipy.sparse."):
            trusted.add(f"{module}.{name}")  # its indices are checked by `check_part`
        elif loader == "DTypeNode" and (module, name) == ("numpy", "dtype"):
            trusted.add("numpy.dtype")
    return sorted(trusted)


def _schema_nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield all dicts of a schema. Raise ValueError if they are nested too deep."""
    stack = [(schema, 0)]
    while stack:
        node, depth = stack.pop()
        require(depth < 4 * MAX_DEPTH, f"objects nested at most {MAX_DEPTH} deep")
        if isinstance(node, dict):
            yield node
        children = node.values() if isinstance(node, dict) else node
        stack += [(child, depth + 1) for child in children if isinstance(child, dict | list)]


def parts_of(model: Any) -> Iterator[tuple[str, Any]]:
    """Yield all objects in an estimator, each once, with the name of its step."""
    stack, visited = [("the " + type(model).__name__, model, 0)], dict[int, object]()
    while stack:
        location, part, depth = stack.pop()
        if id(part) in visited or part is None or isinstance(part, str | bytes | int | float | type):
            continue
        visited[id(part)] = part  # kept alive, so that its id stays its own
        require(depth <= MAX_DEPTH, f"steps nested at most {MAX_DEPTH} deep")
        is_step = isinstance(part, tuple) and len(part) in (2, 3) and isinstance(part[0], str)
        inside = f"step {part[0]!r}" if is_step else location
        inside = f"{location}, {inside}" if is_step and location.startswith("step") else inside
        if isinstance(part, list | tuple | set):
            children = list(part)
        elif isinstance(part, dict):
            children = list(part.values())
        elif isinstance(part, np.ndarray):
            children = part.ravel().tolist() if part.dtype == object else []
        else:
            yield location, part
            is_closed = is_index(part) or isinstance(part, Columns | Stored)
            is_closed = is_closed or (type(part) in MODELS and has_learned(part))
            children = [] if is_closed else list(getattr(part, "__dict__", {}).values())
        stack += [(inside, child, depth + 1) for child in children]


def is_index(part: object) -> bool:
    """Return whether this is an index of pandas, which may name the columns of a ColumnTransformer."""
    return type(part).__module__.split(".")[0] == "pandas" and hasattr(part, "tolist")


def check_part(part: Any) -> None:
    """Raise an error for an object that no valid file has, or that could be an index out of range."""
    if sp.issparse(part):
        part.check_format(full_check=True)
    elif type(part) in MODELS:
        require(set(vars(part)) == set(part.get_params(deep=False)), f"an untrained {type(part).__name__}")
        MODELS[type(part)].check_choices(part)
    elif isinstance(part, HashedText | HashedFeatures | TableFeatures):
        _check_features(part)
    if hasattr(part, "get_params"):
        n_jobs = getattr(part, "n_jobs", None)
        require(n_jobs is None or (type(n_jobs) is int and abs(n_jobs) <= MAX_JOBS), f"n_jobs of at most {MAX_JOBS}")
        require(getattr(part, "memory", None) is None, "a pipeline without memory")
        vocabulary = vars(part).get("vocabulary_")
        if vocabulary is not None:  # it becomes the columns of sparse rows
            columns = sorted(int(column) for column in vocabulary.values())
            require(columns == list(range(len(columns))), "a vocabulary that numbers its words")
    elif inspect.isroutine(part) and not isinstance(part, np.ufunc) and part.__name__ == "<lambda>":
        raise TypeError("a lambda cannot be saved safely: use a function of NumPy or scikit-learn.")


def _check_features(part: Any) -> None:
    """Raise ValueError for parameters or names of columns that do not fit together."""
    part._check()
    columns = getattr(part, "columns_", None)
    require(columns is None or (isinstance(columns, Columns) and columns.frozen), "names of columns that stay the same")
    if isinstance(part, TableFeatures):
        if hasattr(part, "source_"):
            check_recipe(part.source_)
            require(isinstance(part.source_.get("numbers"), list), "how columns are read")
            require(part.source_["format"] in ("frame", "records"), "a frame, or records")
            require(columns is not None and (columns.bits or 0) == part.source_["hash_bits"], "names of its columns")
    elif columns is not None:
        settings = columns.bits, columns.signed, columns.seed
        require(settings == (part.bits, bool(part.signed), part.seed), "names of columns that fit the parameters")
    else:
        require(part.bits is not None or "columns_" not in vars(part), "names of columns")
