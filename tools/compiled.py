"""Where compiled code is cached: in a folder named after the sources it was compiled from."""

import hashlib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src/perceptrons"


def sources() -> list[Path]:
    """The files with compiled functions."""
    alone = [PACKAGE / "engine" / name for name in ("compiling.py", "rows.py", "hashing.py")]
    formats = [PACKAGE / "data" / name for name in ("csv.py", "svmlight.py", "text.py", "vw.py")]
    folders = (PACKAGE / "engine/passes", PACKAGE / "engine/scan")
    return sorted([*alone, *formats, *(path for folder in folders for path in folder.glob("*.py"))])


def cache_folder() -> str:
    """For NUMBA_CACHE_DIR: numba's cache does not see edits in other modules, so old code would be run."""
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources())).hexdigest()[:16]
    return str(ROOT / ".numba_cache" / digest)
