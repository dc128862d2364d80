"""`perceptrons tag evaluate`: how good a tagger is on labelled sentences."""

from perceptrons.cli.evaluate import (
    MAX_CLASSES_SHOWN,
    refuse_strange,
    show_classes,
    show_confusion,
    show_confusions,
)
from perceptrons.cli.files import load_tagger, refusing
from perceptrons.cli.messages import plain
from perceptrons.cli.screen import Screen, grid, heading, print_result
from perceptrons.cli.tag.corpora import corpus_for
from perceptrons.cli.tag.options import TagEvaluateOptions
from perceptrons.data.conll import Corpus
from perceptrons.engine.wording import count, in_percent, listed
from perceptrons.inspection.evaluation import describe_accuracy
from perceptrons.inspection.taggers import TaggerQuality
from perceptrons.sequence import SequencePerceptron
from perceptrons.sequence.phrases import PhraseCounts, PhraseScores


def evaluate(options: TagEvaluateOptions) -> None:
    """Run `perceptrons tag evaluate`."""
    tagger = load_tagger(options.model, instead="evaluate")
    corpus = corpus_for(tagger, options.file, options)
    result = measure(tagger, corpus, options.scheme)
    refuse_strange(result.quality, corpus.file.path, "label of the tagger", "--label")
    about = {"model": str(options.model), "data": str(options.file), "scheme": options.scheme}
    print_result(options, lambda: about | result.as_json(), lambda console: show_quality(result, console, full=True))


def measure(tagger: SequencePerceptron, corpus: Corpus, scheme: str | None = None) -> TaggerQuality:
    """Measure a tagger on labelled sentences. scheme: count only phrases of it."""
    with refusing(ValueError, about=corpus.file.path):
        return TaggerQuality(tagger, corpus.sentences, corpus.labels, corpus.words, scheme)


def show_quality(result: TaggerQuality, console: Screen, title: str = "Accuracy", full: bool = False) -> None:
    """Print the quality: with phrases, or else the most frequent confusions; full: with both, or all labels."""
    accuracy = f"{title} {in_percent(result.quality.accuracy, 2)} ({describe_accuracy(result.quality)})"
    console.print(accuracy, style="bold")
    if result.new_words is not None and result.new_words.total:
        console.print(f"Words not seen in training {result.new_words.describe('tokens')}")
    console.print(f"Sentences without a mistake {result.sentences.describe('sentences')}")
    if result.quality.n_unknown:
        unknown = f"{count(result.quality.n_unknown, 'token')} with labels that the tagger does not know"
        console.print(f"{unknown}, counted as mistakes: {listed(result.quality.unknown, 5)}")
    if result.phrases is not None:
        _show_phrases(result.phrases, console, full)
    elif full:
        show_classes(result.quality, console, "label")
        show_confusion(result.quality, console, "label")
    if full == (result.phrases is not None) and result.quality.right < result.quality.total:
        show_confusions(result.quality, console)


def _show_phrases(phrases: PhraseScores, console: Screen, full: bool) -> None:
    by_type = sorted(phrases.by_type.items(), key=lambda pair: -pair[1].n_true)
    title = "Phrases (right if start, end and type are right)"
    if len(by_type) > MAX_CLASSES_SHOWN:
        title = f"{title}; the {MAX_CLASSES_SHOWN} most frequent of {len(by_type)} types (use --json for all)"
    columns = [f">{name}" for name in ("precision", "recall", "F1", "count", "found")]
    table = grid("type", *columns)
    for kind, counts in by_type[:MAX_CLASSES_SHOWN]:
        table.row(plain(kind) or "(none)", *_phrase_cells(counts))
    table.row("all", *_phrase_cells(phrases), style="bold")
    for name in ("macro", "weighted") if full else ():
        mean = phrases.averages()[name]
        table.row(f"{name} average", *(in_percent(score, 2) for score in mean[:3]), f"{mean.support:,}", "")
    console.print(heading(title), table)


def _phrase_cells(counts: PhraseCounts) -> list[str]:
    scores = (counts.precision, counts.recall, counts.f1)
    return [*(in_percent(score, 2) for score in scores), f"{counts.n_true:,}", f"{counts.n_found:,}"]
