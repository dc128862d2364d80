"""Which weights of a linear model users may set. They are shown by `LinearLearner.shown`, read-only."""

from typing import Any

from sklearn.exceptions import NotFittedError


def settable(model: Any, name: str) -> Any:
    """The learner of a model whose last weights predict and can be set. Raises an error that says what to do if not."""
    start = f"fit(X, y, {'coef' if name == 'coef_' else 'intercept'}_init=...)"
    try:
        learner = model._fitted()
    except NotFittedError as error:
        raise NotFittedError(
            f"{name} cannot be set before the model knows its classes and features: start from given weights with "
            f"{start}, or call partial_fit(X, y, classes=...) once first."
        ) from error
    if model.combine != "last":
        raise AttributeError(
            f"{name} cannot be set with combine={model.combine!r}: these weights are computed from the whole "
            f"training history. Use combine='last', whose weights can be set, or start from given weights with {start}."
        )
    if learner.votes is not None or learner.weights.has_pocket:
        kept = "votes" if learner.votes is not None else "a pocket"
        raise AttributeError(
            f"{name} cannot be set: the model was created with {kept}, which would become invalid. Create it with "
            "combine='last'."
        )
    return learner
