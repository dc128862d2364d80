"""Raw tables made ready to learn from, slowly: cell by cell, with `statistics` and `datetime`.

Written from the description, not from the code. A table is a list of records whose values are the strings of a file.
The answer is one dict per record, from the name of a feature to its value; features of value 0 are left out.
"""

import re
from datetime import UTC, date, datetime
from statistics import fmean, pstdev

MISSING = {"", "?", "na", "n/a", "#n/a", "nan", "null", "none", "-"}
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
PAIRS = [{"yes", "no"}, {"true", "false"}, {"y", "n"}, {"t", "f"}]
TRUE = {"yes", "true", "y", "t"}
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
IDENTIFIERS = {"id", "ids", "index", "idx", "key", "uuid", "guid", "no", "nr", "number", "row", "rowid"}


def time_of(text):
    """A date or time in UTC, as a naive datetime; None for what is neither."""
    if not re.fullmatch(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?", text):
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time


class Column:
    """A column: its cells, None where a value is missing, and what kind of column it is."""

    def __init__(self, name, cells, missing, told):
        self.name = name
        words = MISSING | {word.strip().lower() for word in missing}
        numbers = [float(word) for word in missing if NUMBER.fullmatch(word)]
        texts = [cell.strip() for cell in cells]
        known = [text for text in texts if text.lower() not in words]
        self.is_number = told != "category" and 2 * sum(bool(NUMBER.fullmatch(text)) for text in known) > len(known)
        if self.is_number:
            values = [None if text.lower() in words else float(text) for text in texts]
            self.values = [None if value in numbers else value for value in values]
        else:
            self.texts = texts
            self.values = [None if text.lower() in words else text for text in texts]
        there = [value for value in self.values if value is not None]
        self.kind = self._kind(there)
        if told == "keep" and self.kind in ("identifier", "text", "empty"):
            self.kind = "number" if self.is_number else "category"
        if told == "category":
            self.kind = "category"

    def _kind(self, there):
        if not there:
            return "empty"
        distinct = set(there)
        if self.is_number:
            unique = len(there) >= 20 and len(distinct) == len(there) and all(value == int(value) for value in there)
            consecutive = unique and max(there) - min(there) + 1 == len(there)
            called = re.split(r"[-_ .]", self.name)[-1].lower() in IDENTIFIERS or self.name.endswith(("Id", "ID"))
            return "identifier" if consecutive or (unique and called) else "number"
        if len(distinct) == 2 and {text.lower() for text in distinct} in PAIRS:
            return "flag"
        if all(time_of(text) for text in distinct):
            return "date"
        if len(there) >= 20 and len(distinct) > 0.9 * len(there):
            return "text" if fmean(len(text.split()) for text in distinct) >= 4 else "identifier"
        return "category"


def features_of(columns):
    """Numbers by name, those that are derived after the others; and categories by name."""
    numbers, derived, dates, categories, parts = {}, {}, {}, {}, {}
    for column in columns:
        name, values = column.name, column.values
        if column.kind == "number":
            numbers[name] = values
        elif column.kind == "flag":
            derived[name] = [None if value is None else float(value.lower() in TRUE) for value in values]
        elif column.kind == "date":
            times = [None if value is None else time_of(value) for value in values]
            dates[f"{name}.year"] = [time and float(time.year) for time in times]
            dates[f"{name}.days"] = [time and float((time.date() - date(1970, 1, 1)).days) for time in times]
            parts[f"{name}.month"] = [time and MONTHS[time.month - 1] for time in times]
            parts[f"{name}.weekday"] = [time and DAYS[time.weekday()] for time in times]
            if any(value is not None and len(value) > 10 for value in values):
                parts[f"{name}.hour"] = [time and str(time.hour) for time in times]
        elif column.kind == "category":
            categories[name] = column.texts  # a missing value is a value of its own
    return numbers, derived | dates, categories | parts


def scaled(values, learned, scale, is_day):
    """A column of numbers, filled and scaled by the rows that are learned from; and did one of these lack its value?"""
    known = [value for value, learn in zip(values, learned, strict=True) if learn and value is not None]
    lacking = any(value is None for value, learn in zip(values, learned, strict=True) if learn)
    if not known:
        return [0.0 if value is None else value for value in values], lacking
    fill = fmean(known)
    centre = min(known) if is_day else 0.0
    unit = 1.0
    if scale == "standard":
        centre, unit = fill, pstdev(known) or 1.0
    elif scale == "max-abs":
        unit = max(abs(value - centre) for value in known) or 1.0
    return [((fill if value is None else value) - centre) / unit for value in values], lacking


def product_scaled(values, learned, scale):
    """A column of powers or products of two numbers, scaled like a number; rounding alone is no spread."""
    known = [value for value, learn in zip(values, learned, strict=True) if learn]
    if scale == "standard" and known and pstdev(known) <= 1e-12 * max(map(abs, known)):
        return [value - fmean(known) for value in values]
    return scaled(values, learned, scale, False)[0]


def pairs_of(asked, names):
    """The pairs of columns that are asked for as "a*b", "a*" or "*", each in the order of the names."""
    found = []
    for text in asked:
        one, _, other = text.partition("*")
        firsts = [one] if one else names
        for first in firsts:
            for second in [other] if other else names:
                pair = tuple(sorted((first, second), key=names.index))
                if first != second and pair not in found:
                    found.append(pair)
    return found


def prepare(records, *, scale="standard", missing=(), categories=(), keep=(), interactions=(), powers=1, learned=None):
    """The features of every record, and the columns that are left out. learned: a flag for each record."""
    learned = [True] * len(records) if learned is None else learned
    told = dict.fromkeys(keep, "keep") | dict.fromkeys(categories, "category")
    columns = [
        Column(name, [record[name] for record in records], missing, told.get(name))
        for name in (records[0] if records else ())
    ]
    out = [column.name for column in columns if column.kind in ("identifier", "text", "empty")]
    numbers, derived, categories = features_of(columns)
    rows = [{} for _ in records]

    def put(name, values):
        for row, value in zip(rows, values, strict=True):
            if value:
                row[name] = value

    ready = {}
    for name, values in (numbers | derived).items():
        ready[name], lacking = scaled(values, learned, scale, name.endswith(".days") and name not in numbers)
        put(name, ready[name])
        if lacking:
            put(f"{name}=missing", [float(value is None) for value in values])
    for name in numbers:
        for power in range(2, powers + 1):
            put(f"{name}^{power}", product_scaled([value**power for value in ready[name]], learned, scale))
    for name, values in categories.items():
        for row, value in zip(rows, values, strict=True):
            if value is not None:
                row[f"{name}={value}"] = 1.0
    for one, other in pairs_of(interactions, [*ready, *categories]):
        if one in ready and other in ready:
            products = [a * b for a, b in zip(ready[one], ready[other], strict=True)]
            put(f"{one}*{other}", product_scaled(products, learned, scale))
            continue
        for k, row in enumerate(rows):
            if one in ready and categories[other][k] is not None:
                name, value = f"{one}*{other}={categories[other][k]}", ready[one][k]
            elif one in categories and categories[one][k] is not None and categories[other][k] is not None:
                name, value = f"{one}={categories[one][k]}*{other}={categories[other][k]}", 1.0
            else:
                continue
            if value:
                row[name] = value
    return rows, out
