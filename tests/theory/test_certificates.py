"""Certificates: what was altered is rejected, by `verify` and by the stand-alone checker."""

import ast
import csv
import dataclasses
import io
import json
import math
import re
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perceptrons.theory import Certificate, Combination, separability
from tests.conftest import ROOT
from tests.reference import theory as reference
from tests.support.certificates import (
    STEADY,
    THREE_BLOBS,
    XOR,
    as_lists,
    data_sets,
    decided,
    iris,
    rejected,
)

# ---- altered certificates


def other_values(value):
    """JSON values that are not this one, in or out of its kind; of lists and dicts every part is altered by itself."""
    if value is None:
        yield from (0, "1", [1.0])
    elif isinstance(value, bool):
        yield from (not value, None)
    elif isinstance(value, int):
        yield from (value + 1, value - 1, -value - 1, str(value))
    elif isinstance(value, float):
        near = {math.nextafter(value, math.inf), math.nextafter(value, -math.inf)}
        yield from sorted({*near, -value - 1, 2 * value + 1} - {value})
        yield from (None, str(value))
    elif isinstance(value, str):
        yield from sorted({value + "0", "", "-" + value, value[:-1] + ("1" if value[-1:] != "1" else "2")} - {value})
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield value[:place] + value[place + 1 :]
            yield [*value[: place + 1], part, *value[place + 1 :]]
            for other in other_values(part):
                yield [*value[:place], other, *value[place + 1 :]]
        if value[::-1] != value:
            yield value[::-1]
        yield None
    else:
        for key, part in value.items():
            yield {name: kept for name, kept in value.items() if name != key}
            for other in other_values(part):
                yield {**value, key: other}
        yield None


def redone(content):
    """The same claims under a digest that fits them."""
    return {**content, "digest": reference.digest(content)}


ALTERED = {
    "xor": (*XOR, {}),
    "a line, strings": ([[0.0], [2.0], [3.5]], ["a", "b", "b"], {}),
    "booleans": ([[0.0, 1.0], [2.0, -1.0], [3.5, 0.0]], [True, False, False], {}),
    "setosa": (iris()[0][::7], np.where(iris()[1][::7] == 0, "setosa", "other"), {}),
    "no intercept": ([[1.0, 2.0], [-1.0, -3.0], [0.5, -1.0]], [-1, 1, 1], {"fit_intercept": False}),
    "a zero row": ([[1.0, 2.0], [0.0, 0.0], [-1.0, 0.5]], [1, 1, 0], {"fit_intercept": False}),
    "three blobs": (*THREE_BLOBS, {}),
    "three classes, inseparable": ([[0.0], [1.0], [0.5], [2.0]], ["x", "y", "z", "x"], {}),
    "three irises": (iris()[0][::3], iris()[1][::3], {}),
    "float32": (np.float32([[0.1, 0.2], [0.3, 0.7], [0.9, 0.9]]), [0, 0, 1], {}),
    "decimals that meet": ([[0.1, 1.0], [0.2, 2.0], [0.3, 3.0]], [0, 1, 0], {"decimals": True}),
    "decimals apart": ([[0.1, 1.7], [0.2, -2.0], [0.3, 3.05]], [0, 1, 0], {"decimals": True}),
    "three classes of decimals": ([[0.1], [0.7], [0.25], [-1.5]], ["x", "y", "z", "x"], {"decimals": True}),
    "last bits": (np.array([[2.0**53], [2.0**53 - 1], [2.0**53 - 2]]), [1, 0, 0], {}),
}


@pytest.mark.parametrize("case", ALTERED)
def test_a_certificate_with_anything_altered_is_rejected(case):
    X, y, options = ALTERED[case]
    content = json.loads(decided(X, y, **options).to_json())
    assert not rejected(content, X, y)
    altered = list(other_values(content))
    assert len(altered) > 50
    for other in altered:
        assert rejected(other, X, y), other


