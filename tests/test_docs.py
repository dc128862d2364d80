"""The pages of the site: how their code is run, and that each can be found. `mkdocs build --strict` runs them all."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from tools.run_pages import blocks, run_page, write_page

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").rglob("*.md"))
CODE = "```python\n{}\n```\n"
TEXT = "\n```text\n{}\n```\n"


@pytest.fixture
def problems(tmp_path):
    """A function that runs a page and gives its complaints."""

    def ran(text):
        page = tmp_path / "page.md"
        page.write_text(text)
        return run_page(page, tmp_path / "cache").problems

    return ran


def test_what_a_block_prints_is_compared_with_the_text_that_follows(problems):
    assert problems(CODE.format("print(6 * 7)") + TEXT.format("42")) == []
    (problem,) = problems("# A page\n\n" + CODE.format("print(6 * 7)") + TEXT.format("41"))
    assert "page.md:3: " in problem
    assert "the page says\n41\n" in problem
    assert "it prints\n42\n" in problem


def test_a_block_that_prints_what_no_text_says_is_found(problems):
    assert problems(CODE.format("x = 1")) == []
    (problem,) = problems(CODE.format("print(1)") + "\nSome words between.\n" + TEXT.format("1"))
    assert "page.md:1: " in problem


def test_all_blocks_of_a_page_share_a_namespace_and_a_folder(problems):
    first = CODE.format("x = 20\nwith open('note.txt', 'w') as file:\n    file.write('22')")
    assert problems(first + CODE.format("print(x + int(open('note.txt').read()))") + TEXT.format("42")) == []


def test_an_error_names_page_and_line(problems):
    (problem,) = problems("Words.\n\n" + CODE.format("x = 1\n\nraise KeyError('gone')"))
    assert "page.md:3: this block fails" in problem
    assert 'page.md", line 6' in problem
    assert "KeyError: 'gone'" in problem


def test_a_block_that_would_not_be_run_is_found(problems):
    (problem,) = problems("- an item\n\n    ```python\n    print(1)\n    ```\n")
    assert "indented" in problem


def test_commands_are_run_if_a_text_follows(problems):
    assert problems("```bash\nexit 3\n```\n\nNot run.\n") == []
    assert problems("```bash\necho a b | wc -w | tr -d ' '\n```\n" + TEXT.format("2")) == []
    (problem,) = problems("```bash\nfalse | true\n```\n" + TEXT.format(""))
    assert "page.md:1: this block fails" in problem


def test_a_picture_must_be_written_by_the_page_or_lie_beside_it(problems, tmp_path):
    write = CODE.format("open('made.svg', 'w').write('<svg/>') and None")
    (tmp_path / "kept.png").write_bytes(b"")
    (problem,) = problems(f"{write}\n![made](made.svg)\n![kept](kept.png)\n\n![gone](gone.png)\n")
    assert "page.md:8: no block of this page writes the picture gone.png" in problem


def test_what_has_not_changed_is_not_run_again(tmp_path):
    page, log = tmp_path / "page.md", tmp_path / "log"
    code = f"with open({str(log)!r}, 'a') as file:\n    file.write('x')\nprint(1)"
    page.write_text(CODE.format(code) + TEXT.format("1"))
    assert run_page(page, tmp_path / "cache", "a").problems == run_page(page, tmp_path / "cache", "a").problems == []
    page.write_text(CODE.format(code) + TEXT.format("2"))
    assert len(run_page(page, tmp_path / "cache", "a").problems) == 1
    assert log.read_text() == "x"
    run_page(page, tmp_path / "cache", "b")
    assert log.read_text() == "xx"


def test_what_blocks_print_can_be_written_into_the_page(tmp_path):
    page = tmp_path / "page.md"
    old, silent = CODE.format("print(1)\nprint(2)") + TEXT.format("0"), CODE.format("x = 1") + "\n```bash\nls\n```\n"
    page.write_text(f"# A page\n\n{silent}{old}\nThe end.\n")
    write_page(page, run_page(page, tmp_path / "cache").printed)
    assert page.read_text() == f"# A page\n\n{silent}{old}\nThe end.\n".replace("\n0\n", "\n1\n2\n")
    assert run_page(page, tmp_path / "cache").problems == []


def test_every_page_is_in_the_navigation():
    nav = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    entries = re.findall(r"[\w/-]+\.md$", nav, re.MULTILINE)
    assert sorted(entries) == sorted(set(entries))
    assert [str(page.relative_to(ROOT / "docs")) for page in PAGES] == sorted(entries, key=lambda entry: Path(entry))


def test_every_result_of_a_benchmark_is_on_the_page_of_benchmarks():
    page = (ROOT / "docs/benchmarks.md").read_text()
    for result in (ROOT / "benchmarks/results").glob("*.md"):
        assert f"(../benchmarks/results/{result.name})" in page


@pytest.mark.parametrize("area", ["data", "distributed", "features", "plots", "report", "selection", "theory"])
def test_the_reference_has_what_a_module_of_the_same_name_would_hide(area):
    reference = "".join(page.read_text() for page in (ROOT / "docs/reference").glob("*.md"))
    assert re.search(rf"^::: perceptrons\.{area}\b", reference, re.MULTILINE)
    for name in import_module(f"perceptrons.{area}").__all__:
        if (ROOT / f"src/perceptrons/{area}/{name}.py").exists():
            assert f"::: perceptrons.{area}.{name}.{name}\n" in reference


def test_pages_have_code_and_name_no_machine():
    assert sum(len(blocks(page.read_text())) for page in PAGES) > 60
    for page in [*PAGES, ROOT / "mkdocs.yml", ROOT / "README.md"]:
        assert not re.search(r"/(home|root|work|Users)/|C:\\", page.read_text()), page


def test_nothing_of_the_site_comes_from_the_network():
    for source in [*(ROOT / "docs/assets").iterdir(), ROOT / "mkdocs.yml"]:
        assert not re.search(rb"https?://(?!www\.w3\.org/|matplotlib\.org)", source.read_bytes()), source
    for page in PAGES:
        assert not re.search(r"!\[[^\]]*\]\(https?:|<(script|link|img|iframe)\b[^>]*https?:", page.read_text()), page
