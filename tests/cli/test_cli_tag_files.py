"""`perceptrons tag predict`, `tag evaluate`, `inspect` of taggers: files written back, figures, pipes, refusals."""

import gzip
import io
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from seqeval.metrics import f1_score, precision_score, recall_score

import perceptrons
from perceptrons import FeatureTemplates, SequencePerceptron
from perceptrons.sequence.phrases import phrase_scores
from tests.cli.test_cli import PROGRAM
from tests.support.processes import started
from tests.support.tagged import as_columns, as_conllu, fill, of_columns, sentences


@pytest.fixture(scope="module")
def made():
    return sentences(1, 60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, made):
    return fill(tmp_path_factory.mktemp("tag"), made)


@pytest.fixture(scope="module")
def unseen():
    """Sentences with words and chunks that training did not have."""
    other = {"dog": "horse", "sees": "hears", "near": "beside"}
    return [
        [
            (other.get(word, word) if k % 3 else word, pos, "B-ADJP" if word == "old" else chunk)
            for word, pos, chunk in one
        ]
        for k, one in enumerate(sentences(3, 30))
    ]


@pytest.fixture
def stdin(monkeypatch):
    """Give bytes to the standard input of a command run in this process."""

    def give(content):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    return give


def answers(folder, name, tokens):
    return perceptrons.load(folder / name).predict(tokens)


# ---- predict


def test_predict_adds_a_column_and_leaves_all_else_as_it_was(run, folder, unseen, tmp_path):
    text = as_columns(unseen, "  ").replace("\n\n", "\n \n\n")
    (tmp_path / "f").write_text(text)
    code, out, err = run("tag", "predict", folder / "chunks.model", tmp_path / "f")
    assert (code, err) == (0, "")
    labels = answers(folder, "chunks.model", of_columns(unseen, 0, 1))
    lines = out.splitlines()
    assert [line.rpartition(" ")[0] if line.strip() else line for line in lines] == text.splitlines()
    assert [line.split()[3] for line in lines if line.strip()] == [label for one in labels for label in one]


@pytest.mark.parametrize("columns", [(0, 1), (0, 1, 2)])
def test_predict_needs_only_the_columns_that_the_tagger_sees(run, folder, unseen, stdin, columns):
    labels = answers(folder, "chunks.model", of_columns(unseen, 0, 1))
    stdin(as_columns(unseen, "\t", columns).encode())
    code, out, err = run("tag", "predict", folder / "chunks.model", "-")
    assert (code, err) == (0, "")
    expected = [[(*(token[c] for c in columns), label) for token, label in zip(one, found, strict=True)]
                for one, found in zip(unseen, labels, strict=True)]  # fmt: skip
    assert out == as_columns(expected, "\t", range(len(columns) + 1))


def test_predict_finds_columns_by_option_and_by_the_numbers_of_training(run, folder, made, unseen, tmp_path):
    by_hand = tmp_path / "m"
    words = ["--columns", "1,3", "--label", 2, "-o", by_hand, "--test-share", 0, "--quiet"]
    assert run("tag", "train", folder / "chunks.txt", *words)[0] == 0
    labels = [label for one in perceptrons.load(by_hand).predict(of_columns(unseen, 0, 2)) for label in one]
    orders = [((0, 1, 2), []), ((0, 2), []), ((2, 1, 0), ["--columns", "3,1"]), ((1, 1, 2, 0), ["--columns", "-1,-2"])]
    for columns, options in orders:
        (tmp_path / "f").write_text(as_columns(unseen, " ", columns))
        code, out, err = run("tag", "predict", by_hand, tmp_path / "f", *options)
        assert (code, err) == (0, ""), (columns, err)
        assert [line.split(" ")[-1] for line in out.splitlines() if line] == labels


def test_predict_writes_into_the_column_asked_for(run, folder, unseen, tmp_path):
    labels = answers(folder, "chunks.model", of_columns(unseen, 0, 1))
    (tmp_path / "f").write_text(as_columns(unseen))
    expected = [[(*token[:2], label) for token, label in zip(one, found, strict=True)]
                for one, found in zip(unseen, labels, strict=True)]  # fmt: skip
    for column in ("3", "-1"):
        out = run("tag", "predict", folder / "chunks.model", tmp_path / "f", "--into", column)[1]
        assert out == as_columns(expected)
    out = run("tag", "predict", folder / "chunks.model", tmp_path / "f", "--into", 4)[1]
    assert out == run("tag", "predict", folder / "chunks.model", tmp_path / "f")[1]


