"""Real data sets, read from the folder named by PERCEPTRONS_DATA, and made-up ones of any size.

Labels are always whole numbers 0..k-1, in the sorted order of the original labels.
pandas is imported by the sets that are tables: the others can be read on a machine without it.
"""

import gzip
import io
import lzma
import os
import tarfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
import scipy.sparse as sp
import sklearn.datasets
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split

SEED = 0

Matrix = np.ndarray | sp.csr_matrix


class Split(NamedTuple):
    """A data set, cut into what a learner sees and what it is judged on; y has a 0/1 column a label if several hold."""

    name: str
    X_train: Matrix
    y_train: np.ndarray
    X_test: Matrix
    y_test: np.ndarray


class Sentences(NamedTuple):
    """Tokens, each a word or a tuple of its columns, and their labels, sentence by sentence."""

    name: str
    X_train: list[list[Any]]
    y_train: list[list[str]]
    X_test: list[list[Any]]
    y_test: list[list[str]]


class Columns(NamedTuple):
    """What a table's own description says about its columns, counted from 0."""

    label: int = -1
    drop: tuple[int, ...] = ()
    categorical: tuple[int, ...] = ()  # codes written as numbers; columns of words are found without help


# From the .names files. In every file the label was moved to the last column, but for horse-colic.
UCI = {
    "abalone": Columns(),
    # No .names file is stored; these are the categorical columns of the Statlog description.
    "australian": Columns(categorical=(3, 4, 5, 11)),
    "banknote_authentication": Columns(),
    "breast-cancer": Columns(),
    "breast-cancer-wisconsin": Columns(),
    "ecoli": Columns(),
    "german": Columns(),
    "glass": Columns(),
    "haberman": Columns(),
    # The label is "surgical lesion?". Dropped: the hospital number, and what is known only after the fact.
    "horse-colic": Columns(23, (2, 22, 24, 25, 26, 27), (6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 20)),
    "ionosphere": Columns(),
    "iris": Columns(),
    "mammography": Columns(),
    "new-thyroid": Columns(),
    "oil-spill": Columns(drop=(0,)),  # the number of the patch within its image
    "phoneme": Columns(),
    "pima-indians-diabetes": Columns(),
    "sonar": Columns(),
    "wheat-seeds": Columns(),
    "wine": Columns(),
    "winequality-red": Columns(),
    "winequality-white": Columns(),
}


def names() -> list[str]:
    """The sets as a newcomer has them; `load` knows these and the ones in SCALED."""
    return list(LOADERS)


def load(name: str) -> Split:
    """The data set of that name, read afresh: nothing is kept, so a benchmark never times another's cache."""
    loaders = LOADERS | SCALED
    if name not in loaders:
        raise KeyError(f"no data set is called {name!r}; there are: {', '.join(loaders)}")
    X_train, y_train, X_test, y_test = loaders[name]()
    classes = np.unique(y_train)
    return Split(name, _compact(X_train), _codes(y_train, classes), _compact(X_test), _codes(y_test, classes))


def load_several(name: str) -> Split:
    """A set of SEVERAL, whose rows can have many labels: the official split, features standardised."""
    folder = f"multilabel-{name}"
    labels = [label.attrib["name"] for label in ElementTree.fromstring(path_of(f"{folder}/{name}.xml").read_bytes())]
    train, Y_train = _arff(f"{folder}/{name}-train.arff.xz", labels)
    test, Y_test = _arff(f"{folder}/{name}-test.arff.xz", labels)
    train, test = _standardised(train, test)
    return Split(name, _compact(train), Y_train, _compact(test), Y_test)


def load_sentences(name: str, sentences: int | None = None) -> Sentences:
    """A set of SENTENCES, or the first so many sentences of each of its files."""
    from perceptrons.data.conll import read_conll

    _, columns, label = SENTENCES[name]
    parts = []
    for path in sentence_files(name):
        file = read_conll(path)
        parts += [file.sentences(columns)[:sentences], file.sentences(label)[:sentences]]
    return Sentences(name, *parts)


def sentence_files(name: str) -> tuple[Path, Path]:
    """Where the sentences to learn from lie, and those to test on."""
    train, test = SENTENCES[name][0]
    return path_of(train), path_of(test)


