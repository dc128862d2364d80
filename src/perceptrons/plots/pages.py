"""Renders HTML pages from templates and assets that are packaged beside the modules that use them."""

from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from perceptrons.engine.html import visible


@cache
def template_environment(package: str) -> Environment:
    """Return the templates in a package. All values are escaped unless they are `Markup`."""
    return Environment(
        loader=PackageLoader(package, ""), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, finalize=lambda value: visible(value) if type(value) is str else value,
    )  # fmt: skip


@cache
def read_asset(package: str, name: str) -> Markup:
    """Return a style sheet or a script of ours, which goes into a page as it is."""
    return Markup(files(package).joinpath(name).read_text("utf-8"))
