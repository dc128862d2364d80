"""How --help shows options: without a type for flags, which take no value."""

from typing import Any

from typer.core import TyperCommand, TyperGroup


def without_types(parameters: list[Any]) -> list[Any]:
    """The same parameters. Newer versions of typer would show <bool> beside flags, their own ones too."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False) and parameter.metavar is None:
            parameter.metavar = ""
    return parameters


class Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return without_types(super().get_params(ctx))


class Group(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return without_types(super().get_params(ctx))