def standardised(split: Split) -> Split:
    """A set of dense numbers with mean 0 and deviation 1, as measured on the training rows."""
    X_train, X_test = _standardised(split.X_train.astype(np.float64), split.X_test.astype(np.float64))
    return split._replace(name=f"{split.name}, standardised", X_train=_compact(X_train), X_test=_compact(X_test))


def newsgroup_messages() -> dict[str, list[tuple[str, str]]]:
    """20 newsgroups as they are, headers and all: texts with their groups, those to "train" and those to "test" on."""
    documents: dict[str, list[tuple[str, str]]] = {"train": [], "test": []}
    with tarfile.open(path_of("20news-bydate/20news-bydate.tar.bz2")) as archive:
        for member in archive:
            if member.isfile():
                folder, group, _ = member.name.split("/")
                text = archive.extractfile(member).read().decode("latin-1")
                documents[folder.rpartition("-")[2]].append((text, group))
    return documents


def newsgroup_messages_in_order() -> dict[str, list[tuple[float, str, str]]]:
    """The messages to "train" and those to "test" on: the place of each in its group, from 0 to 1, group and text.

    Numbers rise with time. The text is subject and body, without the other headers.
    """
    groups: dict[tuple[str, str], list[tuple[int, str]]] = {}
    with tarfile.open(path_of("20news-bydate/20news-bydate.tar.bz2")) as archive:
        for member in archive:
            if member.isfile():
                folder, group, number = member.name.split("/")
                head, _, body = archive.extractfile(member).read().decode("latin-1").partition("\n\n")
                subjects = [line[8:] for line in head.splitlines() if line.startswith("Subject:")]
                messages = groups.setdefault((folder.rpartition("-")[2], group), [])
                messages.append((int(number), f"{subjects[0] if subjects else ''}\n{body}"))
    documents: dict[str, list[tuple[float, str, str]]] = {"train": [], "test": []}
    for (part, group), messages in sorted(groups.items()):
        messages.sort()
        documents[part] += [((i + 0.5) / len(messages), group, text) for i, (_, text) in enumerate(messages)]
    return documents


def treebank_documents(part: str) -> list[tuple[str, list[str]]]:
    """The documents of the English Web Treebank in their order: the name of each and its sentences, as plain text."""
    documents: list[tuple[str, list[str]]] = []
    for line in unpacked(f"ud-english-ewt/en_ewt-ud-{part}.conllu.xz").decode().splitlines():
        if line.startswith("# newdoc id = "):
            documents.append((line.removeprefix("# newdoc id = "), []))
        elif line.startswith("# text = "):
            documents[-1][1].append(line.removeprefix("# text = "))
    return documents


def shuffled(split: Split, rows: int | None = None) -> Split:
    """The same set with its training rows in one seeded random order, or with the first so many of that order."""
    order = np.random.default_rng(SEED).permutation(len(split.y_train))[:rows]
    return split._replace(X_train=split.X_train[order], y_train=split.y_train[order])


def _codes(y, classes: np.ndarray) -> np.ndarray:
    """Positions in classes, so that every learner gets the same labels whatever the file called them."""
    unseen = np.setdiff1d(y, classes)
    if len(unseen):
        raise ValueError(f"the test rows hold labels that the training rows lack: {unseen}")
    return np.searchsorted(classes, y)


def _compact(X) -> Matrix:
    """float32 rows in one block of memory, with int32 columns in order when sparse: no learner need copy them."""
    if not sp.issparse(X):
        return np.ascontiguousarray(X, dtype=np.float32)
    X = sp.csr_matrix(X, dtype=np.float32)
    X.sum_duplicates()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


# Files


def path_of(file: str) -> Path:
    """Where file lies, or an error that says what to do about it."""
    root = os.environ.get("PERCEPTRONS_DATA")
    if not root:
        raise RuntimeError("set the environment variable PERCEPTRONS_DATA to the folder that holds the data sets")
    path = Path(root, file)
    if not path.is_file():
        raise FileNotFoundError(f"{file} is not in PERCEPTRONS_DATA ({root})")
    return path


