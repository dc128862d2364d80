"""Raw tables as people have them: `TableFeatures` and `Perceptron` beside scikit-learn's usual ColumnTransformer.

Small tables are cross-validated, five folds several times over, everybody on the same folds. Larger ones have the split
of their source. What `perceptrons train` does with a file is the same, bit for bit: tests compare them.
"""

import csv
import random
import re
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

import perceptrons
from benchmarks import datasets, results
from perceptrons import Perceptron
from perceptrons.features import TableFeatures

FOLDS, ROUNDS, LARGE_ROUNDS, LARGE = 5, 10, 2, 3000  # large: rows from which fewer rounds say enough
DAY = re.compile(r"(20\d\d)(0[1-9]|1[0-2])([0-2]\d|3[01])")
HEADER = re.compile(r"^(Organization|Lines|Subject):[ \t]*(.*)$", re.MULTILINE | re.IGNORECASE)
PEERS = {"LogisticRegression": LogisticRegression(max_iter=1000), "LinearSVC": LinearSVC()}
OURS = "perceptrons"
ASKED = -0.5  # points
ADULT = ["age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
       "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"]  # fmt: skip


def run(quick: bool) -> None:
    found = [cross_validated(name, quick) for name in (["iris", "horse-colic"] if quick else datasets.UCI)]
    with tempfile.TemporaryDirectory() as folder:
        for write in (adult, spam, news, documents):
            found.append(by_command(write.__name__, *write(Path(folder), quick)))
            print(_line(found[-1]), flush=True)
    markdown = "\n\n".join([describe(found), *notes(found)])
    results.write(
        "raw_tables", {"sets": found}, markdown, {"raw_tables": summary(found), "raw tables": large(found)}, quick
    )


# ---- small tables, cross-validated


def cross_validated(name: str, quick: bool) -> dict[str, Any]:
    """Accuracy of everybody on the same folds of a table as it is, and the seconds that all folds took."""
    frame, label = uci(name)
    y = frame.pop(label).astype(str).to_numpy()
    classes, counts = np.unique(y, return_counts=True)
    enough = np.isin(y, classes[counts >= FOLDS])
    frame, y = frame[enough].reset_index(drop=True), y[enough]
    rounds = 1 if quick else ROUNDS if len(y) < LARGE else LARGE_ROUNDS
    folds = list(RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=rounds, random_state=0).split(frame, y))
    models = {OURS: make_pipeline(TableFeatures(), Perceptron()), **{
        peer: make_pipeline(usual(frame), model) for peer, model in PEERS.items()}}  # fmt: skip
    scores, seconds = {}, {}
    for who, model in models.items():
        model.fit(frame.iloc[folds[0][0]], y[folds[0][0]])  # compiles
        began = time.perf_counter()
        scores[who] = [model.fit(frame.iloc[train], y[train]).score(frame.iloc[test], y[test]) for train, test in folds]
        seconds[who] = (time.perf_counter() - began) / len(folds)
    best = max(PEERS, key=lambda peer: float(np.mean(scores[peer])))
    by_round = np.array(scores[OURS]).reshape(rounds, FOLDS) - np.array(scores[best]).reshape(rounds, FOLDS)
    error = float(by_round.mean(axis=1).std(ddof=1) / np.sqrt(rounds)) if rounds > 1 else None
    found = {"name": name, "rows": len(y), "columns": frame.shape[1], "error": error, "seconds": seconds,
             "accuracy": {who: float(np.mean(of)) for who, of in scores.items()}}  # fmt: skip
    print(_line(found), flush=True)
    return found


def uci(name: str) -> tuple[Any, Any]:
    """A table of UCI as it is, and the column of its label."""
    import pandas as pd

    spaces = name == "australian"
    path = datasets.path_of(f"uci-small/{name}.{'dat' if spaces else 'csv'}.gz")
    frame = pd.read_csv(path, header=None, na_values=["?"], sep=r"\s+" if spaces else ",")
    frame.columns = [str(column) for column in frame.columns]
    return frame, frame.columns[datasets.UCI[name].label]


def usual(frame: Any) -> ColumnTransformer:
    """What people write: numbers imputed and standardised, strings one-hot."""
    numbers = list(frame.select_dtypes("number").columns)
    strings = [name for name in frame.columns if name not in numbers]
    return ColumnTransformer([
        ("numbers", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), numbers),
        ("strings", OneHotEncoder(handle_unknown="ignore"), strings),
    ])  # fmt: skip