@pytest.mark.parametrize("case", ALTERED)
def test_a_false_claim_is_rejected_under_a_digest_that_fits(case):
    X, y, options = ALTERED[case]
    content = json.loads(decided(X, y, **options).to_json())
    assert not rejected(redone(content), X, y)
    false = 0
    for key in content:
        for value in other_values(content[key]):
            other = redone({**content, key: value})
            if reference.why_not(other, *as_lists(X, y)):
                false += 1
                assert rejected(other, X, y), (key, value)
        missing = {name: value for name, value in content.items() if name != key}
        assert rejected(redone(missing) if key != "digest" else missing, X, y), key
    assert false > 30


@given(data_sets(classes=(2, 4)), st.booleans(), st.data())
@settings(STEADY, max_examples=300)
def test_one_alteration_of_any_certificate_is_rejected(data, fit_intercept, draw):
    content = json.loads(decided(*data, fit_intercept=fit_intercept).to_json())
    key = draw.draw(st.sampled_from(sorted(content)))
    other = {**content, key: draw.draw(st.sampled_from(list(other_values(content[key]))))}
    assert rejected(other, *data)
    if reference.why_not(other, *as_lists(*data)):
        assert rejected(redone(other), *data)


@pytest.mark.parametrize("case", ALTERED)
def test_a_field_replaced_in_the_object_is_noticed(case):
    X, y, options = ALTERED[case]
    certificate = decided(X, y, **options)
    changes = {
        "separable": [not certificate.separable, None],
        "classes": [certificate.classes[::-1], (*certificate.classes, "new")],
        "n_samples": [certificate.n_samples + 1],
        "n_features": [certificate.n_features + 1],
        "fit_intercept": [not certificate.fit_intercept],
        "number_type": ["float32" if certificate.number_type == "float64" else "float64"],
        "digest": ["0" * 64, certificate.digest[::-1]],
    }
    if certificate.separable:
        coef = np.array(certificate.coef)
        coef.flat[0] = coef.flat[0] * 2 + 1
        changes["coef"] = [coef, -np.array(certificate.coef), None]
        changes["intercept"] = [certificate.intercept + 1]
        reached, at_most = certificate.margin
        closer = type(certificate.margin)(reached, math.nextafter(at_most, 0))
        changes["margin"] = [type(certificate.margin)(math.nextafter(reached, math.inf), at_most), closer, None]
    name = "support" if certificate.separable else "witness"
    rows, labels, rivals, weights = getattr(certificate, name)
    changes[name] = [
        Combination((*rows[:-1], rows[-1] + 1), labels, rivals, weights),
        Combination(rows, rivals, labels, weights),
        Combination(rows, labels, labels, weights),
        Combination(rows, labels, rivals, (weights[0] / 2, *weights[1:])),
        Combination(rows[1:], labels[1:], rivals[1:], weights[1:]),
        None,
    ]
    for field, values in changes.items():
        for value in values:
            try:
                other = dataclasses.replace(certificate, **{field: value})
            except ValueError:
                continue
            assert other.verify(X, y) is False, (field, value)
    assert certificate.verify(X, y) is True


def test_a_certificate_cannot_be_written_to():
    certificate = decided(*THREE_BLOBS)
    with pytest.raises(dataclasses.FrozenInstanceError):
        certificate.separable = False
    for array in (certificate.coef, certificate.intercept):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", "17", '"a"', "not JSON", '{"format": "perceptrons-certificate-1"}']
)
def test_what_is_no_certificate_is_refused(text):
    with pytest.raises(ValueError):
        Certificate.from_json(text)


def test_a_key_that_is_no_part_is_named_on_one_line():
    content = json.loads(decided(*XOR).to_json())
    with pytest.raises(ValueError, match="missing or unknown") as error:
        Certificate.from_json(json.dumps({**content, "wi\ness": 1}))
    assert "\n" not in str(error.value)


