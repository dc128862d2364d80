"""How large a model may become by learning."""

from typing import Any, NamedTuple

from perceptrons.serve.state import Change, State


class TooMuchError(ValueError):
    """The model would grow beyond its limits."""


class Growth(NamedTuple):
    """How large the model may become by learning."""

    features: int = 2**24
    classes: int = 1000

    def check_labels(self, state: State, changes: list[Change]) -> None:
        """Raise TooMuchError before the model makes room for more classes than it may have."""
        known = set() if state.kind is None else {*state.model.classes_.tolist()}
        given = (label if isinstance(label, list) else [label] for change in changes for label in change.labels)
        self._check("classes", len(known.union(*given)), len(known), self.classes)

    def check(self, state: State, before: State) -> None:
        """Raise TooMuchError if the model has grown beyond its limits. before: the model that it was."""
        for what, most in (("features", self.features), ("classes", self.classes)):
            self._check(what, _size(state.model, what), 0 if before.kind is None else _size(before.model, what), most)

    @staticmethod
    def _check(what: str, number: int, before: int, most: int) -> None:
        if number > max(most, before):
            raise TooMuchError(
                f"The model would grow to {number:,} {what}. At most {most:,} are allowed (--max-{what})."
            )


def _size(model: Any, what: str) -> int:
    return int(model.n_features_in_) if what == "features" else len(model.classes_)
