"""Options for kernels, which other options go with them, and the model that all options ask for."""

from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perceptrons.cli.errors import BadInputError, refusing
from perceptrons.cli.screen import plain

if TYPE_CHECKING:
    from perceptrons.cli.files import AnyModel

LINEAR_ONLY = ("step", "C", "margin", "shrink", "batch_size", "cost")
KernelName = StrEnum("KernelName", ["linear", "poly", "rbf", "sigmoid", "laplacian", "cosine"])
Policy = StrEnum("Policy", ["remove_random", "forget_oldest", "project"])
Option = partial(typer.Option, rich_help_panel="Kernels")


def number_or_word(text: str) -> float | str:
    """Gamma as the user writes it."""
    try:
        return text if text in ("scale", "auto") else float(text)
    except ValueError:
        raise typer.BadParameter(f"{plain(text)} is neither a number nor scale nor auto.") from None


Kernel = Annotated[
    KernelName | None,
    Option(
        "--kernel",
        metavar="NAME",
        help="Learn curved boundaries, by a kernel: linear, poly, rbf, sigmoid, laplacian or cosine.",
    ),
]
Gamma = Annotated[
    str | None,
    Option(
        "--gamma",
        metavar="G",
        parser=number_or_word,
        help="Of poly, rbf, sigmoid and laplacian: a number, scale (default) or auto.",
    ),
]
Degree = Annotated[int | None, Option("--degree", metavar="N", help="Of poly; otherwise 3.")]
Coef0 = Annotated[float | None, Option("--coef0", metavar="C0", help="Of poly and sigmoid; otherwise 1.")]
Budget = Annotated[int | None, Option("--budget", metavar="N", help="Keep so many support examples at most.")]
OnFull = Annotated[
    Policy | None,
    Option("--on-full", metavar="HOW", help="If there are more: project (default), forget_oldest, or remove_random."),
]
CacheSize = Annotated[
    float | None, Option("--cache-size", metavar="MB", help="Megabytes of kernel values to keep; they save time only.")
]


def check_sides(rule: dict[str, Any], kernels: dict[str, Any], no_intercept: bool) -> None:
    """Refuse options for kernels without a kernel, and with one those that only the linear perceptron has."""
    options = {name: "--" + name.replace("_", "-") for name in (*rule, *kernels)}
    if kernels["kernel"] is None:
        for name, value in kernels.items():
            if value is not None:
                raise BadInputError(f"{options[name]} is for kernels: name one too, for instance --kernel rbf.")
        return
    strange = [options[name] for name in LINEAR_ONLY if rule[name] is not None]
    strange += ["--no-intercept"] * no_intercept
    strange += [f"{options[name]} {word}" for name, word in (("multiclass", "ovo"), ("combine", "pocket"))
                if rule[name] == word]  # fmt: skip
    if strange:
        raise BadInputError(f"{strange[0]} is for the linear perceptron: leave it out, or leave out --kernel.")
    if kernels["on_full"] is not None and kernels["budget"] is None:
        raise BadInputError("--on-full needs --budget: without one, the model is never full.")


def new_model(parameters: dict[str, Any], fit_intercept: bool) -> "AnyModel":
    """The model that the options ask for; parameters that it cannot have are refused."""
    model: AnyModel
    if "kernel" in parameters:
        from perceptrons import KernelPerceptron
        from perceptrons.kernel.choices import check_choices

        model = KernelPerceptron(**parameters)
    else:
        from perceptrons import Perceptron
        from perceptrons.training.choices import check_choices

        model = Perceptron(**parameters, fit_intercept=fit_intercept)
    with refusing(ValueError):
        check_choices(model)
    return model
