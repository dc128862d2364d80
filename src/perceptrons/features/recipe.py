"""How files were read, as model files and caches hold it: anybody may have written those, so it is checked here."""

from typing import Any

from perceptrons.features.text import HashedText

NAMED = ("numbers", "categories", "ignore", "optional", "names")  # lists of columns of tables
KINDS: dict[str, tuple[type, ...]] = {
    "format": (str,), "form": (str,), "dtype": (str,), "label_column": (str, int), "text_column": (str, list),
    "text": (dict,), "zero_based": (bool,), "prefix": (bool,), "text_labels": (bool,), "hash_bits": (int,),
    **dict.fromkeys(NAMED, (list,)),
}  # fmt: skip


def check_recipe(recipe: Any) -> None:
    """Raise ValueError for a recipe of reading that no reader wrote."""
    _demand(isinstance(recipe, dict) and isinstance(recipe.get("format"), str), "a recipe of reading")
    for name, value in recipe.items():
        _demand(value is None or isinstance(value, KINDS.get(name, (object,))), f"a recipe with a sound {name}")
        if isinstance(value, list):
            _demand(all(isinstance(column, str) for column in value), f"columns in {name}")
    if recipe.get("text") is not None:
        HashedText(**recipe["text"])._check()


def _demand(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"expected {what}")
