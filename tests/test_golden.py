"""Models, commands and public names are those recorded before the house was rebuilt (see support/golden.py)."""

import json
import os
import re
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.support import golden


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """What was recorded, and what is now, found out by a process of its own.

    It runs without bounds checks, as the recording did: with them, other instructions round the last bits otherwise.
    """
    path = tmp_path_factory.mktemp("golden") / "now.json"
    code = (
        f"import json, tests.support.golden as g; open({str(path)!r}, 'w').write(json.dumps(g.recorded(), default=str))"
    )
    environment = os.environ | {"PERCEPTRONS_BOUNDSCHECK": "0"}
    subprocess.run([sys.executable, "-c", code, path], check=True, cwd=ROOT, timeout=900, env=environment)
    return json.loads(golden.FILE.read_text()), json.loads(path.read_text())


def test_models_have_the_bits_they_had(pair):
    before, now = pair
    same = before["processor"] == now["processor"]
    for name, (depends, bits) in before["models"].items():
        assert (depends and not same) or now["models"][name][1] == bits, name
    assert before["models"].keys() == now["models"].keys()


def test_commands_print_what_they_printed(pair):
    before, now = pair
    for name, outcome in before["commands"].items():
        assert now["commands"][name] == outcome, name


def test_the_public_names_have_the_signatures_they_had(pair):
    before, now = pair
    one, other = ({name: without_modules(text) for name, text in each["names"].items()} for each in (now, before))
    assert one == other
    assert now["imported"] == before["imported"]


def without_modules(signature):
    """A signature in which classes of ours have their names only: which module defines them is no promise."""
    return re.sub(r"\bperceptrons\.(?:[a-z_]+\.)*(?=[A-Z])", "", signature)