def unpacked(file: str) -> bytes:
    """The unpacked content of a .gz or .xz file."""
    unpack = gzip.decompress if file.endswith(".gz") else lzma.decompress
    return unpack(path_of(file).read_bytes())


def _lines(file: str) -> list[str]:
    """The lines of an old text file; latin-1 never fails, and splits at line feeds only."""
    return unpacked(file).decode("latin-1").rstrip("\n").split("\n")


# Ways to cut and to encode


def _cut(X, y, test: float):
    """A seeded split with the same share of every class on both sides, where the source offers none."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=test, random_state=SEED, stratify=y)
    return X_train, y_train, X_test, y_test


def _tfidf(train: list[str], y_train, test: list[str], y_test, **options):
    """TF-IDF weights whose vocabulary and document frequencies come from the training texts alone."""
    vectorizer = TfidfVectorizer(dtype=np.float32, **options)
    return vectorizer.fit_transform(train), y_train, vectorizer.transform(test), y_test


def _standardised(train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean 0 and deviation 1 as measured on the training rows."""
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    deviation = np.where(deviation > 0, deviation, 1.0)
    return (train - mean) / deviation, (test - mean) / deviation


def _svmlight(*texts: bytes):
    """Train and test rows in LIBSVM text, over the same columns."""
    return sklearn.datasets.load_svmlight_files([io.BytesIO(text) for text in texts], dtype=np.float32)


