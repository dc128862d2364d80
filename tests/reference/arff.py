"""ARFF, slow and plain, letter by letter: the columns, and the rows as lists of strings (None where one is missing)."""


def words(line, separators):
    """The words of a line: (text, was it quoted), separated by these letters; blanks around words do not count."""
    found, p = [], 0
    while True:
        while p < len(line) and line[p] in " \t" and line[p] not in separators:
            p += 1
        text, quoted = "", p < len(line) and line[p] in "'\""
        if quoted:
            quote, p = line[p], p + 1
            while line[p] != quote:
                if line[p] == "\\":
                    p += 1
                    text += " " if line[p] in "ntr" else line[p]
                else:
                    text += line[p]
                p += 1
            p += 1
            while p < len(line) and line[p] in " \t" and line[p] not in separators:
                p += 1
        else:
            while p < len(line) and line[p] not in separators:
                text, p = text + line[p], p + 1
            text = text.strip()
        found.append((text, quoted))
        if p >= len(line):
            return found
        p += 1


def without_comment(line):
    """A line up to a % at its beginning or behind a blank, outside quotes."""
    quote, p = None, 0
    while p < len(line):
        if quote and line[p] == "\\":
            p += 1
        elif quote:
            quote = None if line[p] == quote else quote
        elif line[p] in "'\"":
            quote = line[p]
        elif line[p] == "%" and (p == 0 or line[p - 1] in " \t"):
            return line[:p].strip()
        p += 1
    return line.strip()


def read(text):
    """Columns (name, kind, first nominal value), and (line, cells) of all rows."""
    columns, rows, data = [], [], False
    for number, line in enumerate(text.split("\n"), 1):
        line = without_comment(line.strip())
        if not line:
            continue
        if not data:
            keyword = line.split()[0].lower()
            data = keyword == "@data"
            if keyword == "@attribute":
                rest = line[len(keyword) :].strip()
                if rest[0] in "'\"":
                    end = closing(rest) + 1
                else:
                    end = min(place for place, letter in enumerate(rest) if letter in " \t{")
                name, kind = words(rest[:end], "")[0][0], rest[end:].strip()
                first = words(kind.strip("{}"), ",")[0][0] if kind.startswith("{") else None
                columns.append((name, kind.split()[0].lower() if first is None else "nominal", first))
            continue
        if line.startswith("{"):
            cells = ["0" if kind in ("numeric", "real", "integer") else first or "" for _, kind, first in columns]
            inside = line[1:-1].strip()
            for part in split_outside(inside, ",") if inside else []:
                place, _, value = part.strip().partition(" ")
                ((value, quoted),) = words(value.strip(), "")
                cells[int(place)] = None if value == "?" and not quoted else value
        else:
            separators = "\t" if "\t" in line and "," not in line else ","
            cells = [None if word == ("?", False) else word[0] for word in words(line, separators)]
        rows.append((number, cells))
    return columns, rows


def closing(text):
    """Where the quote that begins a text is closed."""
    p = 1
    while text[p] != text[0]:
        p += 2 if text[p] == "\\" else 1
    return p


def split_outside(text, separator):
    """Cut at a letter where it is outside quotes."""
    parts, begin, p = [], 0, 0
    while p < len(text):
        if text[p] in "'\"":
            p += closing(text[p:])
        elif text[p] == separator:
            parts.append(text[begin:p])
            begin = p + 1
        p += 1
    return [*parts, text[begin:]]
