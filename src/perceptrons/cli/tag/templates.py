"""`--templates`: a set by its name, or a file with a template a line."""

from pathlib import Path
from typing import TYPE_CHECKING

from perceptrons.cli.errors import BadInputError, refusing

if TYPE_CHECKING:
    from perceptrons import FeatureTemplates

SETS = ("words", "chunking")


def templates_file(given: str | None) -> Path | None:
    """The file that the option names, if it is no set."""
    return None if given is None or given in SETS else Path(given)


def read_templates(given: str | None, columns: list[str]) -> "FeatureTemplates":
    """The templates for these columns; none given: the rich set."""
    from perceptrons import FeatureTemplates

    path = templates_file(given)
    texts = given if path is None else _texts(path, columns)
    templates = FeatureTemplates(texts, columns=columns)
    with refusing(ValueError, about=f"--templates {given}"):
        templates.parsed()
    return templates


def _texts(path: Path, columns: list[str]) -> list[str]:
    from perceptrons.sequence.template_grammar import parse

    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        what = f"{error.strerror}".lower() if isinstance(error, OSError) else "not UTF-8 text"
        raise BadInputError(
            f"--templates {path}: {what}: give {', '.join(SETS)}, or a file with a template a line."
        ) from error
    texts = []
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        if text:
            with refusing(ValueError, about=f"{path}:{number}:1"):
                parse(text, columns)
            texts.append(text)
    if not texts:
        raise BadInputError(f"{path}: there is no template in it: give one a line, for instance word[-1]|word[0].")
    return texts
