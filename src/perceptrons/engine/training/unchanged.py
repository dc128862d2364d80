"""An estimator that a call cannot finish is what it was before."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.base import BaseEstimator


@contextmanager
def unchanged_on_error(
    estimator: BaseEstimator, unless: Callable[[], bool] = lambda: False, before: dict[str, Any] | None = None
) -> Iterator[None]:
    """If the block fails, the estimator has the attributes it had (those of `before`), unless it has learned."""
    before = dict(vars(estimator)) if before is None else before
    try:
        yield
    except BaseException:  # Ctrl-C too
        if not unless():
            put_back(estimator, before)
        raise


def put_back(estimator: BaseEstimator, attributes: dict[str, Any]) -> None:
    """Give an estimator the attributes that it had before, and no others."""
    vars(estimator).clear()
    vars(estimator).update(attributes)