def test_predict_of_conllu_fills_the_learned_column(run, refused, folder, unseen, tmp_path):
    text = as_conllu(unseen)
    (tmp_path / "f").write_text(re.sub(r"(?m)^(\d+\t\S+\t_\t)\w+", r"\1_", text))  # without parts of speech
    code, out, err = run("tag", "predict", folder / "trees.model", tmp_path / "f")
    assert (code, err) == (0, "")
    labels = [label for one in answers(folder, "trees.model", of_columns(unseen, 0)) for label in one]
    assert re.findall(r"(?m)^\d+\t\S+\t_\t(\w+)", out) == labels
    assert re.sub(r"(?m)^(\d+\t\S+\t_\t)\w+", r"\1_", out) == (tmp_path / "f").read_text()
    words = ["tag", "train", folder / "trees.conllu", "--label", "xpos", "-o", tmp_path / "m", "--quiet"]
    assert run(*words)[0] == 0
    out = run("tag", "predict", tmp_path / "m", tmp_path / "f")[1]
    assert out == run("tag", "predict", tmp_path / "m", tmp_path / "f", "--into", "xpos")[1]
    found = [label for one in perceptrons.load(tmp_path / "m").predict(of_columns(unseen, 0)) for label in one]
    assert re.findall(r"(?m)^\d+\t\S+\t_\t\w+\t(\S+)", out) == found


def test_a_tagger_from_before_it_knew_its_column_asks_for_it(run, refused, folder, unseen, tmp_path):
    (tmp_path / "f").write_text(as_conllu(unseen))
    words = ["tag", "train", folder / "trees.conllu", "--label", "xpos", "-o", tmp_path / "m", "--quiet"]
    assert run(*words)[0] == 0
    tagger = perceptrons.load(tmp_path / "m")
    assert tagger.label_column_ == "xpos"
    del tagger.label_column_  # as in older files
    perceptrons.save(tagger, tmp_path / "old")
    assert re.search("which column.*--into xpos", refused("tag", "predict", tmp_path / "old", tmp_path / "f"))
    assert re.search("which column.*--label xpos", refused("tag", "evaluate", tmp_path / "old", tmp_path / "f"))
    as_asked = run("tag", "evaluate", tmp_path / "old", tmp_path / "f", "--label", "xpos", "--json")[1]
    known = json.loads(run("tag", "evaluate", tmp_path / "m", tmp_path / "f", "--json")[1])
    assert known | {"model": ""} == json.loads(as_asked) | {"model": ""}


def test_evaluate_and_resume_find_the_learned_column(run, folder, tmp_path):
    words = ["--columns", "1,3", "--label", 2, "-o", tmp_path / "m", "--quiet"]
    assert run("tag", "train", folder / "chunks.txt", *words)[0] == 0
    assert perceptrons.load(tmp_path / "m").label_column_ == "2"
    found = json.loads(run("tag", "evaluate", tmp_path / "m", folder / "test.txt", "--json")[1])
    assert found == json.loads(run("tag", "evaluate", tmp_path / "m", folder / "test.txt", "--label", 2, "--json")[1])
    assert found["accuracy"] > 0.9
    again = ["--resume", tmp_path / "m", "-o", tmp_path / "n", "--quiet"]
    assert run("tag", "train", folder / "chunks.txt", *again) == (0, "", "")
    assert perceptrons.load(tmp_path / "n").label_column_ == "2"
    assert perceptrons.load(folder / "chunks.model").label_column_ == "-1"
    assert perceptrons.load(folder / "trees.model").label_column_ == "upos"


