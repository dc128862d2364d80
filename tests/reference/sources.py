"""Whitespace tables and texts in other encodings, slow and plain."""

import re


def cells(line):
    """The cells of a line between runs of blanks; quotes around a cell keep its blanks, and two in it are one."""
    found, p = [], 0
    while True:
        while p < len(line) and line[p] in " \t":
            p += 1
        if p == len(line):
            return found
        end = p + 1
        if line[p] == '"':
            while end < len(line) and (line[end] != '"' or line[end : end + 2] == '""'):
                end += 2 if line[end : end + 2] == '""' else 1
            end += 1
            if end <= len(line) and (end == len(line) or line[end] in " \t"):
                found.append(line[p + 1 : end - 1].replace('""', '"'))
                p = end
                continue
        end = p
        while end < len(line) and line[end] not in " \t":
            end += 1
        found.append(line[p:end])
        p = end


def table(text):
    """(line, cells) of all lines that are not blank."""
    lines = re.split(r"\r\n|\r|\n", text)
    return [(number, cells(line)) for number, line in enumerate(lines, 1) if line.strip(" \t")]