def test_a_certificate_of_another_format_is_refused():
    content = json.loads(decided(*XOR).to_json())
    with pytest.raises(ValueError):
        Certificate.from_json(json.dumps(redone({**content, "format": "perceptrons-certificate-9"})))


@given(data_sets(n=(2, 8), d=(1, 3)), st.booleans())
@settings(STEADY, max_examples=60)
def test_certificates_made_by_the_reference_hold_too(data, fit_intercept):
    """Everything in a certificate is public: whoever has a proof can write one."""
    X, y = data
    rows, labels = as_lists(X, y)
    vectors = [z for _, _, z in reference.differences(rows, labels, 2, fit_intercept)]
    answer, proof = reference.decide(vectors)
    content = json.loads(decided(X, y, fit_intercept=fit_intercept).to_json())
    if answer:
        quotients = [f"{value.numerator}/{value.denominator}" for value in [*proof, Fraction(0)]]
        content["coef"], content["intercept"] = quotients[: X.shape[1]], quotients[X.shape[1]]
        weights = content["coef"], content["intercept"]
        content["margin"][0] = 0.999 * math.sqrt(reference.squared_margin(*weights, rows, labels))
    else:
        used = [i for i, weight in enumerate(proof) if weight]
        common = math.lcm(*(proof[i].denominator for i in used))
        content["witness"] = {
            "rows": used,
            "labels": [labels[i] for i in used],
            "rivals": [1 - labels[i] for i in used],
            "weights": [str(int(proof[i] * common)) for i in used],
        }
    assert reference.why_not(content, rows, labels) == ""
    assert not rejected(redone(content), X, y)


# ---- the stand-alone checker

CHECKER = ROOT / "tools" / "check_certificate.py"