def test_confidence_is_a_further_column_and_in_json_that_of_python(run, refused, folder, unseen, tmp_path):
    (tmp_path / "f").write_text(as_columns(unseen, columns=(0, 1)))
    tagger, words = perceptrons.load(folder / "chunks.model"), of_columns(unseen, 0, 1)
    plain = run("tag", "predict", folder / "chunks.model", tmp_path / "f")[1]
    code, out, err = run("tag", "predict", folder / "chunks.model", tmp_path / "f", "--confidence")
    assert (code, err) == (0, "")
    lines = [line.rpartition(" ") for line in out.splitlines()]
    assert [line[0] for line in lines] == plain.splitlines()
    leads = [f"{lead:.6g}" for one in tagger.token_confidence(words) for lead in one]
    assert [line[2] for line in lines if line[0]] == leads
    into = run("tag", "predict", folder / "chunks.model", tmp_path / "f", "--confidence", "--into", 2)[1]
    assert [line.split(" ")[2] for line in into.splitlines() if line] == leads
    found = json.loads(run("tag", "predict", folder / "chunks.model", tmp_path / "f", "--confidence", "--json")[1])
    assert [one["confidence"] for one in found["sentences"]] == tagger.confidence(words).tolist()
    assert [one["token_confidence"] for one in found["sentences"]] == [
        one.tolist() for one in tagger.token_confidence(words)
    ]
    (tmp_path / "g").write_text(as_conllu(unseen))
    assert "--json" in refused("tag", "predict", folder / "trees.model", tmp_path / "g", "--confidence")
    assert run("tag", "predict", folder / "trees.model", tmp_path / "g", "--confidence", "--json")[0] == 0


def test_evaluate_has_averages_over_types_and_counts_strictly_if_asked(run, refused, folder, unseen, tmp_path):
    (tmp_path / "f").write_text(as_columns(unseen))
    words = ["tag", "evaluate", folder / "chunks.model", tmp_path / "f"]
    true, answered = of_columns(unseen, 2), answers(folder, "chunks.model", of_columns(unseen, 0, 1))
    for options, scheme in (([], None), (["--scheme", "IOB2"], "IOB2")):
        found, scores = json.loads(run(*words, "--json", *options)[1]), phrase_scores(true, answered, scheme=scheme)
        assert found["scheme"] == scheme
        assert found["phrases"]["f1"] == scores.f1
        for name in ("macro", "weighted"):
            assert found["phrases"][name] == scores.averages()[name]._asdict()
        assert "macro average" in run(*words, *options)[1]
    assert "is not a label of the scheme IOE2" in refused(*words, "--scheme", "IOE2")


def test_taggers_cross_formats(run, refused, folder, unseen, tmp_path):
    (tmp_path / "words").write_text(as_columns(unseen, columns=(0,)))
    (tmp_path / "trees.conllu").write_text(as_conllu(unseen))
    labels = [label for one in answers(folder, "trees.model", of_columns(unseen, 0)) for label in one]
    out = run("tag", "predict", folder / "trees.model", tmp_path / "words")[1]
    assert [line.split()[1] for line in out.splitlines() if line] == labels
    tags = [label for one in answers(folder, "tags.model", of_columns(unseen, 0)) for label in one]
    out = run("tag", "predict", folder / "tags.model", tmp_path / "trees.conllu", "--into", "xpos")[1]
    assert re.findall(r"(?m)^\d+\t\S+\t_\t\w+\t(\S+)", out) == tags
    words = ["tag", "predict", folder / "chunks.model", tmp_path / "trees.conllu"]
    assert "--columns form,xpos" in refused(*words, "--into", "misc")
    chunks = [label for one in answers(folder, "chunks.model", of_columns(unseen, 0, 1)) for label in one]
    out = run(*words, "--columns", "form,xpos", "--into", "misc")[1]
    assert re.findall(r"(?m)^\d+\t.*\t(\S+)$", out) == chunks


def test_predict_output_is_a_file_packed_by_its_name_or_json(run, folder, tmp_path):
    file, model = folder / "test.txt", folder / "chunks.model"
    out = run("tag", "predict", model, file)[1]
    assert run("tag", "predict", model, file, "-o", tmp_path / "out.gz") == (0, "", "")
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()).decode() == out
    found = json.loads(run("tag", "predict", model, file, "--json")[1])
    assert found["columns"] == ["word", "pos"]
    assert [label for one in found["sentences"] for label in one["labels"]] == [
        line.split()[3] for line in out.splitlines() if line
    ]
    assert [token for one in found["sentences"] for token in one["tokens"]] == [
        line.split()[:2] for line in out.splitlines() if line
    ]
    assert os.listdir(tmp_path) == ["out.gz"]


