"""Lines of text with labels, slow and plain: fastText's "__label__x __label__y a text", or a label, a tab, a text."""

SPACES = " \t\n\v\f\r\0"  # what separates words in fastText


def words(text):
    for space in SPACES:
        text = text.replace(space, " ")
    return text.split(" ")


def read_line(line, form):
    """The labels, as a tuple, and the text of a line without its newline; None for a blank one.

    What is refused raises ValueError.
    """
    text = line.decode("utf-8")
    if not text.strip(SPACES):
        return None
    if form == "fasttext":
        labels = tuple(word.removeprefix("__label__") for word in words(text) if word.startswith("__label__"))
        if "" in labels:
            raise ValueError(line)
        rest = " ".join(word for word in words(text) if not word.startswith("__label__"))
        return labels, rest
    label, tab, rest = text.partition("\t")
    if not tab:
        return (), text
    label = label.strip(SPACES)
    return ((label,) if label else ()), rest


def form_of(content):
    """What the first line that is not blank says; if it has neither a label nor a tab, whether others have labels."""
    text = content.lstrip(SPACES.encode()).decode("latin-1")
    first = text.partition("\n")[0]
    labelled = any(word.startswith("__label__") for word in words(text))
    return "fasttext" if text.startswith("__label__") or (labelled and "\t" not in first) else "tab"