def check(*arguments):
    """Run the checker without site-packages: exit status and what it says."""
    command = [sys.executable, "-I", "-S", str(CHECKER), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    return done.returncode, done.stdout + done.stderr


def write_csv(path, X, y, header=None, label_first=False):
    text = io.StringIO()
    writer = csv.writer(text)
    if header:
        writer.writerow(header)
    for row, label in zip(*as_lists(X, y), strict=True):
        cells = [repr(value) for value in row]
        writer.writerow([label, *cells] if label_first else [*cells, label])
    path.write_text(text.getvalue(), encoding="utf-8")
    return path


CHECKED = {name: ALTERED[name] for name in ALTERED if name != "booleans"}


@pytest.mark.parametrize("case", CHECKED)
def test_the_checker_finds_that_certificates_hold(case, tmp_path):
    X, y, options = CHECKED[case]
    path = tmp_path / "certificate.json"
    path.write_text(decided(X, y, **options).to_json(), encoding="utf-8")
    code, said = check(path, write_csv(tmp_path / "data.csv", X, y))
    assert (code, said[:6]) == (0, "holds:"), said


@pytest.mark.parametrize("case", ["xor", "setosa", "three blobs", "no intercept"])
def test_the_checker_finds_false_claims(case, tmp_path):
    X, y, options = CHECKED[case]
    content = json.loads(decided(X, y, **options).to_json())
    data = write_csv(tmp_path / "data.csv", X, y)
    path = tmp_path / "altered.json"

    def assert_not_held(other):
        path.write_text(json.dumps(other), encoding="utf-8")
        code, said = check(path, data)
        assert code in (1, 2), said
        assert "holds:" not in said
        assert "Traceback" not in said
        return code, said

    code, said = assert_not_held({**content, "digest": "0" * 64})
    assert code == 1
    assert said.startswith("does not hold:")
    combination = "support" if content["separable"] else "witness"
    parts = content[combination]
    false = [
        {**content, "format": "perceptrons-certificate-2"},
        {**content, "separable": not content["separable"]},
        {**content, "n_samples": len(X) + 1},
        {**content, "n_features": content["n_features"] + 1},
        {**content, "classes": [*content["classes"], "another"]},
        {**content, combination: {**parts, "rows": [*parts["rows"][:-1], (parts["rows"][-1] + 1) % len(X)]}},
        {**content, combination: {**parts, "rows": [*parts["rows"][:-1], -1]}},
        {**content, combination: {**parts, "weights": [*parts["weights"][:-1], "-1"]}},
        {**content, combination: {**parts, "weights": [*parts["weights"][:-1], parts["weights"][-1] + "1"]}},
        {**content, combination: {**parts, "labels": parts["rivals"], "rivals": parts["labels"]}},
        {**content, combination: {**parts, "rivals": parts["labels"]}},
        {**content, combination: {key: value[1:] for key, value in parts.items()}},
        {**content, combination: {key: [] for key in parts}},
        {**content, combination: None},
    ]
    if content["separable"]:
        reached, at_most = content["margin"]
        false += [
            {**content, "margin": [at_most * 1.01, at_most * 1.02]},
            {**content, "margin": [reached, reached * 0.99]},
            {**content, "margin": [reached, -at_most]},
            {**content, "margin": None},
            {**content, "classes": content["classes"][::-1]},
            {**content, "fit_intercept": not content["fit_intercept"]},
            {**content, "intercept": 1e9 if len(content["classes"]) == 2 else [1e9, 0.0, 0.0]},
            {**content, "intercept": np.add(content["intercept"], 1e-9).tolist()},
            {**content, "coef": (-np.array(content["coef"])).tolist()},
        ]
    for other in false:
        assert_not_held(other)
    false = [redone(other) for other in false if reference.why_not(other, *as_lists(X, y))]
    assert len(false) > 10
    for other in false:
        assert_not_held(other)


def test_the_checker_finds_that_the_data_are_others(tmp_path):
    X, y, _ = CHECKED["setosa"]
    path = tmp_path / "certificate.json"
    path.write_text(decided(X, y).to_json(), encoding="utf-8")
    flipped = np.where(np.arange(len(y)) == 4, "other", y)
    for other, labels in (
        (X[:-1], y[:-1]),
        (X[:, :3], y),
        (X, flipped),
        (-X, y),
        (X, np.where(y == "setosa", "s", "o")),
    ):
        code, said = check(path, write_csv(tmp_path / "data.csv", other, labels))
        assert (code, said[:14]) == (1, "does not hold:"), said


@pytest.mark.parametrize("label", ["kind", "1"])
def test_the_checker_finds_the_label_column_by_name_or_number(label, tmp_path):
    X, y, _ = CHECKED["setosa"]
    path = tmp_path / "certificate.json"
    path.write_text(decided(X, y).to_json(), encoding="utf-8")
    data = write_csv(tmp_path / "data.csv", X, y, header=["kind", "a", "b", "c", "d"], label_first=True)
    assert check(path, data, "--label-column", label)[0] == 0
    assert check(path, data, "--label-column", "flower")[0] == 2
    assert check(path, data)[0] in (1, 2)


def test_the_checker_reads_a_header(tmp_path):
    X, y, _ = CHECKED["three blobs"]
    path = tmp_path / "certificate.json"
    path.write_text(decided(X, y).to_json(), encoding="utf-8")
    assert check(path, write_csv(tmp_path / "data.csv", X, y, header=["a", "b", "c"]))[0] == 0


def test_the_checker_rounds_to_float32_where_the_certificate_says_so(tmp_path):
    X, y = np.float32([[0.1], [0.2], [0.3]]), [0, 1, 1]
    path, data = tmp_path / "certificate.json", tmp_path / "data.csv"
    path.write_text(decided(X, y).to_json(), encoding="utf-8")
    data.write_text("0.1,0\n0.2,1\n0.3,1\n", encoding="utf-8")  # in float64 these are other numbers
    assert check(path, data)[0] == 0
    same = decided(np.float32([[0.1], [np.float32(0.1)], [0.3]]), y)
    path.write_text(same.to_json(), encoding="utf-8")
    data.write_text("0.1,0\n0.10000000149011612,1\n0.3,1\n", encoding="utf-8")
    assert check(path, data)[0] == 0
    path.write_text(json.dumps(redone({**json.loads(same.to_json()), "number_type": "float64"})), encoding="utf-8")
    assert check(path, data)[0] == 1


def test_the_checker_reads_decimals_exactly_where_the_certificate_is_about_decimals(tmp_path):
    X, y = np.array([[0.1, 1.0], [0.2, 2.0], [0.3, 3.0]]), [0, 1, 0]
    path, data = tmp_path / "certificate.json", write_csv(tmp_path / "data.csv", X, y)
    path.write_text(separability(X, y, decimals=True).to_json(), encoding="utf-8")
    assert check(path, data) == (0, "holds: the data are not linearly separable\n")
    data.write_text(data.read_text(encoding="utf-8").replace("0.3,", "0.30000000000000000001,"), encoding="utf-8")
    assert check(path, data)[0] == 1
    X, y = X[:, :1], [0, 0, 1]
    path.write_text(separability(X, y, decimals=True).to_json(), encoding="utf-8")
    code, said = check(path, write_csv(data, X, y))
    assert code == 0, said
    assert said.startswith("holds: the data are linearly separable, with a margin between 0.04999")


def test_the_checker_says_that_numbers_were_rounded(tmp_path):
    path, data = tmp_path / "certificate.json", tmp_path / "data.csv"
    path.write_text(decided([[2.0**53], [2.0**53]], [0, 1]).to_json(), encoding="utf-8")
    data.write_text("9007199254740992,0\n9007199254740993,1\n", encoding="utf-8")
    assert check(path, data) == (0, "holds: the data, rounded to float64, are not linearly separable\n")


@pytest.mark.parametrize(
    ("digit", "written"),
    [("f" * 50 + "_", "f" * 50 + "_"), ("f" * 50, "\\u0066" * 50), ("1" * 50, "\uff11" * 50)],
    ids=["underscores", "JSON escapes", "digits of another script"],
)
def test_no_way_of_writing_hides_a_long_number(digit, written, tmp_path):
    content = json.loads(decided(*XOR).to_json())
    weight = "0x" + digit * 60_000 + "0"  # 3 million digits
    long = redone({**content, "witness": {**content["witness"], "weights": [weight] * 4}})
    text = json.dumps(long).replace(digit, written)
    path = tmp_path / "certificate.json"
    path.write_text(text, encoding="utf-8")
    assert check(path, write_csv(tmp_path / "data.csv", *XOR)) == (
        1, "does not hold: a number has 100,000 digits or more\n",
    )  # fmt: skip
    with pytest.raises(ValueError, match="100,000 digits"):
        Certificate.from_json(text)


def test_the_checker_reads_no_underscores_in_data(tmp_path):
    path = tmp_path / "certificate.json"
    path.write_text(decided(*XOR).to_json(), encoding="utf-8")
    (tmp_path / "data.csv").write_text("0_0,0,0\n0,1,1\n1,0,1\n1,1,0\n", encoding="utf-8")
    assert check(path, tmp_path / "data.csv")[0] == 1


def test_the_checker_says_what_it_cannot_read(tmp_path):
    path, data = tmp_path / "certificate.json", write_csv(tmp_path / "data.csv", *XOR)
    path.write_text("not JSON", encoding="utf-8")
    assert check(path, data)[0] == 2
    path.write_text(decided(*XOR).to_json(), encoding="utf-8")
    assert check(path, tmp_path / "missing.csv")[0] == 2
    assert check(tmp_path / "missing.json", data)[0] == 2
    assert check(path)[0] == 2
    assert check()[0] == 2
    data.write_text("0,0,0\n0,one,1\n1,0,1\n1,1,0\n", encoding="utf-8")
    assert check(path, data)[0] in (1, 2)
    assert "Traceback" not in check(path, data)[1]
    assert check(path, write_csv(data, *XOR))[0] == 0


def test_the_checker_is_short_and_needs_nothing_but_the_standard_library():
    text = CHECKER.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    imported = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "perceptrons").partition(".")[0])
    assert imported
    assert imported <= set(sys.stdlib_module_names)
    assert not {"eval", "exec", "__import__"} & {
        node.func.id
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }


