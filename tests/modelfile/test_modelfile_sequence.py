"""Model files of `SequencePerceptron`: exact, going on, the same bytes for the same seed, and safe."""

import numpy as np
import pytest
import scipy.sparse as sp

import perceptrons
from perceptrons import FeatureTemplates, ModelFileError, SequencePerceptron, modelfile
from tests.modelfile.test_modelfile import forge

rng = np.random.default_rng(0)
LABELS = ["B-x", "I-x", "O"]
WORDS = [[f"w{k}" for k in rng.integers(0, 12, n)] for n in [0, 1, 9, 5, 7, 3, 8, 4, 6, 5]]
TAGS = [["O" if word in ("w1", "w2", "w3", "w4", "w5") else "B-x" for word in words] for words in WORDS]
TAGS[2][4:7] = ["B-x", "I-x", "I-x"]
NAMES = [[[f"word={word}", f"end={word[-1]}"] for word in words] for words in WORDS]
DICTS = [[{"word": word, "length": len(word) / 4, "odd": word[-1] in "13579"} for word in words] for words in WORDS]
TEMPLATES = FeatureTemplates(["word[-1..1]", "suffix(word, 1)|word[-1]", "shape(word)", "bias"])
KINDS = {
    "names": (NAMES, {}),
    "dicts": (DICTS, {"step": "pa1", "cost": "hamming"}),
    "templates": (WORDS, {"templates": TEMPLATES, "allowed": "bio"}),
    "names seen twice": (NAMES, {"min_count": 4, "allowed": {None: {"B-x", "O"}, "O": ["O", "B-x"]}}),
    "templates seen twice": (WORDS, {"templates": TEMPLATES, "min_count": 3}),
    "names hashed": (NAMES, {"hash_bits": 5}),
    "templates hashed": (WORDS, {"templates": TEMPLATES, "hash_bits": 6, "combine": "last"}),
    "matrix": (None, {"margin": 0.5, "transitions": False}),
}


def matrix():
    rows = [[hash_free(word), len(word), 0.0, 1.0] for words in WORDS for word in words]
    return sp.csr_matrix(np.array(rows)), [len(words) for words in WORDS]


def hash_free(word):
    return int(word[1:]) / 8


def learn(model, kind, part=slice(None), by="partial_fit"):
    X = KINDS[kind][0]
    if X is not None:
        return getattr(model, by)(X[part], TAGS[part])
    rows, lengths = matrix()
    starts = np.concatenate([[0], np.cumsum(lengths)])
    begin, end, _ = part.indices(len(lengths))
    return getattr(model, by)(rows[starts[begin] : starts[end]], TAGS[part], lengths=lengths[part])


def labelled(model, kind):
    X = KINDS[kind][0]
    return model.predict(X) if X is not None else model.predict(*matrix()).tolist()


def fitted(kind, **more):
    return learn(SequencePerceptron(max_iter=3, **KINDS[kind][1], **more), kind, by="fit")


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.perceptron"


def saved(model, path):
    perceptrons.save(model, path)
    return path.read_bytes()


def by_name(model):
    """All weights, by the names of features, without those that have none."""
    weights = np.hstack([model.coef_last_.T, model.coef_average_.T])
    named = {name: row.tolist() for name, row in zip(model.attributes_, weights, strict=True) if row.any()}
    return named, model.transitions_last_.tolist(), model.transitions_average_.tolist(), model.start_.tolist()


def test_a_loaded_model_is_the_same(kind, path):
    model = fitted(kind)
    perceptrons.save(model, path)
    loaded = perceptrons.load(path)
    assert by_name(loaded) == by_name(model)
    assert labelled(loaded, kind) == labelled(model, kind)
    for name in ("classes_", "t_", "n_updates_", "n_mistakes_", "n_iter_", "stop_reason_", "mistakes_"):
        assert np.array_equal(getattr(loaded, name), getattr(model, name)), name
    if model.known_words() is not None:
        assert loaded.known_words() == model.known_words() == {word for words in WORDS for word in words}


def test_saved_loaded_and_gone_on_is_never_stopped_byte_for_byte(kind, path):
    straight = learn(learn(SequencePerceptron(**KINDS[kind][1]), kind, slice(0, 6)), kind, slice(6, 10))
    resumed = learn(SequencePerceptron(**KINDS[kind][1]), kind, slice(0, 6))
    perceptrons.save(resumed, path)
    resumed = learn(perceptrons.load(path), kind, slice(6, 10))
    assert by_name(resumed) == by_name(straight)
    assert saved(resumed, path) == saved(straight, path)


def test_epochs_after_loading_are_those_that_would_have_followed(kind, path):
    straight = fitted(kind, warm_start=True)
    resumed = fitted(kind, warm_start=True)
    perceptrons.save(resumed, path)
    resumed = perceptrons.load(path)
    assert saved(learn(resumed, kind, by="fit"), path) == saved(learn(straight, kind, by="fit"), path)


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(kind, path):
    one = saved(fitted(kind, random_state=3), path)
    assert one == saved(fitted(kind, random_state=3), path)
    assert one == saved(perceptrons.load(path), path)
    assert one != saved(fitted(kind, random_state=4), path)


