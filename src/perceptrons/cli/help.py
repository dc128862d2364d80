"""Commands whose --help is quick: typer's plain help, with the options in groups."""

from typing import Any

from typer.core import TyperCommand, TyperGroup


class Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return [_unhurried(parameter) for parameter in super().get_params(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        write_options(self, ctx, formatter)


class Group(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return [_unhurried(parameter) for parameter in super().get_params(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        write_options(self, ctx, formatter)
        self.format_commands(ctx, formatter)


def write_options(command: Any, ctx: Any, formatter: Any) -> None:
    """Write the parameters of a command: arguments, options, and options that have a group of their own."""
    groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)  # None: it is hidden
        if record is not None:
            if parameter.param_type_name == "argument":
                groups["Arguments"].append((parameter.metavar or parameter.name.upper(), record[1]))
            else:
                groups.setdefault(getattr(parameter, "rich_help_panel", None) or "Options", []).append(record)
    for title, records in groups.items():
        if records:
            with formatter.section(title):
                formatter.write_dl(records)


def _unhurried(parameter: Any) -> Any:
    """The same parameter. Where it was not given, typer would load what checks values, to find that there is none."""
    checked = parameter.process_value
    if not (parameter.required or parameter.multiple or parameter.nargs != 1 or hasattr(checked, "checked")):

        def process_value(ctx: Any, value: Any) -> Any:
            if value is not None:
                return checked(ctx, value)
            return None if parameter.callback is None else parameter.callback(ctx, parameter, None)

        process_value.checked = checked  # type: ignore[attr-defined]
        parameter.process_value = process_value
    return parameter
