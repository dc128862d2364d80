"""The body of every request and every reply. Checks, error messages and the OpenAPI document come from these types.

A docstring here is the description of a schema in the API documentation.
"""

from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from msgspec import UNSET, Meta, Struct, UnsetType, structs

TEXTS = ["Free entry: text WIN to 80082", "See you at noon"]

# What an example and a label may be depends on the model, which checks them. So the decoder lets every value pass.
COMPONENTS: dict[str, dict[str, Any]] = {
    "Example": {
        "description": "One example, as the model takes it: a text; an object with the columns of a table, or with "
        "features by name; a list of numbers; a line of svmlight or Vowpal Wabbit; a list of tokens. The first example "
        "of an empty model decides which of these all others are.",
        "anyOf": [{"type": "string"}, {"type": "object"}, {"type": "array", "minItems": 1}],
        "examples": [
            TEXTS[0], {"text": TEXTS[1]}, {"height": 1.5, "colour": "red"}, [5.1, 3.5, 1.4, 0.2],
            {"tokens": ["The", "cat", "sat"]},
        ],
    },
    "Label": {
        "description": "A label. A list where an example has several labels, and for taggers, with one label for each "
        "token. null: the model has learned nothing yet.",
        "anyOf": [
            {"type": ["string", "integer", "boolean", "null"]},
            {"type": "array", "items": {"type": ["string", "integer", "boolean"]}},
        ],
        "examples": ["spam", 7, ["sports", "politics"]],
    },
}  # fmt: skip


def _about(description: str) -> Meta:
    return Meta(description=description)


Example = Annotated[Any, Meta(extra_json_schema={"$ref": "#/components/schemas/Example"})]
Label = Annotated[Any, Meta(extra_json_schema={"$ref": "#/components/schemas/Label"})]
Examples = Annotated[list[Example], Meta(min_length=1)]
Count = Annotated[int, Meta(ge=0)]
Version = Annotated[int, Meta(ge=0, description="The number of examples that the model has learned while served.")]
Term = Annotated[int, Meta(ge=0, description="The number of promotions that this server knows of.")]
Role = Literal["leader", "follower"]


class RequestExample(NamedTuple):
    """A body for the documentation, and the status that a server answers it with. A text is JSON Lines."""

    summary: str
    body: Any
    status: int = 200


# ---- examples and labels


class PredictOptions(Struct, kw_only=True, forbid_unknown_fields=True):
    """Optional parts of each prediction."""

    scores: Annotated[bool | None, _about("Add the score of every class.")] = None
    probabilities: Annotated[bool | None, _about("Add probabilities. The model must be calibrated.")] = None
    top: Annotated[Annotated[int, Meta(ge=1, le=1000)] | None, _about("Add this many best labels and scores.")] = None
    explain: Annotated[bool | None, _about("Add what each feature adds, for at most 100 examples.")] = None

    def or_else(self, defaults: "PredictOptions") -> "PredictOptions":
        """Return these options; those that are not given come from the defaults."""
        options = {name: getattr(self, name) for name in PredictOptions.__struct_fields__}
        return structs.replace(defaults, **{name: value for name, value in options.items() if value is not None})


class PredictRequest(PredictOptions):
    """Examples to predict. A list of examples alone will do: then give options in the query string."""

    examples: Examples

    request_examples: ClassVar[dict[str, RequestExample]] = {
        "labels": RequestExample("Labels", {"examples": TEXTS}),
        "scores": RequestExample(
            "Scores, the best two labels and an explanation",
            {"examples": TEXTS[:1], "scores": True, "top": 2, "explain": True},
        ),
        "list": RequestExample("Examples only", TEXTS),
        "lines": RequestExample("One example per line", f'"{TEXTS[0]}"\n"{TEXTS[1]}"\n'),
        "unknown option": RequestExample("An option that does not exist", {"examples": TEXTS, "best": 3}, 400),
        "unfit": RequestExample("An example of another kind than those of the model", {"examples": [[1, 2]]}, 422),
    }


class LearnRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    """Examples to learn from.

    Without `labels`, examples hold their labels: as `label`, the label column of the table, `labels` beside `tokens`,
    or at the beginning of a line. Then a list of examples alone will do.
    """

    examples: Examples
    labels: Annotated[list[Label] | None, _about("One label for each example.")] = None

    request_examples: ClassVar[dict[str, RequestExample]] = {
        "labels beside the examples": RequestExample(
            "Examples and their labels", {"examples": TEXTS, "labels": ["spam", "ham"]}
        ),
        "labels in the examples": RequestExample(
            "Examples that hold their labels", {"examples": [{"text": TEXTS[0], "label": "spam"}]}
        ),
        "lines": RequestExample("One example per line", f'{{"text": "{TEXTS[0]}", "label": "spam"}}\n'),
        "no labels": RequestExample("Without labels nothing can be learned", {"examples": TEXTS}, 422),
    }


class Feedback(Struct):
    """The right label of one earlier prediction."""

    id: Annotated[str, _about("The id of the prediction.")]
    label: Label

    request_examples: ClassVar[dict[str, RequestExample]] = {
        "one": RequestExample("One label; the id is that of a prediction", {"id": "PREDICTION-ID", "label": "spam"}),
        "unknown id": RequestExample("An id that is not known", {"id": "nobody-0", "label": "spam"}, 404),
    }


class FeedbackList(Struct):
    """The right labels of several predictions."""

    feedback: list[Feedback]

    request_examples: ClassVar[dict[str, RequestExample]] = {
        "many": RequestExample("Several labels", {"feedback": [{"id": "PREDICTION-ID", "label": "spam"}]})
    }


class Prediction(Struct):
    """The predicted label of one example, and what else was asked for."""

    label: Label
    id: Annotated[
        str,
        _about(
            "Send it to /feedback with the right label. The server remembers at least the last 90,000 predictions, "
            "less if they are large."
        ),
    ] = ""
    scores: Annotated[
        dict[str, float] | list[float | None] | UnsetType,
        _about(
            "The score of every class; of two classes that of the second one. For taggers, the lead of each label over "
            "the next best. Scores are not probabilities."
        ),
    ] = UNSET
    probabilities: dict[str, Annotated[float, Meta(ge=0, le=1)]] | UnsetType = UNSET
    top: Annotated[list[tuple[Label, float]] | UnsetType, _about("Pairs of a label and its score, the best first.")] = (
        UNSET
    )
    explanation: Annotated[
        dict[str, Any] | UnsetType,
        _about("What each feature adds to each score. A tagger has one entry for each token."),
    ] = UNSET


class PredictReply(Struct):
    """Predictions, in the order of the examples."""

    version: Version
    predictions: list[Prediction]


class PredictLine(Prediction, kw_only=True):
    """One line of the reply to JSON Lines."""

    version: Version


class RefusedLabel(Struct):
    """A label that could not be learned, while others of the same request were."""

    id: str
    status: Annotated[int, _about("The status that this label alone would have got.")]
    error: str


class LearnReply(Struct):
    """The examples were learned, and are on disk."""

    version: Version
    learned: Annotated[int, Meta(ge=1, description="The number of examples in the request.")]
    mistakes: Annotated[int, Meta(ge=0, description="How many of them were predicted wrongly before.")]
    predictions: Annotated[list[Label], _about("What the model predicted before it learned from the request.")]
    repeated: Annotated[bool, _about("The request was learned before: this is the reply of that time.")]
    refused: Annotated[
        list[RefusedLabel] | UnsetType, _about("Of several labels in /feedback, those that could not be learned.")
    ] = UNSET


class LearnLine(Struct):
    """One line of the reply to JSON Lines."""

    prediction: Label
    version: Version
    learned: Count
    mistakes: Count
    repeated: bool


# ---- the model


class SnapshotEntry(Struct):
    """A snapshot that a rollback can go to."""

    version: Version
    generation: Annotated[int, Meta(ge=0, description="The number of rollbacks before it.")]
    bytes: Count


