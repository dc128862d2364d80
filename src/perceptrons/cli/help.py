"""Commands whose --help is quick, and how it looks: panels of options and commands, as typer has them.

They are drawn here, since typer would load rich for it, which took half the time of --help.
"""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from typer.core import TyperCommand, TyperGroup

STYLES = {"option": "1;36", "switch": "1;32", "value": "1;33", "needed": "31", "usage": "33", "strong": "1", "dim": "2"}
FORCING = ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS")
ROUNDED, ASCII = "╭─╮│╰╯", "+-+|++"
GAP = "  "
LEAST, ROOM = 20, 24  # columns of a terminal, and of what an option does where it stands beside the option
INDENT = 6  # where it stands below it
NAMED = re.compile(r"((?<![\w-])--?[a-zA-Z][\w-]*)")  # options in a text


class Look(NamedTuple):
    """What the terminal can do."""

    width: int
    styled: bool
    coloured: bool
    box: str

    def paint(self, text: str, style: str) -> str:
        code = STYLES.get(style, "")
        if not self.coloured:
            code = ";".join(part for part in code.split(";") if len(part) == 1)
        return f"\033[{code}m{text}\033[0m" if self.styled and code and text else text

    def text(self, text: str, style: str = "") -> str:
        """A line of text in which options stand out."""
        if not self.styled:
            return text
        pieces = NAMED.split(text)
        return "".join(self.paint(piece, _kind(piece) if k % 2 else style) for k, piece in enumerate(pieces))


class Line(NamedTuple):
    """What has a line of its own in a panel: cells with their styles, and what it is for."""

    cells: list[tuple[str, str]]
    help: str
    needed: bool = False


class Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return [_unhurried(parameter) for parameter in super().get_params(ctx)]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(page(ctx, {}))


