"""What exported models predict, by onnxruntime."""

import numpy as np
import pytest

import perceptrons.onnx


def onnx_answers(model, X, **how):
    """Labels and scores by onnxruntime."""
    runtime = pytest.importorskip("onnxruntime")
    content = perceptrons.onnx.convert(model, **how).SerializeToString()
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return session.run(None, perceptrons.onnx.inputs_of(model, X, **how))


def far(found, wanted) -> float:
    """The largest difference of scores, relative to the largest score."""
    found, wanted = np.asarray(found).reshape(np.shape(wanted)), np.asarray(wanted, np.float64)
    return float(np.abs(found - wanted).max() / max(np.abs(wanted).max(), np.finfo(float).tiny))


def same_onnx(model, X, within=1e-12, **how):
    labels, scores, *probabilities = onnx_answers(model, X, **how)
    np.testing.assert_array_equal(labels, model.predict(X))
    assert far(scores, model.decision_function(X)) < within
    assert len(probabilities) == hasattr(model, "predict_proba")
    if probabilities:
        np.testing.assert_allclose(probabilities[0], model.predict_proba(X), rtol=0, atol=max(within, 1e-12))