def test_features_that_never_fired_take_no_room(path):
    never = [f"never{k}" for k in range(10_000)]
    X, y = [[["a"], ["b"]]] * 5 + [[["a", *never], ["b"]]], [["x", "y"]] * 6
    model = SequencePerceptron(shuffle=False).fit(X, y)
    assert model.n_features_in_ == 10_002
    assert len(saved(model, path)) < 6_000
    assert perceptrons.load(path).attributes_.tolist() == ["b"]  # a is x by default: no update ever asked for it
    assert perceptrons.load(path).predict(X) == model.predict(X)


def test_parameters_that_no_longer_fit_are_not_saved(path):
    model = fitted("templates")
    for change in ({"min_count": 2}, {"hash_bits": 4}, {"templates": FeatureTemplates(["word"])}, {"combine": "best"}):
        with pytest.raises(ValueError, match=r"created with|combine"):
            perceptrons.save(fitted("templates").set_params(**change), path)
    with pytest.raises(ValueError, match="not fitted"):
        perceptrons.save(SequencePerceptron(), path)
    model.templates.templates.append("word[2]")
    with pytest.raises(ValueError, match="other templates"):
        perceptrons.save(model, path)
    model.templates.templates.pop()
    assert not path.exists()


# ---- files that are broken or hostile


def refused(path, why="do not fit together"):
    with pytest.raises(ModelFileError, match=why):
        perceptrons.load(path)


def test_every_truncation_and_flipped_bit_is_found(kind, path):
    content, draws = saved(fitted(kind), path), np.random.default_rng(1)
    for length in [*range(0, 200, 13), len(content) // 2, len(content) - 1]:
        path.write_bytes(content[:length])
        refused(path, str(path))
    for place in [0, 8, 9, len(content) - 1, *draws.integers(0, len(content), 60)]:
        altered = bytearray(content)
        altered[place] ^= 1 << int(draws.integers(8))
        path.write_bytes(bytes(altered))
        refused(path, str(path))


def test_every_array_that_is_missing_or_of_another_shape_or_type_is_refused(kind, path):
    model = fitted(kind)
    changes = {
        "missing": lambda arrays, name: arrays.pop(name),
        "longer": lambda arrays, name: arrays.update({name: np.concatenate([arrays[name], arrays[name][-1:]])}),
        "shorter": lambda arrays, name: arrays.update({name: arrays[name][:-1]}),
        "deeper": lambda arrays, name: arrays.update({name: arrays[name][None]}),
        "of halves": lambda arrays, name: arrays.update({name: arrays[name].astype(np.float16)}),
    }
    for name, array in modelfile.sequence.contents(model)[1].items():
        for what, change in changes.items():
            if not len(array) and what in ("longer", "shorter"):
                continue
            forge(model, path, lambda _, arrays, change=change, name=name: change(arrays, name))
            refused(path)


@pytest.mark.parametrize("number", [-1, 2**30, 2**62])
def test_numbers_that_point_nowhere_are_refused(kind, path, number):
    model = fitted(kind)
    for name, array in modelfile.sequence.contents(model)[1].items():
        if array.dtype.kind in "iu" and len(array):
            wrong = np.array(number).astype(array.dtype)
            if name in ("values", "names", "waiting"):
                continue  # bytes of names: any name is a name

            def point(_, arrays, name=name, wrong=wrong):
                arrays[name] = arrays[name].copy()
                arrays[name][0] = wrong

            if wrong != array[0]:
                forge(model, path, point)
                refused(path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("t", -1),
        ("t", 1.5),
        ("updates", 10**9),
        ("n_features", -1),
        ("n_features", 2**50),
        ("dtype", "float16"),
        ("kind", "matrix"),
        ("kind", "magic"),
        ("classes", ["B-x"]),
        ("classes", ["O", "B-x", "I-x"]),
        ("parameters", {}),
        ("seed", "x"),
    ],
)
def test_headers_that_make_no_sense_are_refused(path, key, value):
    forge(fitted("templates"), path, lambda header, _: header.update({key: value}))
    refused(path)


def test_a_matrix_of_more_columns_than_memory_holds_is_refused(path):
    forge(fitted("matrix"), path, lambda header, _: header.update({"n_features": 2**39}))
    refused(path, "549,755,813,888 features and 3 labels would need")


def test_features_that_stand_twice_are_refused(path):
    def twice(_, arrays):
        arrays["key_templates"], arrays["key_values"] = arrays["key_templates"].copy(), arrays["key_values"].copy()
        arrays["key_templates"][1], arrays["key_values"][1] = arrays["key_templates"][0], arrays["key_values"][0]

    forge(fitted("templates"), path, twice)
    refused(path)


def test_weights_that_are_not_finite_are_refused(kind, path):
    for name in ("w", "late_w", "arcs", "late_arcs"):

        def spoil(_, arrays, name=name):
            arrays[name] = arrays[name].copy()
            arrays[name].flat[0] = np.nan

        forge(fitted(kind), path, spoil)
        refused(path)