def test_the_checker_and_the_words_say_that_only_hyperplanes_through_the_origin_are_meant(tmp_path):
    X, y = [[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1]  # separable, but not through the origin
    certificate = decided(X, y, fit_intercept=False)
    path = tmp_path / "certificate.json"
    path.write_text(certificate.to_json(), encoding="utf-8")
    code, said = check(path, write_csv(tmp_path / "data.csv", X, y))
    assert (code, said) == (0, "holds: the data are not linearly separable by hyperplanes through the origin\n")
    assert "Not linearly separable by hyperplanes through the origin" in certificate.explain()
    path.write_text(decided(X, y).to_json(), encoding="utf-8")
    code, said = check(path, tmp_path / "data.csv")
    assert code == 0
    assert re.fullmatch(r"holds: the data are linearly separable, with a margin between 0\.4999\d* and 0\.5\n", said)


@pytest.mark.parametrize("margin", [["1e200000000", "1e200000000"], [0.1, "9e999999999"], [10**4000, 10**4000]])
def test_the_checker_does_not_work_on_a_margin_that_is_not_two_floats(margin, tmp_path):
    X, y, _ = CHECKED["setosa"]
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(redone({**json.loads(decided(X, y).to_json()), "margin": margin})), encoding="utf-8")
    code, said = check(path, write_csv(tmp_path / "data.csv", X, y))
    assert code == 1, said