# ---- files, by the command


def by_command(name: str, train: Path, test: Path, told: dict[str, Any], prepared: Any) -> dict[str, Any]:
    """From files to answers: what `perceptrons train` does, and pandas with scikit-learn's transformers."""
    accuracy, seconds, rows = {}, {}, 0
    for _ in range(2):  # compiled the second time
        began = time.perf_counter()
        table = perceptrons.data.read(train, prepare=True, **told)
        model = Perceptron().fit(table.X, table.y)
        table.teach(model)
        tested = perceptrons.data.read(test, like=model)
        accuracy[OURS], rows = float((model.predict(tested.X) == tested.y).mean()), table.X.shape[0]
        seconds[OURS] = time.perf_counter() - began
    for peer, model in PEERS.items():
        began = time.perf_counter()
        read, transformer = prepared
        (X, y), (X_test, y_test) = read(train), read(test)
        pipeline = make_pipeline(transformer(X), model).fit(X, y)
        accuracy[peer] = float(pipeline.score(X_test, y_test))
        seconds[peer] = time.perf_counter() - began
    return {"name": name, "rows": rows, "columns": None, "error": None, "seconds": seconds, "accuracy": accuracy}


def adult(folder: Path, quick: bool) -> tuple[Path, Path, dict[str, Any], Any]:
    """Census records with "?" for what is missing; the official split. The test file has dots behind its labels."""
    import pandas as pd

    paths = []
    for part in ("data", "test"):
        lines = [line for line in datasets.unpacked(f"adult/adult.{part}.xz").decode().splitlines() if "," in line]
        paths.append(folder / f"adult-{part}.csv")
        lines = [line.rstrip(".") for line in lines[: 2000 if quick else None]]
        paths[-1].write_text("\n".join([",".join(ADULT), *lines]) + "\n")

    def read(path: Path) -> tuple[Any, Any]:
        frame = pd.read_csv(path, skipinitialspace=True)
        return frame, frame.pop("income")

    return (*paths, {}, (read, usual))


def spam(folder: Path, quick: bool) -> tuple[Path, Path, dict[str, Any], Any]:
    """Text messages as a folder of files, one folder for each class; seeded 80/20."""
    lines = datasets.unpacked("sms-spam/SMSSpamCollection.gz").decode().splitlines()
    random.Random(0).shuffle(lines)
    lines = lines[: 1000 if quick else None]
    for number, line in enumerate(lines):
        label, _, text = line.partition("\t")
        place = folder / ("sms-train" if number < 0.8 * len(lines) else "sms-test") / label
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number}.txt").write_text(text)

    def read(path: Path) -> tuple[Any, Any]:
        files = sorted(path.glob("*/*.txt"))
        return [file.read_text() for file in files], [file.parent.name for file in files]

    return folder / "sms-train", folder / "sms-test", {}, (read, lambda X: TfidfVectorizer())


def news(folder: Path, quick: bool) -> tuple[Path, Path, dict[str, Any], Any]:
    """Newsgroup messages as a table of a category, a number and two texts; the official split by date."""
    import pandas as pd

    paths = []
    for part, messages in datasets.newsgroup_messages().items():
        random.Random(0).shuffle(messages)
        paths.append(folder / f"news-{part}.csv")
        with paths[-1].open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["organization", "lines", "subject", "body", "group"])
            for text, group in messages[: 1000 if quick else None]:
                head, _, body = text.partition("\n\n")
                fields = {name.lower(): value.strip() for name, value in HEADER.findall(head)}
                lines = fields.get("lines", "")
                said = fields.get("organization", ""), lines if lines.isdecimal() else "", fields.get("subject", "")
                writer.writerow([*said, body, group])

    def read(path: Path) -> tuple[Any, Any]:
        frame = pd.read_csv(path, keep_default_na=False, na_values={"lines": [""]})
        return frame, frame.pop("group")

    def transformer(X: Any) -> ColumnTransformer:
        return ColumnTransformer([
            ("number", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["lines"]),
            ("string", OneHotEncoder(handle_unknown="ignore"), ["organization"]),
            *((name, TfidfVectorizer(), name) for name in ("subject", "body")),
        ])  # fmt: skip

    return (*paths, {"text_column": ["subject", "body"]}, (read, transformer))


