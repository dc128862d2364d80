"""What tests of certificates share: data sets, the exact answer, and what a certificate has to stand up to."""

import json

import numpy as np
import scipy.sparse as sp
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import load_iris, make_blobs

from perceptrons.theory import Certificate, separability
from tests.linear.test_bad_input import BAD_DATA
from tests.reference import theory as reference

STEADY = settings(deadline=None, derandomize=True, max_examples=100)
XOR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0, 1, 1, 0])
THREE_BLOBS = make_blobs([8, 8, 8], centers=[[0, 0], [9, 1], [3, 8]], random_state=0)
SINGLE_LABELS = [name for name in BAD_DATA if "label sets" not in name and name != "two classes at once"]


def iris(labels=lambda y: y):
    X, y = load_iris(return_X_y=True)
    return X, labels(y)


def as_lists(X, y):
    """Rows and labels in plain Python, as the reference wants them; every float is kept as it is."""
    X = X.toarray() if sp.issparse(X) else np.asarray(X)
    return X.astype(float).tolist(), np.asarray(y).tolist()


def codes_of(labels):
    classes = sorted(set(labels))
    return [classes.index(label) for label in labels]


def truth(X, y, fit_intercept=True):
    """What the exact LP says."""
    rows, labels = as_lists(X, y)
    return reference.separable(rows, codes_of(labels), len(set(labels)), fit_intercept)


def assert_proves(certificate, X, y):
    """The certificate holds by its own check and by the reference's, and survives its way through a file."""
    text = certificate.to_json()
    content = json.loads(text)
    assert reference.why_not(content, *as_lists(X, y)) == ""
    assert content["digest"] == reference.digest(content) == certificate.digest
    assert certificate.verify(X, y) is True
    again = Certificate.from_json(text)
    assert again.to_json() == text
    assert again.verify(X, y) is True


def decided(X, y, **options):
    """The certificate of the data, which must be decided and proven."""
    certificate = separability(X, y, **options)
    assert certificate.separable is not None, certificate.reason
    assert_proves(certificate, X, y)
    return certificate


def rejected(content, X, y):
    """Whether a certificate of this content is refused when it is read or does not verify."""
    try:
        certificate = Certificate.from_json(json.dumps(content))
    except ValueError:
        return True
    return certificate.verify(X, y) is False


@st.composite
def data_sets(draw, classes=(2, 2), n=(2, 12), d=(1, 4), largest=3):
    """Whole numbers with labels; every class is there. Of what is counted the smallest and largest number is given."""
    k, n, d = (draw(st.integers(*limits)) for limits in (classes, n, d))
    n, values = max(k, n), st.integers(-largest, largest).map(float)
    X = draw(arrays(np.float64, (n, d), elements=values, fill=st.nothing()))
    y = draw(arrays(np.int64, n, elements=st.integers(0, k - 1), fill=st.nothing()))
    y[:k] = np.arange(k)
    return X, y