def test_predict_keeps_the_encoding(run, folder, tmp_path):
    (tmp_path / "f").write_bytes("café NN\r\nça DT".encode("latin-1"))
    words = ["tag", "predict", folder / "chunks.model", tmp_path / "f", "--encoding", "latin-1", "-o", tmp_path / "out"]
    assert run(*words) == (0, "", "")
    assert re.fullmatch(r"café NN \S+\r\nça DT \S+", (tmp_path / "out").read_bytes().decode("latin-1"))


def test_labels_that_are_numbers_are_written_as_such(run, tmp_path):
    tagger = SequencePerceptron(templates=FeatureTemplates()).fit([["a", "b"], ["b", "a"]], [[1, 2], [2, 1]])
    perceptrons.save(tagger, tmp_path / "m")
    (tmp_path / "f").write_text("a 1\nb 2\n\nb 2\n")
    assert run("tag", "predict", tmp_path / "m", tmp_path / "f", "--into", 2)[1] == "a 1\nb 2\n\nb 2\n"
    found = json.loads(run("tag", "evaluate", tmp_path / "m", tmp_path / "f", "--json")[1])
    assert (found["accuracy"], found["unknown_labels"], found["phrases"]) == (1.0, [], None)


def test_a_sentence_of_100_000_tokens_is_a_sentence(run, made, tmp_path):
    tokens = [token for one in made for token in one]
    (tmp_path / "f").write_text(as_columns([(tokens * 300)[:100_000]]))
    words = ["-o", tmp_path / "m", "--max-iter", 2, "--quiet"]
    assert run("tag", "train", tmp_path / "f", *words) == (0, "", "")
    assert run("tag", "predict", tmp_path / "m", tmp_path / "f", "-o", tmp_path / "out") == (0, "", "")
    assert (tmp_path / "out").read_text().count("\n") == 100_000
    assert json.loads(run("tag", "evaluate", tmp_path / "m", tmp_path / "f", "--json")[1])["tokens"] == 100_000


# ---- evaluate


def test_evaluate_counts_tokens_new_words_sentences_and_phrases(run, folder, made, unseen, tmp_path):
    (tmp_path / "f").write_text(as_columns(unseen))
    found = json.loads(run("tag", "evaluate", folder / "chunks.model", tmp_path / "f", "--json")[1])
    true, labels = of_columns(unseen, 2), answers(folder, "chunks.model", of_columns(unseen, 0, 1))
    hits = [[a == b for a, b in zip(one, two, strict=True)] for one, two in zip(true, labels, strict=True)]
    assert (found["tokens"], found["right"]) == (sum(map(len, hits)), sum(map(sum, hits)))
    assert found["accuracy"] == found["right"] / found["tokens"]
    assert found["sentences"] == {"total": 30, "right": (whole := sum(map(all, hits))), "accuracy": whole / 30}
    known = {word for one in made for word, _, _ in one}
    new = [hit for one, marks in zip(unseen, hits, strict=True) for (word, _, _), hit in zip(one, marks, strict=True)
           if word not in known]  # fmt: skip
    assert found["unknown_words"] == {"total": len(new), "right": sum(new), "accuracy": sum(new) / len(new)}
    assert found["unknown_labels"] == ["B-ADJP"]
    for name, score in {"precision": precision_score, "recall": recall_score, "f1": f1_score}.items():
        np.testing.assert_allclose(found["phrases"][name], score(true, labels))
    assert set(found["phrases"]["by_type"]) == {"ADJP", "NP", "PP", "VP"}
    assert np.sum(found["confusion"]) == found["tokens"]
    assert np.trace(found["confusion"]) == found["right"]