class RollbackRequest(Struct):
    """The snapshot to go back to."""

    version: Annotated[int, Meta(ge=0, description="The version of a snapshot: see /snapshots.")]

    request_examples: ClassVar[dict[str, RequestExample]] = {
        "beginning": RequestExample("Back to what the server began with", {"version": 0}),
        "no version": RequestExample("Without a version", {}, 400),
        "no snapshot": RequestExample("There is no snapshot of this version", {"version": 123456789}, 404),
    }


class RollbackReply(Struct):
    """The version that the model has now."""

    version: Version
    generation: Annotated[int, Meta(ge=1, description="The number of rollbacks so far.")]


class FileQuery(Struct):
    """Options of the download."""

    place: Annotated[
        str | None, _about("With any value: a copy for a new follower, with the place in the log and the keys.")
    ] = None


# ---- the server


class LogQuery(Struct):
    """Which part of the log to read."""

    position: Annotated[int, Meta(ge=0, le=10**18, description="The first frame wanted.")] = 0
    wait: Annotated[int, Meta(ge=0, le=999, description="Seconds to wait for a frame if there is none yet.")] = 0


class RoleReply(Struct):
    """The role of the server among other servers."""

    role: Role
    term: Term
    version: Version


class StatusReply(Struct, omit_defaults=True):
    """The server can answer."""

    status: Literal["alive", "ready"]
    version: Version | UnsetType = UNSET
    warning: Annotated[
        str | UnsetType,
        _about("What a person has to decide: a follower does not follow its leader, or another server was promoted."),
    ] = UNSET


class HistoryPoint(Struct):
    """The progressive error of `n` consecutive examples after a version."""

    version: int
    error: float
    n: int


class Rate(Struct):
    """Numbers of examples learned and predicted in one second; `t` is its distance from now, negative."""

    t: int
    learned: int
    predicted: int


class Throughput(Struct):
    """Examples per second: the mean of the last ten seconds, and every second of the last minute."""

    learned_per_second: float
    predicted_per_second: float
    series: list[Rate]


class RecentMistake(Struct):
    """An example that was predicted wrongly before it was learned. Long ones are cut."""

    version: int
    example: Any
    label: Label
    predicted: Label


class ModelShape(Struct):
    """The model in short: at most 50 classes, the size of the newest snapshot, the example that was predicted last."""

    kind: str
    input: Annotated[str | None, _about("What an example is; null: the model has learned nothing yet.")]
    classes: list[Label]
    n_features: int
    bytes: int
    example: Any


class LogSize(Struct):
    """The log and the snapshots on disk."""

    bytes: int
    segments: int
    snapshots: list[SnapshotEntry]


class ProgressStats(Struct):
    """Progress of learning."""

    learned: Annotated[int, _about("Examples learned since the log began.")]
    mistakes: Annotated[int, _about("How many of them were predicted wrongly before.")]
    windows: Annotated[dict[str, float | None], _about("The progressive error of this many newest examples.")]
    history: Annotated[list[HistoryPoint], _about("The progressive error over time, in at most 400 points.")]
    throughput: Throughput
    recent_mistakes: Annotated[list[RecentMistake], _about("At most 20, the newest first.")]


class Stats(ProgressStats, kw_only=True):
    """The numbers of the live page."""

    version: Version
    generation: Annotated[int, _about("The number of rollbacks so far.")]
    position: Annotated[int, _about("The number of frames in the log.")]
    role: Role
    leader: Annotated[str | None, _about("The address that a follower follows.")]
    ready: bool
    term: Term
    warning: Annotated[str | None, _about("What a person has to decide, as in /readyz.")]
    uptime: Annotated[float, _about("Seconds.")]
    features: Annotated[
        list[dict[str, Any]] | None, _about("The most important features of each class; null: they have no weights.")
    ]
    model: ModelShape
    log: LogSize


class ErrorReply(Struct):
    """Why a request was refused."""

    error: Annotated[str, _about("What is wrong, where, and what to do.")]