def _arff(file: str, labels: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Features and 0/1 labels of an ARFF file of plain rows: an @attribute line a column, @data, lines of numbers."""
    lines = _lines(file)
    start = [line.strip().lower() for line in lines].index("@data")
    names = [line.split()[1] for line in lines[:start] if line.lower().startswith("@attribute")]
    table = np.loadtxt(lines[start + 1 :], delimiter=",", comments="%", ndmin=2)
    is_label = np.isin(names, labels)
    return table[:, ~is_label], table[:, is_label].astype(np.int64)


# Loaders


def _newsgroups():
    """The official split by date, headers kept (the harder score is without them), in a seeded random order."""
    documents = newsgroup_messages()
    np.random.default_rng(SEED).shuffle(documents["train"])  # the archive is sorted by group
    return _tfidf(*zip(*documents["train"], strict=True), *zip(*documents["test"], strict=True))


def _a9a():
    return _svmlight(unpacked("a9a/a9a.xz"), unpacked("a9a/a9a.t.xz"))


def _adult():
    """The official split: categories one-hot ("?" is one of them), the six numeric columns standardised."""
    import pandas as pd

    train, test = (
        pd.read_csv(io.BytesIO(unpacked(f"adult/adult.{part}.xz")), header=None, skipinitialspace=True, comment="|")
        for part in ("data", "test")
    )
    table = pd.concat([train, test])
    label = table.pop(14).str.rstrip(".").to_numpy()
    numeric = table.select_dtypes("number")
    one_hot = sp.csr_matrix(pd.get_dummies(table.drop(columns=numeric), dtype=np.float32).to_numpy())
    n = len(train)
    numeric = np.vstack(_standardised(*np.split(numeric.to_numpy(dtype=np.float64), [n])))
    X = sp.hstack([sp.csr_matrix(numeric), one_hot], format="csr")
    return X[:n], label[:n], X[n:], label[n:]


def covtype_in_order() -> tuple[np.ndarray, np.ndarray]:
    """All rows in the order of the file: ten measures, unscaled, then the areas and the soils one-hot."""
    with np.load(path_of("covtype/covtype.npz")) as file:
        measures, area, soil, y = (file[key] for key in ("num", "wilderness", "soil", "y"))
    X = np.zeros((len(y), 54), dtype=np.float32)
    rows = np.arange(len(y))
    X[:, :10] = measures
    X[rows, 10 + area] = 1
    X[rows, 14 + soil] = 1
    return X, y.astype(int) - 1


def _covtype(binary: bool = False):
    """Seeded 80/20: ten standardised measures, then the areas and the soils one-hot; binary is class 2 or not."""
    X, y = covtype_in_order()
    train, y_train, test, y_test = _cut(np.arange(len(y)), y == 1 if binary else y, 0.2)
    X_train, X_test = X[train], X[test]
    X_train[:, :10], X_test[:, :10] = _standardised(*(part[:, :10].astype(np.float64) for part in (X_train, X_test)))
    return X_train, y_train, X_test, y_test


def elec2_in_order() -> tuple[np.ndarray, np.ndarray]:
    """All rows in the order of time, unscaled."""
    import pandas as pd

    table = pd.read_csv(io.BytesIO(unpacked("elec2/elec.csv.xz")))
    y = np.unique(table.pop("class"), return_inverse=True)[1]
    return table.to_numpy(dtype=np.float64), y


def _elec2():
    """In the order of time: the first 70% to learn from, the rest to predict."""
    X, y = elec2_in_order()
    n = len(y) * 7 // 10
    return X[:n], y[:n], X[n:], y[n:]


def _letter():
    """UCI's raw counts from 0 to 15, and UCI's split: the first 16,000 rows to learn from."""
    import pandas as pd

    table = pd.read_csv(io.BytesIO(unpacked("letter/letter-recognition.data.xz")), header=None)
    y, X = table.pop(0).to_numpy(dtype=str), table.to_numpy()
    return X[:16000], y[:16000], X[16000:], y[16000:]


def _letter_scaled():
    """LIBSVM's columns from -1 to 1, and LIBSVM's split and order: the same rows as UCI's, shuffled by them."""
    X_train, y_train, X_test, y_test = _svmlight(
        *(unpacked(f"letter/letter.{part}.libsvm.xz") for part in ("scale", "scale.t"))
    )
    return X_train.toarray(), y_train, X_test.toarray(), y_test


def _mnist():
    """The official split, pixels from 0 to 1."""
    parts = []
    for part in ("train", "t10k"):
        pixels = np.frombuffer(unpacked(f"mnist/{part}-images-idx3-ubyte.gz"), np.uint8, offset=16)
        parts.append(pixels.reshape(-1, 784) / np.float32(255))
        parts.append(np.frombuffer(unpacked(f"mnist/{part}-labels-idx1-ubyte.gz"), np.uint8, offset=8))
    return parts


def _mushrooms():
    return _cut(*_svmlight(unpacked("mushrooms/mushrooms.libsvm.xz")), 0.2)


def _rcv1():
    """Vowpal Wabbit's sample of RCV1 (CCAT or not): LIBSVM text once its one namespace is taken out."""
    files = ("rcv1_small.dat.xz", "rcv1_small_test.data.xz")
    return _svmlight(*(unpacked(f"rcv1-vw-sample/{file}").replace(b"|f ", b"") for file in files))


def _rt_polarity():
    """Seeded 80/20; 0 is a negative snippet, 1 a positive one."""
    negative, positive = (_lines(f"rt-polarity/rt-polarity.{side}.gz") for side in ("neg", "pos"))
    y = np.repeat([0, 1], [len(negative), len(positive)])
    return _tfidf(*_cut(negative + positive, y, 0.2))


def _sms_spam():
    """Seeded 80/20; 0 is ham, 1 is spam."""
    labels, texts = zip(*(line.split("\t", 1) for line in _lines("sms-spam/SMSSpamCollection.gz")), strict=True)
    return _tfidf(*_cut(texts, labels, 0.2))


def _trec_qc():
    """The official split into 6 coarse classes; pairs of words and one-letter words matter in questions."""
    parts = []
    for part in ("train", "test"):
        labels, texts = zip(*(line.split(" ", 1) for line in _lines(f"trec-qc/{part}.txt.gz")), strict=True)
        parts += [texts, [label.partition(":")[0] for label in labels]]
    return _tfidf(*parts, ngram_range=(1, 2), token_pattern=r"\S+")


def _usps():
    """The official split, grey levels from -1 to 1 as in the published comparisons."""
    with np.load(path_of("usps/usps.npz")) as file:
        X_train, X_test = (file[key] / np.float32(1000) - 1 for key in ("X_train", "X_test"))
        return X_train, file["y_train"], X_test, file["y_test"]


def _uci(name: str):
    """Seeded 70/30 of a small table, unscaled as a newcomer would have it.

    Categories are one-hot, none set where the value is missing; a missing number is the training rows' median.
    """
    import pandas as pd

    columns = UCI[name]
    options = {"header": None, "na_values": "?", "quotechar": "'"}
    if name == "australian":
        table = pd.read_csv(io.BytesIO(unpacked("uci-small/australian.dat.gz")), sep=" ", **options)
    else:
        table = pd.read_csv(io.BytesIO(unpacked(f"uci-small/{name}.csv.gz")), **options)
    y = table.pop(table.columns[columns.label]).to_numpy()
    if y.dtype == object:
        y = y.astype(str)
    if name == "abalone":
        y = np.digitize(y, [9, 11])  # up to 8 rings, 9 or 10, more: the three classes of the .names file
    words = table.select_dtypes(exclude="number").columns
    table = table.drop(columns=list(columns.drop))
    table = pd.get_dummies(table, columns=[*words, *columns.categorical], dtype=np.float32)
    X_train, y_train, X_test, y_test = _cut(table, y, 0.3)
    median = X_train.median()
    return X_train.fillna(median).to_numpy(), y_train, X_test.fillna(median).to_numpy(), y_test


def _shipped(name: str):
    """A set that comes with scikit-learn, unscaled; seeded 70/30."""
    return _cut(*getattr(sklearn.datasets, f"load_{name}")(return_X_y=True), 0.3)


LOADERS: dict[str, Callable] = {
    "20news-bydate": _newsgroups,
    "a9a": _a9a,
    "adult": _adult,
    "covtype": _covtype,
    "covtype-binary": partial(_covtype, binary=True),
    "elec2": _elec2,
    "letter": _letter,
    "mnist": _mnist,
    "mushrooms": _mushrooms,
    "rcv1-vw-sample": _rcv1,
    "rt-polarity": _rt_polarity,
    "sms-spam": _sms_spam,
    "trec-qc": _trec_qc,
    "usps": _usps,
    **{f"uci/{name}": partial(_uci, name) for name in UCI},
    **{name: partial(_shipped, name) for name in ("iris", "wine", "breast_cancer", "digits")},
}

EVEN = ("covtype", "covtype-binary", "mnist", "usps", "digits")  # dense, of one scale as they are
SCALED: dict[str, Callable] = {"letter-scaled": _letter_scaled}
SEVERAL = ("emotions", "scene", "yeast")

# The files to learn from and to test on, the column or columns of a token, and that of its label, counted from 0.
SENTENCES: dict[str, tuple[tuple[str, str], Any, int]] = {
    "conll2000": (("conll2000/train.txt.gz", "conll2000/test.txt.gz"), (0, 1), 2),
    "ud-english-ewt": (
        ("ud-english-ewt/en_ewt-ud-train.conllu.xz", "ud-english-ewt/en_ewt-ud-test.conllu.xz"), 1, 3,
    ),
    "wnut17-ner": (("wnut17-ner/wnut17train.conll.gz", "wnut17-ner/emerging.test.annotated.gz"), 0, 1),
}  # fmt: skip


# Made-up data


def dense(n: int, d: int, seed: int = 0, dtype=np.float32) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian rows on the two sides of a random hyperplane, one label in ten turned over."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d), dtype=dtype)
    y = (X @ rng.standard_normal(d, dtype=dtype) > 0).astype(np.int64)
    return X, y ^ (rng.random(n) < 0.1)


def dense_classes(n: int, d: int, k: int, seed: int = 0, dtype=np.float32) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian rows of k classes: the largest of k random linear scores, one label in ten drawn anew."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d), dtype=dtype)
    return X, _largest(X @ rng.standard_normal((d, k), dtype=dtype), 0.1, rng)


def with_margin(n: int, d: int, margin: float, flipped: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two classes of float64 rows, pushed apart to this part of the radius; then so many labels flipped."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    u = rng.standard_normal(d)
    u /= np.linalg.norm(u)
    b = 0.3
    s = X @ u + b
    distance = margin * np.sqrt((X * X).sum(axis=1).max() + 1)
    side = np.where(s > 0, 1.0, -1.0)
    X += np.outer(side * np.maximum(0.0, distance - side * s), u)
    y = (side > 0).astype(np.int64)
    at = rng.choice(n, flipped, replace=False)
    y[at] = 1 - y[at]
    return X, y


def sparse(n: int, d: int, nonzeros: int, seed: int = 0) -> tuple[sp.csr_matrix, np.ndarray]:
    """Rows like TF-IDF of text on the two sides of a random sparse hyperplane, one label in 20 turned over."""
    rng = np.random.default_rng(seed)
    X = _text_like(n, d, nonzeros, rng)
    score = (X @ _sparse_weights(X, 1, rng)).ravel()
    y = (score > np.median(score)).astype(np.int64)
    return X, y ^ (rng.random(n) < 0.05)


def sparse_classes(n: int, d: int, nonzeros: int, k: int, seed: int = 0) -> tuple[sp.csr_matrix, np.ndarray]:
    """Rows like TF-IDF of text, of k classes: the largest of k random linear scores, one label in 20 drawn anew."""
    rng = np.random.default_rng(seed)
    X = _text_like(n, d, nonzeros, rng)
    return X, _largest(X @ _sparse_weights(X, k, rng), 0.05, rng)


def _sparse_weights(X: sp.csr_matrix, k: int, rng: np.random.Generator) -> np.ndarray:
    """Weights on few columns, drawn as often as they occur: on rare ones alone nothing could be learned."""
    d = X.shape[1]
    weights = np.zeros((d, k), dtype=np.float32)
    telling = np.unique(rng.choice(X.indices, 10 + d // 50))
    weights[telling] = rng.standard_normal((len(telling), k))
    return weights


def _largest(scores: np.ndarray, noise: float, rng: np.random.Generator) -> np.ndarray:
    """The best class of each row, with scores of equal mean and spread so that no class takes all."""
    y = ((scores - scores.mean(axis=0)) / scores.std(axis=0)).argmax(axis=1)
    return np.where(rng.random(len(y)) < noise, rng.integers(scores.shape[1], size=len(y)), y)


def _text_like(n: int, d: int, nonzeros: int, rng: np.random.Generator) -> sp.csr_matrix:
    """Documents of words drawn by Zipf's law (word of rank r as often as 1 / (r + 10)), as unit TF-IDF rows.

    Every document has the same number of words, and so many that about nonzeros of them are different.
    """
    if nonzeros > d / 2:
        raise ValueError(f"nonzeros ({nonzeros}) must be at most half of d ({d})")
    shift = 10.0
    edges = np.log1p(np.arange(d + 1) / shift) / np.log1p(d / shift)
    probability = np.diff(edges)
    length = _words_for(nonzeros, probability)
    draws = rng.random((n, length), dtype=np.float32)
    rank = (shift * np.expm1(draws * np.float32(np.log1p(d / shift)))).astype(np.int32)
    scattered = rng.permutation(d).astype(np.int32)  # frequent words lie anywhere, as in a sorted vocabulary
    words = np.sort(scattered[np.minimum(rank, d - 1)], axis=1)

    first = np.ones((n, length), dtype=bool)
    np.not_equal(words[:, 1:], words[:, :-1], out=first[:, 1:])
    start = np.flatnonzero(first)
    indptr = np.concatenate([[0], np.cumsum(first.sum(axis=1))]).astype(np.int32)
    indices = words.ravel()[start]
    counts = np.diff(start, append=n * length).astype(np.float32)

    idf = np.empty(d, dtype=np.float32)
    idf[scattered] = 1 - np.log(-np.expm1(length * np.log1p(-probability)))  # 1 - log of the share of documents
    values = counts * idf[indices]
    norms = np.sqrt(np.add.reduceat(values * values, indptr[:-1]))
    return sp.csr_matrix((values / np.repeat(norms, np.diff(indptr)), indices, indptr), shape=(n, d))


def _words_for(different: int, probability: np.ndarray) -> int:
    """How many draws hold that many different words on average."""
    low, high = different, different
    while _different(high, probability) < different:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _different(middle, probability) < different else (low, middle)
    return high


def _different(draws: int, probability: np.ndarray) -> float:
    """The expected number of different words among the draws."""
    return -np.expm1(draws * np.log1p(-probability)).sum()