def test_evaluate_shows_the_same_to_people(run, folder, unseen, tmp_path):
    (tmp_path / "f").write_text(as_columns(unseen))
    words = ["tag", "evaluate", folder / "chunks.model", tmp_path / "f"]
    found, (code, out, err) = json.loads(run(*words, "--json")[1]), run(*words)
    assert (code, err) == (0, "")
    assert f"Accuracy {100 * found['accuracy']:.2f}% ({found['right']} of {found['tokens']}; " in out
    assert re.search(r"Words not seen in training [\d.]+% \(\d+ of \d+ tokens\)", out)
    strange = found["by_label"][-1]["count"]
    assert f"{strange} tokens with labels that the tagger does not know, counted as mistakes: B-ADJP" in " ".join(
        out.split()
    )
    assert re.search(rf"\nall .* {100 * found['phrases']['f1']:.2f}% ", out)
    assert re.search(r"confusions?\ntrue +predicted as +times\n", out)
    assert max(map(len, out.splitlines())) <= 80


def test_evaluate_of_parts_of_speech_goes_by_label(run, folder, unseen, tmp_path):
    (tmp_path / "trees.conllu").write_text(as_conllu(unseen))
    out = run("tag", "evaluate", folder / "trees.model", tmp_path / "trees.conllu")[1]
    assert re.search(r"By label\nlabel +precision +recall +F1 +count\nADJ ", out)
    assert "Confusion matrix: true label in rows, predicted label in columns" in out
    assert "Phrases" not in out
    found = json.loads(run("tag", "evaluate", folder / "trees.model", tmp_path / "trees.conllu", "--json")[1])
    assert found["phrases"] is None
    truth = re.findall(r"(?m)^\d+\t\S+\t_\t(\w+)", as_conllu(unseen))
    assert {row["label"]: row["count"] for row in found["by_label"]} == {label: truth.count(label) for label in truth}


def test_a_hashed_tagger_says_nothing_of_new_words(run, folder, tmp_path):
    words = ["--hash-bits", 10, "--test", folder / "test.txt", "-o", tmp_path / "m"]
    out = run("tag", "train", folder / "chunks.txt", *words)[1]
    assert "not seen" not in out
    found = json.loads(run("tag", "evaluate", tmp_path / "m", folder / "test.txt", "--json")[1])
    assert found["unknown_words"] is None


# ---- inspect


def test_inspect_shows_features_and_transitions_of_a_tagger(run, folder):
    model = perceptrons.load(folder / "chunks.model")
    code, out, err = run("inspect", folder / "chunks.model", "--top", 3)
    assert (code, err) == (0, "")
    assert "sees      word, pos, through 37 templates" in out
    assert re.search(r"\nlabels +6: B-NP, B-PP, B-VP, I-NP, I-VP, O", out)
    assert re.search(rf"\nfeatures +{model.n_features_in_:,}, from {len(model.known_words())} words", out)
    assert "not probabilities" in out
    found = json.loads(run("inspect", folder / "chunks.model", "--top", 3, "--json")[1])
    for row, weights in zip(found["weights"], model.coef_, strict=True):
        named = dict(zip(model.attributes_, weights.tolist(), strict=True))
        assert [feature["weight"] for feature in row["features"]] == [named[f["feature"]] for f in row["features"]]
        assert abs(row["features"][0]["weight"]) == np.abs(weights).max()
        assert re.search(rf"\n{row['label']} +{re.escape(row['features'][0]['feature'])} ", out)
    labels = model.classes_.tolist()
    for arc in found["transitions"]:
        i, j = (None if end in ("(start)", "(end)") else labels.index(end) for end in (arc["from"], arc["to"]))
        weights = model.start_[j] if i is None else model.stop_[i] if j is None else model.transitions_[i, j]
        assert arc["weight"] == weights
    every = np.concatenate([model.transitions_.ravel(), model.start_, model.stop_])
    tops = [abs(arc["weight"]) for arc in found["transitions"]]
    np.testing.assert_array_equal(tops, np.sort(np.abs(every))[::-1][:3])


def test_inspect_of_one_label_shows_only_that(run, refused, folder):
    out = run("inspect", folder / "chunks.model", "--class", "B-PP")[1]
    transitions = out.split("Largest transition weights from and to B-PP")[1]
    rows = re.findall(r"\n(\S+) +(\S+) +[+-]", transitions)
    assert rows
    assert all("B-PP" in row for row in rows)
    assert "against B-PP" in out
    message = refused("inspect", folder / "chunks.model", "--class", "NP")
    assert message == "--class NP: the tagger does not have this label. Its labels are B-NP, B-PP, B-VP, I-NP, I-VP, O."


