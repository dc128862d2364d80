"""The order in which the files of a folder by class are read, slow and plain."""

from fractions import Fraction


def in_reading_order(files):
    """(class, file) of all files, of a dict of classes with their files in order.

    File k of n of a class comes where k/n of all have come; those that come at once, in the order of the classes.
    """
    places = [
        (Fraction(k, len(of_class)), label, one) for label, of_class in files.items() for k, one in enumerate(of_class)
    ]
    return [(label, one) for _, label, one in sorted(places, key=lambda place: place[:2])]
