"""Lines of text with a label each, slow and plain: fastText's "__label__x some text", or a label, a tab and a text."""

SPACES = " \t\n\v\f\r\0"  # what separates words in fastText


def words(text):
    for space in SPACES:
        text = text.replace(space, " ")
    return text.split(" ")


def read_line(line, form):
    """Label and text of a line without its newline; None for a blank one. What is refused raises ValueError."""
    text = line.decode("utf-8")
    if not text.strip(SPACES):
        return None
    if form == "fasttext":
        labels = [word.removeprefix("__label__") for word in words(text) if word.startswith("__label__")]
        if len(labels) > 1 or labels == [""]:
            raise ValueError(line)
        rest = " ".join(word for word in words(text) if not word.startswith("__label__"))
        return (labels[0] if labels else None), rest
    label, tab, rest = text.partition("\t")
    if not tab:
        return None, text
    return label.strip(SPACES) or None, rest


def form_of(content):
    """What the first line that is not blank says."""
    return "fasttext" if content.lstrip(SPACES.encode()).startswith(b"__label__") else "tab"
