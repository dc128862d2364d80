"""The other servers: a FastAPI application as people write it around scikit-learn, and Vowpal Wabbit's daemon.

`python -m benchmarks.serve_peers fastapi PORT` or `... vw PORT` starts one.
"""

import sys
from typing import Any

BITS = 20


def fastapi_application() -> Any:
    """Predict and learn by `partial_fit`, with a lock. It keeps what it learned in memory alone."""
    from threading import Lock

    from fastapi import FastAPI
    from pydantic import BaseModel
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import Perceptron

    class Texts(BaseModel):
        examples: list[str]
        labels: list[str] | None = None

    app, lock = FastAPI(), Lock()
    vectorizer = HashingVectorizer(n_features=2**BITS)
    model = Perceptron()
    model.partial_fit(vectorizer.transform(["free cash", "see you"]), ["spam", "ham"], classes=["ham", "spam"])

    @app.post("/predict")
    def predict(texts: Texts) -> dict[str, Any]:
        return {"predictions": model.predict(vectorizer.transform(texts.examples)).tolist()}

    @app.post("/learn")
    def learn(texts: Texts) -> dict[str, Any]:
        rows = vectorizer.transform(texts.examples)
        with lock:
            said = model.predict(rows).tolist()
            model.partial_fit(rows, texts.labels)
        return {"predictions": said}

    return app


def main() -> None:
    kind, port = sys.argv[1], int(sys.argv[2])
    if kind == "fastapi":
        import uvicorn

        uvicorn.run(fastapi_application(), host="127.0.0.1", port=port, log_level="warning", access_log=False)
        return
    from vowpalwabbit import Workspace

    options = f"--daemon --foreground --port {port} --num_children 1 -b {BITS} --binary --loss_function hinge --quiet"
    Workspace(options).run_parser()


if __name__ == "__main__":
    main()