class Group(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return [_unhurried(parameter) for parameter in super().get_params(ctx)]

    def summaries(self, ctx: Any) -> Mapping[str, str]:
        """The commands, and what each is for."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        return {name: _paragraphs(command.help)[0] for name, command in commands.items() if command is not None}

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(page(ctx, self.summaries(ctx)))


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


def page(ctx: Any, commands: Mapping[str, str]) -> str:
    """The help of the command that this is the context of, and of its own commands."""
    look = _look(ctx)
    usage = " ".join([ctx.command_path, *ctx.command.collect_usage_pieces(ctx)])
    first, *others = wrapped(f"Usage: {usage}", look.width - 2)
    lines = ["", f" {look.paint(first[:7], 'usage')}{look.paint(first[7:], 'strong')}"]
    lines += [f" {look.paint(line, 'strong')}" for line in others]
    for k, paragraph in enumerate(_paragraphs(ctx.command.help)):
        lines += ["", *(f" {look.text(line, 'dim' if k else '')}" for line in wrapped(paragraph, look.width - 2))]
    lines.append("")
    for title, rows in _panels(ctx).items():
        lines += panel(title, rows, look)
    if commands:
        lines += panel("Commands", [Line([(name, "option")], text) for name, text in commands.items()], look)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def panel(title: str, rows: list[Line], look: Look) -> Iterator[str]:
    """Rows in a box: their cells in columns, and beside them, or below where that is too narrow, what they are for."""
    left, flat, right, side, low_left, low_right = list(look.box)
    room = look.width - 4
    widths = [max(len(cell[0]) for cell in column) for column in zip(*(row.cells for row in rows), strict=True)]
    used = [k for k, width in enumerate(widths) if width]
    marked = any(row.needed for row in rows)
    before = sum(widths[k] + len(GAP) for k in used) + 2 * marked
    beside = room - before >= ROOM
    edge = look.paint(side, "dim")
    head = f"{flat} {title[: room - 2]} "
    yield look.paint(left + head + flat * (look.width - 2 - len(head)) + right, "dim")
    for row in rows:
        mark = (look.paint("*", "needed") if row.needed else " ") + " " if marked else ""
        shown = mark + GAP.join(look.paint(row.cells[k][0], row.cells[k][1]) + _gap(row, k, widths) for k in used)
        pieces = wrapped(row.help, room - before if beside else max(room - INDENT, 1))
        if beside:
            lines = [(shown + GAP, before)] + [(" " * before, before)] * (len(pieces) - 1)
        else:
            filled = sum(len(row.cells[k][0]) for k in used) + 2 * marked
            yield from _stacked(row, look, mark, edge, room, filled)
            lines = [(" " * INDENT, INDENT)] * len(pieces)
        for (start, size), piece in zip(lines, pieces, strict=True):
            yield f"{edge} {start}{look.text(piece)}{' ' * (room - size - len(piece))} {edge}"
    yield look.paint(low_left + flat * (look.width - 2) + low_right, "dim")


def _stacked(row: Line, look: Look, mark: str, edge: str, room: int, filled: int) -> Iterator[str]:
    """The cells of a row on lines of their own."""
    cells = [cell for cell in row.cells if cell[0]]
    whole = mark + " ".join(look.paint(*cell) for cell in cells)
    length = filled + max(len(cells) - 1, 0)
    if length <= room:
        yield f"{edge} {whole}{' ' * (room - length)} {edge}"
        return
    for piece in wrapped(" ".join(text for text, _ in cells), room):
        yield f"{edge} {look.text(piece)}{' ' * (room - len(piece))} {edge}"


def shown_value(metavar: str | None, bounds: Mapping[str, Any]) -> str | None:
    """What stands for the value of an option, with the numbers that it may be."""
    low, high = bounds.get("min"), bounds.get("max")
    if low is None and high is None:
        return metavar
    among = f"x>={low}" if high is None else f"x<={high}" if low is None else f"{low}<=x<={high}"
    return f"{metavar} [{among}]"


def wrapped(text: str, width: int) -> list[str]:
    """Break the text into lines of at most this width; a longer word is cut."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += " " + word
            continue
        pieces = [word[at : at + width] for at in range(0, len(word), width)]
        lines[-1:] = [lines[-1], *pieces] if lines[-1] else pieces
    return lines


def _gap(row: Line, k: int, widths: list[int]) -> str:
    return " " * (widths[k] - len(row.cells[k][0]))


def _kind(option: str) -> str:
    return "option" if option.startswith("--") else "switch"


def _paragraphs(text: str | None) -> list[str]:
    return [" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text or "")]


def _panels(ctx: Any) -> dict[str, list[Line]]:
    """The parameters of a command: arguments, options, and options that have a panel of their own."""
    panels: dict[str, list[Line]] = {"Arguments": [], "Options": []}
    for parameter in ctx.command.get_params(ctx):
        if getattr(parameter, "hidden", False):
            continue
        argument = parameter.param_type_name == "argument"
        name = getattr(parameter, "rich_help_panel", None) or ("Arguments" if argument else "Options")
        panels.setdefault(name, []).append(_argument(parameter) if argument else _option(parameter))
    return {name: rows for name, rows in panels.items() if rows}


def _argument(parameter: Any) -> Line:
    needed = " [required]" * parameter.required
    return Line([(parameter.metavar or parameter.name.upper(), "value")], (parameter.help or "") + needed, bool(needed))


def _option(parameter: Any) -> Line:
    long = ",".join(_those(parameter.opts, "--"))
    short = ",".join(flag for flag in parameter.opts if not flag.startswith("--"))
    value = "" if parameter.is_flag else parameter.metavar or ""
    return Line([(long, "option"), (short, "switch"), (value, "value")], parameter.help or "", bool(parameter.required))


def _those(flags: Iterable[str], begin: str) -> list[str]:
    return [flag for flag in flags if flag.startswith(begin)]


def _look(ctx: Any) -> Look:
    """What standard output can do, as rich finds it: NO_COLOR leaves bold, and what is no terminal has no style."""
    forced = any(os.environ.get(name) for name in FORCING)
    dumb = os.environ.get("TERM", "").lower() in ("dumb", "unknown")
    styled = forced or (sys.stdout.isatty() and not dumb)
    if forced:
        ctx.color = True  # or the codes would be taken out again
    utf = "utf" in (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
    return Look(_width(), styled, not os.environ.get("NO_COLOR"), ROUNDED if utf else ASCII)


def _width() -> int:
    """Columns of the terminal, by the variable COLUMNS or whatever of the three streams is one; else 80."""
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and int(told) > 0:
        return max(int(told), LEAST)
    for stream in (sys.__stdin__, sys.__stdout__, sys.__stderr__):
        try:
            return max(os.get_terminal_size(stream.fileno()).columns, LEAST)  # type: ignore[union-attr]
        except (AttributeError, ValueError, OSError):  # closed, no file, or no terminal
            continue
    return 80