@pytest.mark.parametrize("instead", [{"separable": 0}, {"separable": -0.0}, {"fit_intercept": 0}])
def test_a_claim_must_be_true_or_false_and_not_a_number(instead, tmp_path):
    X, y, _ = CHECKED["xor"]
    options = {} if "separable" in instead else {"fit_intercept": False}
    text = json.dumps(redone({**json.loads(decided(X, y, **options).to_json()), **instead}))
    path = tmp_path / "certificate.json"
    path.write_text(text, encoding="utf-8")
    assert check(path, write_csv(tmp_path / "data.csv", X, y))[0] == 1
    with pytest.raises(ValueError, match="bool"):
        Certificate.from_json(text)


@pytest.mark.parametrize("almost_none", [0.5, 1e-300])
def test_what_only_holds_through_the_origin_is_not_passed_off_as_true_of_all_hyperplanes(almost_none, tmp_path):
    """A number between 0 and 1 is no bias where it is multiplied, and is one where it is asked for."""
    X, y = np.array([[1.0, 2.0], [2.0, 4.0]]), np.array([0, 1])
    content = json.loads(decided(X, y, fit_intercept=False).to_json())
    assert content["separable"] is False
    assert decided(X, y).separable
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(redone({**content, "fit_intercept": almost_none})), encoding="utf-8")
    code, said = check(path, write_csv(tmp_path / "data.csv", X, y))
    assert code == 1, said


@pytest.mark.parametrize("digits", [100_000, 99_000])
def test_a_certificate_with_two_long_numbers_is_refused_before_anything_is_computed(digits, tmp_path):
    """Too long, or only in a wrong place: looking for long numbers takes time in proportion to the text."""
    X, y, _ = CHECKED["xor"]
    content = json.loads(decided(X, y).to_json())
    content["coef"] = ["0x" + "f" * digits] * 40
    text = json.dumps(redone(content))
    path = tmp_path / "certificate.json"
    path.write_text(text, encoding="utf-8")
    code, said = check(path, write_csv(tmp_path / "data.csv", X, y))
    long = digits >= 100_000
    assert (code, said) == ((1, "does not hold: a number has 100,000 digits or more\n") if long else (0, said))
    with pytest.raises(ValueError, match="100,000 digits" if long else "wrong form"):
        Certificate.from_json(text)
