"""What the formats of tables have in common; `TableReader` asks one of them for pieces, layouts and cells."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

from perceptrons.data.cells import Cells
from perceptrons.data.roles import Asked, Layout
from perceptrons.data.source import Piece
from perceptrons.features.records import Roles


class TableFormat(ABC):
    """A format of tables. One instance serves all files of a reader, once."""

    names: list[str] | None = None  # of the columns of the first file, where a file may be without names
    unnamed = False  # has the first file no names?

    def __init__(self) -> None:
        self.notices: dict[str, str] = {}  # what somebody should be told of columns, by their names

    @abstractmethod
    def pieces(self, path: Path, prompt: bool) -> Iterator[Piece]:
        """Cut a file into pieces of whole records, of bounded size."""

    @abstractmethod
    def look(self, piece: Piece, asked: Asked, roles: Roles | None) -> tuple[Roles | None, Layout | None]:
        """What the columns are, unless it is settled, and where they are in the file that begins with this piece.

        Where the piece does not tell, the next one is asked: roles are None then, or the layout if no name is known.
        """

    def nothing(self, path: Path) -> tuple[str, int]:
        """What is wrong where there is no example, and the line."""
        return "there is no example in it: give a record for each", 1

    @abstractmethod
    def cells(self, piece: Piece, roles: Roles | None, layout: Layout | None) -> Cells:
        """Read a piece; runs in several threads at once."""