def test_inspect_reads_taggers_made_in_python(run, folder, tmp_path):
    assert "sees      features computed in Python" in run("inspect", folder / "python.model")[1]
    by_block = SequencePerceptron(hash_bits=4, templates=FeatureTemplates()).partial_fit([["a", "b"]], [[1, 2]])
    perceptrons.save(by_block, tmp_path / "m")
    out = run("inspect", tmp_path / "m")[1]
    assert "It was trained on blocks of sentences, so no stopping rule applied." in out
    assert re.search(r"\nfeatures +16\n", re.sub(" +\n", "\n", out))
    matrix = SequencePerceptron(transitions=False, start_stop=False).fit(np.eye(3), ["a", "b", "c"], lengths=[1, 2])
    perceptrons.save(matrix, tmp_path / "m")
    out = run("inspect", tmp_path / "m")[1]
    assert "column 3  +" in out
    assert "transitions" not in out.split("Most important features")[1]


# ---- what cannot be done


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tag", "predict", "{}/chunks.model"], "^perceptrons tag predict: .*FILE"),
        (["tag", "predict", "{}/none.model", "{}/test.txt"], "^{}/none.model: no such file"),
        (["tag", "predict", "{}/test.txt", "{}/test.txt"], "^{}/test.txt: not a model file"),
        (["tag", "predict", "{}/chunks.model", "{}/none.txt"], "^{}/none.txt: no such file"),
        (["tag", "predict", "{}/chunks.model", "{}/sides.csv"], "the file has 1 column, but the tagger needs 2 .word"),
        (["tag", "predict", "{}/chunks.model", "{}/test.txt", "--columns", "1"], "1 column, but the tagger needs 2:"),
        (["tag", "predict", "{}/chunks.model", "{}/test.txt", "--into", "5"], "^--into 5: .*there is no column 5"),
        (["tag", "predict", "{}/chunks.model", "{}/test.txt", "--into", "upos"], "^--into upos: .*no column is called"),
        (["tag", "predict", "{}/chunks.model", "{}/test.txt", "-o", "{}/no/where"], "^{}/no/where: cannot be written"),
        (["tag", "predict", "{}/chunks.model", "{}/test.txt", "-o", "{}/test.txt"], "would overwrite it"),
        (["tag", "predict", "{}/linear.model", "{}/test.txt"], "is not a tagger,.*use perceptrons predict"),
        (["tag", "predict", "{}/python.model", "{}/test.txt"], "features that were computed in Python,"),
        (["tag", "evaluate", "{}/linear.model", "{}/test.txt"], "is not a tagger,.*use perceptrons evaluate"),
        (["tag", "evaluate", "{}/trees.model", "{}/test.txt"], "none of its labels .B-NP, .* is a label of .*--label"),
        (["tag", "evaluate", "{}/chunks.model", "{}/test.txt", "--label", "4"], "^--label 4: .*there is no column 4"),
        (["tag", "evaluate", "{}/chunks.model", "{}/tags.tsv"], "column 2 is both the label and an input of"),
        (["tag", "evaluate", "{}/chunks.model", "{}/trees.conllu"], "which column the tagger's labels.*--label"),
        (["tag", "nonsense"], "^perceptrons tag: .*nonsense.*see perceptrons tag --help"),
        (["predict", "{}/chunks.model", "{}/sides.csv"], "chunks.model: this is a tagger.*use perceptrons tag predict"),
        (["evaluate", "{}/chunks.model", "{}/sides.csv"], "chunks.model: this is a tagger.*perceptrons tag evaluate"),
        (["predict", "{}/structured.model", "{}/sides.csv"], "is a StructuredPerceptron.*in Python"),
        (["inspect", "{}/structured.model"], "is a StructuredPerceptron.*in Python"),
        (["tag", "predict", "{}/structured.model", "{}/test.txt"], "is a StructuredPerceptron.*in Python"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_ends_with_code_2_and_one_clear_line(refused, folder, arguments, message):
    line = refused(*(argument.replace("{}", str(folder)) for argument in arguments))
    assert re.search(message.replace("{}", re.escape(str(folder))), line), line


def test_standard_input_is_named_where_it_is_wrong(refused, folder, stdin):
    stdin(b"")
    assert refused("tag", "predict", folder / "chunks.model", "-").startswith("<stdin>:1:1: the file is empty")
    stdin(b"the DT\n\ndog\n")
    assert refused("tag", "predict", folder / "chunks.model", "-").startswith("<stdin>:3:2: 1 column here, but 2")
    stdin(b"the DT B-NP\nd\xf6g NN I-NP\n")
    assert refused("tag", "evaluate", folder / "chunks.model", "-").startswith("<stdin>:2:2: byte 0xf6 is not utf-8")
    stdin(b"the\tDT\tB-NP\ndog\tNN\t\n")
    assert refused("tag", "evaluate", folder / "chunks.model", "-").startswith("<stdin>:2:3: the label is missing")


# ---- the program as a whole


def test_tag_alone_and_its_help_show_the_commands(run):
    for words in (["tag"], ["tag", "--help"], ["tag", "-h"]):
        code, out, err = run(*words)
        assert (code, err) == (0, "")
        assert all(command in out for command in ("train", "predict", "evaluate"))
    options = re.findall("^  (--[a-z-]+)", run("tag", "train", "-h")[1], re.M)
    in_order = ["--resume", "--columns", "--separator", "--templates", "--tol", "--workers"]
    assert sorted(in_order, key=options.index) == in_order


def test_in_a_pipe_it_takes_and_gives_sentences(folder, unseen):
    text = as_columns(unseen, columns=(0,))
    first, second = [*PROGRAM, "tag", "predict", folder / "tags.model", "-"], folder / "chunks.model"
    tagged = subprocess.run(first, input=text, capture_output=True, text=True, timeout=300)
    done = subprocess.run(
        [*PROGRAM, "tag", "predict", second, "-"], input=tagged.stdout, capture_output=True, text=True, timeout=300
    )
    assert (tagged.returncode, tagged.stderr, done.returncode, done.stderr) == (0, "", 0, "")
    words = of_columns(unseen, 0)
    tags = answers(folder, "tags.model", words)
    pairs = [list(zip(one, two, strict=True)) for one, two in zip(words, tags, strict=True)]
    chunks = answers(folder, "chunks.model", pairs)
    assert [line.split()[2] for line in done.stdout.splitlines() if line] == [label for one in chunks for label in one]


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_pipe_closed_by_its_reader_ends_quietly(folder, tmp_path, unbuffered):
    (tmp_path / "long").write_text("the DT\ndog NN\n\n" * 60_000)
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    command = [*PROGRAM, "tag", "predict", folder / "chunks.model", tmp_path / "long"]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout.readline() == "the DT B-NP\n"
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_output_to_a_full_disk_is_refused_in_one_line(folder):
    command = [*PROGRAM, "tag", "predict", folder / "chunks.model", folder / "test.txt"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (2, "The output cannot be written: No space left on device.\n")


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["<&-", "2>&-"])
def test_closed_streams_end_in_one_line_or_are_no_matter(folder, tmp_path, closed):
    code = "import sys; from perceptrons.cli import main; sys.exit(main(sys.argv[1:]))"
    file = "-" if closed == "<&-" else folder / "chunks.txt"
    words = [sys.executable, "-c", code, "tag", "train", str(file), "-o", str(tmp_path / "m"), "--quiet"]
    ended = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *words], capture_output=True, text=True, timeout=300
    )
    if closed == "<&-":
        assert (ended.returncode, ended.stdout) == (2, "")
        assert ended.stderr == "<stdin>: standard input is closed: give a file, or pipe data into the command\n"
    else:
        assert (ended.returncode, ended.stdout) == (0, "")
        assert (tmp_path / "m").exists()


def test_a_minus_is_no_name_for_an_output(refused, folder):
    words = ("tag", "predict", folder / "chunks.model", folder / "chunks.txt", "-o", "-")
    assert "leave -o out to write to standard output," in refused(*words)


@pytest.mark.parametrize("columns", [",", "1,", ",2"])
def test_a_column_that_is_missing_is_named(refused, folder, columns):
    said = refused("tag", "train", folder / "chunks.txt", "--columns", columns)
    assert f"--columns {columns}: a column is missing" in said
