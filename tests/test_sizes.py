"""Files, functions and signatures stay small, and a file name stands for one thing. Exceptions have reasons."""

import ast
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGE = ROOT / "src/perceptrons"
FILES = {str(path.relative_to(PACKAGE)): path for path in sorted(PACKAGE.rglob("*.py"))}

PASS_LINES, LINES, FUNCTION_LINES, ARGUMENTS = 200, 400, 60, 8  # at most
COMPILING = {"compiled", "inner", "inlined", "exact", "in_order"}  # decorators of compiled functions

LONG_FILES = {
    "cli/options.py": "a table with one line per option",
    "linear.py": "a third of it describes the parameters and attributes of the estimator",
    "data/table_reader.py": "a quarter of it describes the parameters of the reader",
    "sequence/estimator.py": "a third of it describes the parameters and attributes of the estimator",
    "kernel/estimator.py": "a third of it describes the parameters and attributes of the estimator",
}
LONG_FUNCTIONS = {
    "data/table_reader.py __init__": "half of it names the options by which a table can be read",
    "scan/csv.py scan_rows": "a byte loop: a call for every cell would cost as much as reading it",
    "scan/svmlight.py scan_svmlight": "a byte loop: a call for every pair would cost as much as reading it",
}
OPTIONAL = "weight, log or pocket may be None, and numba leaves code out only for an argument that is None by itself"
PLAIN = "called for every example of a stream: unpacking a named tuple would take longer than learning"
MANY_ARGUMENTS = {
    "passes/batches.py batch_pass": OPTIONAL,
    "passes/binary.py binary_pass": OPTIONAL,
    "passes/multiclass.py multiclass_pass": OPTIONAL,
    "passes/multiclass.py walk": OPTIONAL,
    "passes/one_vs.py labels_pass": OPTIONAL,
    "passes/one_example.py binary_one": PLAIN,
    "passes/one_example.py multiclass_one": PLAIN,
    "passes/one_example.py score_row": PLAIN,
    "passes/chain.py chain_pass": "spare may be None; the pass stops where the pool has to grow, and is called again",
    "passes/chain.py learn_chain": "takes what chain_pass has at hand: one more named tuple would be made per update",
    "passes/voting.py multiclass_votes": "five of them are the columns of the log of updates",
    "scan/name_table.py insert": "takes the table unpacked: access by name would count references for every name",
}
ESTIMATORS = "the same part of sibling estimators"
FORMAT = "a format: its reader in data/, its byte loop in scan/"
COMMAND = "a command, and what it calls"
TAGGING = "a command, and the same command for sequences"
BY_NUMPY = "compiled loops, and their NumPy versions in vectorised/"
SHARED_NAMES = {
    "choices": ESTIMATORS,
    "estimator": ESTIMATORS,
    "learner": ESTIMATORS,
    "linear": "the estimator, and how its models are written to files",
    "csv": FORMAT,
    "labelled": FORMAT,
    "svmlight": FORMAT,
    "interactions": "which there are and what they are called in data/, the loops that make them in scan/",
    "vw": FORMAT,
    "compare": COMMAND,
    "diagnose": COMMAND,
    "look": COMMAND,
    "evaluate": TAGGING,
    "predict": TAGGING,
    "train": TAGGING,
    "tune": TAGGING,
    "attributes": BY_NUMPY,
    "gather": BY_NUMPY,
    "name_table": BY_NUMPY,
    "weight_pool": BY_NUMPY,
    "words": BY_NUMPY,
    "corpus": "a corpus, and how commands open it",
    "run": TAGGING,
    "summary": "what a model holds: kernels, taggers, and all models",
    "parameters": "of estimators, and those that a command's options ask for",
    "inputs": "what estimators are given, and what commands are given",
    "one_example": "the pass for one example, and its short way from learn_one",
    "progress": "of training, and how the command shows it",
    "units": "of the data while a model learns, and those in which its weights are shown",
    "weights": "while they are learned, and those that tell most",
}


def functions():
    """(file and name, function) of every function of the package."""
    for name, path in FILES.items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{name} {node.name}", node


def n_lines(function):
    """Lines of a function without its docstring."""
    documented = ast.get_docstring(function) is not None
    docstring = function.body[0].end_lineno - function.body[0].lineno + 1 if documented else 0
    return function.end_lineno - function.lineno + 1 - docstring


def is_compiled(function):
    return any(isinstance(node, ast.Name) and node.id in COMPILING for node in function.decorator_list)


def test_files_are_short():
    limits = {name: PASS_LINES if Path(name).parent.name == "passes" else LINES for name in FILES}
    long = {name for name, path in FILES.items() if len(path.read_text().splitlines()) > limits[name]}
    assert long == set(LONG_FILES)


def test_functions_are_short():
    assert {name for name, function in functions() if n_lines(function) > FUNCTION_LINES} == set(LONG_FUNCTIONS)


def test_compiled_functions_take_few_arguments():
    many = {name for name, node in functions() if is_compiled(node) and len(node.args.args) > ARGUMENTS}
    assert many == set(MANY_ARGUMENTS)


def test_no_two_files_have_the_same_name():
    where = defaultdict(list)
    for path in FILES.values():
        where[path.stem].append(path)
    assert {name for name, paths in where.items() if len(paths) > 1 and name != "__init__"} == set(SHARED_NAMES)


@pytest.mark.parametrize("listed", [LONG_FILES, LONG_FUNCTIONS, MANY_ARGUMENTS, SHARED_NAMES])
def test_every_exception_has_a_reason(listed):
    assert all(len(reason.split()) > 3 for reason in listed.values())


def test_all_compiled_functions_are_in_the_sources_that_name_the_cache():
    """numba's cache does not see edits in other modules, so tools/compiled.py must know all of them."""
    from tools.compiled import sources

    known = set(sources())
    assert {name for name, node in functions() if is_compiled(node) and FILES[name.split()[0]] not in known} == set()


def test_contracts_on_imports_cover_every_package():
    tops = {f"perceptrons.{Path(name).parts[0].removesuffix('.py')}" for name in FILES} - {
        "perceptrons.__init__",
        "perceptrons.__main__",
    }
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    bound = {one["forbidden_modules"][0]: one["source_modules"] for one in contracts if "forbidden_modules" in one}
    alone = {"typer": "cli", "pyarrow": "data", "dask": "distributed", "matplotlib": "plots"}  # who may know them
    for library, package in alone.items():
        assert set(bound[library]) == tops - {f"perceptrons.{package}"}, library