def documents(folder: Path, quick: bool) -> tuple[Path, Path, dict[str, Any], Any]:
    """Documents of the English Web Treebank as a table of a date, a number and two texts; the genre is the label.

    The names of answers, newsgroup messages and weblogs hold a date; those of e-mails and reviews do not.
    """
    import pandas as pd

    paths = []
    for part in ("train", "test"):
        paths.append(folder / f"documents-{part}.csv")
        with paths[-1].open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["date", "sentences", "first", "rest", "genre"])
            for name, sentences in datasets.treebank_documents(part)[: 100 if quick else None]:
                day = DAY.search(name)
                date = "-".join(day.groups()) if day else ""
                genre = name.partition("-")[0]
                writer.writerow([date, len(sentences), sentences[0], " ".join(sentences[1:]), genre])

    def read(path: Path) -> tuple[Any, Any]:
        frame = pd.read_csv(path, keep_default_na=False, parse_dates=["date"])
        frame["days"] = (frame["date"] - pd.Timestamp("2000-01-01")).dt.days
        frame["month"], frame["weekday"] = frame["date"].dt.month, frame["date"].dt.weekday
        return frame, frame.pop("genre")

    def transformer(X: Any) -> ColumnTransformer:
        return ColumnTransformer([
            ("numbers", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["sentences", "days"]),
            ("strings", OneHotEncoder(handle_unknown="ignore"), ["month", "weekday"]),
            *((name, TfidfVectorizer(), name) for name in ("first", "rest")),
        ])  # fmt: skip

    return (*paths, {"text_column": ["first", "rest"]}, (read, transformer))


# ---- in words


def behind(row: dict[str, Any]) -> float:
    """Points ahead of the better of the peers."""
    return 100 * (row["accuracy"][OURS] - max(row["accuracy"][peer] for peer in PEERS))


def _line(row: dict[str, Any]) -> str:
    return f"{row['name']}: {behind(row):+.2f} points"


def describe(found: list[dict[str, Any]]) -> str:
    lines = [
        [row["name"], f"{row['rows']:,}", *(f"{100 * row['accuracy'][who]:.2f}" for who in (OURS, *PEERS)),
         f"{behind(row):+.2f}", "" if row["error"] is None else f"{100 * row['error']:.2f}",
         *(f"{1000 * row['seconds'][who]:,.0f}" for who in (OURS, *PEERS))]
        for row in found
    ]  # fmt: skip
    times = [f"{who}, ms" for who in (OURS, *PEERS)]
    return results.table(["", "rows", OURS, *PEERS, "difference", "± error", *times], lines)


def summary(found: list[dict[str, Any]]) -> str:
    near = [row for row in found if behind(row) >= ASKED]
    short = [f"{row['name']} {behind(row):+.2f}" for row in found if behind(row) < ASKED]
    worse = "" if not short else f" More than half a point behind: {', '.join(short)}."
    mean = float(np.mean([behind(row) for row in found]))
    return (
        f"On {len(near)} of {len(found)} raw tables at most half a point behind the better of LogisticRegression and "
        f"LinearSVC, mean difference {mean:+.2f} points.{worse}"
    )


def large(found: list[dict[str, Any]]) -> str:
    chosen = [row for row in found if row["columns"] is None]
    lines = [
        [row["name"], *(f"{100 * row['accuracy'][who]:.1f}" for who in (OURS, *PEERS)),
         *(f"{row['seconds'][who]:.2f}" for who in (OURS, *PEERS))]
        for row in chosen
    ]  # fmt: skip
    heads = [f"{who}, {unit}" for unit in ("%", "s") for who in (OURS, *PEERS)]
    return results.table(["from files to answers", *heads], lines)


def notes(found: list[dict[str, Any]]) -> list[str]:
    return [
        f"Small tables: {FOLDS} folds, {ROUNDS} times ({LARGE_ROUNDS} times from {LARGE:,} rows), the same for all; "
        "± error is the standard error of the difference over these rounds; ms are of one fold, fitting and answering. "
        "adult, spam, news and documents: from files to answers, reading included, once. Peers get StandardScaler, "
        "SimpleImputer and OneHotEncoder in a ColumnTransformer, texts TfidfVectorizer; everything else is as it is by "
        "default.",
        summary(found),
    ]
