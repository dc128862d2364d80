"""Features of tokens by templates, slow and plain.

A template is "bias" or a list of parts; a part is a pair (view, offset); a view is the name of a column or a tuple
(function, view) or, of "prefix" and "suffix", (function, view, k). A sentence is a list of tokens, a token a tuple of
strings, one a column.
"""


def shaped(character):
    if character.isupper():
        return "X"
    if character.isdigit():
        return "9"
    return "x" if character.isalpha() or character.islower() else character


def collapsed(text):
    """Runs of the same character as one."""
    return "".join(c for i, c in enumerate(text) if i == 0 or c != text[i - 1])


def value(view, token, columns):
    """What a token says of a view; None where there is nothing: too few characters, or none at all."""
    if isinstance(view, str):
        text = token[columns.index(view)]
    else:
        function, inner, *k = view
        text = value(inner, token, columns)
        if text is None or (k and len(text) < k[0]):
            return None
        if function == "lower":
            text = text.lower()
        elif function == "prefix":
            text = text[: k[0]]
        elif function == "suffix":
            text = text[len(text) - k[0] :]
        elif function == "shape":
            text = collapsed("".join(shaped(c) for c in text))
        elif function == "digits":
            text = "".join("0" if c.isdigit() else c for c in text)
    return text or None


def written(view):
    """A view as names of attributes have it, as "suffix(lower(word), 3)"."""
    if isinstance(view, str):
        return view
    function, inner, *k = view
    return f"{function}({', '.join([written(inner), *map(str, k)])})"


def name(template):
    return template if template == "bias" else "|".join(f"{written(view)}[{offset}]" for view, offset in template)


def attribute(template, sentence, t, columns):
    """The attribute that a template gives token t, as "word[-1]|word[0]=in|the"; None if it gives none."""
    if template == "bias":
        return "bias"
    values = []
    for view, offset in template:
        if not 0 <= t + offset < len(sentence):
            return None
        values.append(value(view, sentence[t + offset], columns))
    return None if None in values else f"{name(template)}={'|'.join(values)}"


def attributes(templates, sentence, columns):
    """For every token the list of its attributes, in the order of the templates; a template given twice counts once."""
    once = [template for i, template in enumerate(templates) if template not in templates[:i]]
    told = [[attribute(template, sentence, t, columns) for template in once] for t in range(len(sentence))]
    return [[found for found in token if found is not None] for token in told]
