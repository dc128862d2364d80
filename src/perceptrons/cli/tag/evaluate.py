"""`perceptrons tag evaluate`: how good a tagger is on labelled sentences."""

from perceptrons.cli import options as all_options
from perceptrons.cli.errors import BadInputError
from perceptrons.cli.files import load_tagger
from perceptrons.cli.screen import as_json, listed, screen
from perceptrons.cli.tag import options
from perceptrons.cli.tag.corpus import Reading, corpus_for
from perceptrons.cli.tag.marks import Marks, mark, show_marks


def evaluate(
    model: options.Model,
    file: options.File,
    label: options.Label = None,
    columns: options.ColumnsThere = None,
    format: options.Format = None,
    separator: options.Separator = None,
    encoding: options.Encoding = "utf-8",
    comments: options.Comments = False,
    json: all_options.Json = False,
) -> None:
    """Compare a tagger's labels with those of FILE: accuracy, also on new words; precision, recall and F1; confusions.

    Chunks and names, labelled as B-NP, I-NP, O, are counted as phrases, as conlleval does.
    """
    tagger = load_tagger(model, instead="evaluate")
    corpus = corpus_for(tagger, file, Reading(separator, format, comments, encoding), columns, label)
    marks = mark(tagger, corpus)
    refuse_strange(marks, corpus.file.path)
    if json:
        print(as_json({"model": str(model), "data": str(file), **marks.as_json()}), end="")
    else:
        show_marks(marks, screen(), full=True)


def refuse_strange(marks: Marks, path: object) -> None:
    """Refuse a file none of whose labels the tagger knows: it would be the wrong column."""
    quality = marks.quality
    if marks.n_unknown_labels == quality.total:
        raise BadInputError(
            f"{path}: none of its labels ({listed(marks.unknown_labels, 3)}) is a label of the tagger "
            f"({listed(quality.labels[: quality.known], 3)}): name the right column with --label."
        )
