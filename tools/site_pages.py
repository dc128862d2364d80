"""What MkDocs asks while it builds the site: runs the code of all pages, and takes in files from outside of docs/.

- Every page's code is run (`run_pages.py`); what it writes is put beside the page, what is wrong ends the build.
- Results of benchmarks are pages of the site. In the navigation `benchmarks/results/*.md` stands for them.
- A link to a file of the repository outside of docs/ leads to a page that shows the file.
- Nothing in the site is loaded from the network.
- The lab, one page with everything inside, is a file of the site: perceptron-lab.html.
- The line `<!-- commands -->` becomes the reference of the command line.
"""

import posixpath
import re
import sys
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, InclusionLevel

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tools.run_pages import run_pages  # noqa: E402 (found by the line above)

LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(?=[)#])")
RESULTS = "benchmarks/results"
LAB = "perceptron-lab.html"  # docs/lab.md shows it
NETWORK = re.compile(
    r"""<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=["']?https?:[^>]*|url\(["']?https?:[^)]*"""
)
WRITTEN_BY = re.compile(r"<!-- written by: (python -m benchmarks (.*?)) -->\n")


def on_config(config):
    """Spell the navigation out: benchmarks/results/*.md stands for the results of all benchmarks."""
    pages = [f"{RESULTS}/{path.name}" for path in sorted((ROOT / RESULTS).glob("*.md"))]

    def spelled_out(entries):
        found = []
        for entry in entries:
            if isinstance(entry, dict):
                sections = entry.items()
                found.append({name: spelled_out(at) if isinstance(at, list) else at for name, at in sections})
            else:
                found += pages if entry == f"{RESULTS}/*.md" else [entry]
        return found

    config.nav = spelled_out(config.nav)
    return config


def on_files(files, config):
    """Add what is no file of docs/: results of benchmarks, files that pages link to, what the pages' code writes."""
    own = [file for file in files.documentation_pages() if file.abs_src_path]
    for path in sorted((ROOT / RESULTS).glob("*.md")):
        files.append(File.generated(config, f"{RESULTS}/{path.name}", content=_result(path.read_text())))
    for page in list(files.documentation_pages()):
        for link in LINK.findall(page.content_string):
            path = _target(page, link)
            if path and not files.get_file_from_path(_uri(path)):
                files.append(
                    File.generated(config, _uri(path), content=_shown(path), inclusion=InclusionLevel.NOT_IN_NAV)
                )
    files.append(File.generated(config, LAB, content=_lab()))
    ran = run_pages(Path(page.abs_src_path) for page in own)
    problems = [problem for result in ran.values() for problem in result.problems]
    for page in own:
        for path in ran[Path(page.abs_src_path)].files:
            uri = posixpath.join(posixpath.dirname(page.src_uri), path.name)
            if files.get_file_from_path(uri):
                problems.append(f"docs/{page.src_uri}: its code writes {path.name}, which another page has too.")
            files.append(File.generated(config, uri, abs_src_path=str(path)))
    if problems:
        raise PluginError("\n\n".join(problems))
    return files


def on_page_markdown(markdown, page, config, files):
    """Let links to files of the repository lead to the pages that show them; write the commands down."""

    def local(link):
        path = _target(page.file, link[0])
        return posixpath.relpath(_uri(path), posixpath.dirname(page.file.src_uri) or ".") if path else link[0]

    markdown = LINK.sub(local, markdown)
    return markdown.replace("<!-- commands -->", _commands()) if "<!-- commands -->" in markdown else markdown


def on_post_build(config):
    """See to it that no page asks the network for anything: not by itself, and not by the theme's scripts."""
    site = Path(config.site_dir)
    for script in (site / "assets/javascripts").glob("*.js"):
        script.write_text(script.read_text().replace("https://unpkg.com/", "not-here/"))  # for old browsers, diagrams
    for path in [*site.rglob("*.html"), *site.rglob("*.css")]:
        found = NETWORK.search(path.read_text())
        if found:
            raise PluginError(f"{path.relative_to(site)} would load something from the network: {found[0]}")


def _target(page, link):
    """The file of the repository that a link leads to from a page, if it is not one of docs/ on a page of docs/."""
    own = page.abs_src_path is not None
    here = (ROOT / "docs" if own else ROOT) / page.src_uri
    path = (here.parent / link).resolve()
    inside = path.is_relative_to(ROOT / "docs")
    if not path.is_file() or not path.is_relative_to(ROOT) or (inside and own):
        return None
    return path


def _uri(path):
    """The address in the site of a file of the repository."""
    if path.is_relative_to(ROOT / "docs"):
        return str(path.relative_to(ROOT / "docs"))
    return str(path.relative_to(ROOT)) + ("" if path.suffix == ".md" else ".md")


def _shown(path):
    """A file of the repository as a page."""
    text, name = path.read_text(), path.relative_to(ROOT)
    if path.suffix == ".md":
        return text
    language = {".py": "python", ".toml": "toml", ".json": "json", ".js": "javascript"}.get(path.suffix, "text")
    title = f"---\nhide: [navigation, toc]\n---\n\n# {path.name}\n\n`{name}`\n\n"
    return f"{title}`````{{.{language} linenums=1}}\n{text}\n`````\n"


def _result(text):
    """The result of a benchmark as a page, with a title and the command that wrote it."""
    command, name = WRITTEN_BY.match(text).groups()
    title = name.replace("_", " ").replace(" --device ", ", ").capitalize()
    return f"# {title}\n\nWritten by `{command}`.\n\n{WRITTEN_BY.sub('', text)}"


def _lab():
    """The page of the lab, as `perceptrons lab` writes it."""
    from perceptrons.lab import show

    return show().html


def _commands():
    """The reference of all commands, from their own help."""
    import typer
    from typer.cli import get_docs_for_click

    from perceptrons.cli import app

    command = typer.main.get_command(app)
    context = typer.Context(command, info_name="perceptrons")
    text = get_docs_for_click(obj=command, ctx=context, name="perceptrons")
    text = re.sub(r"\*\*Commands\*\*:\n\n(\* .*\n)+", "", text)  # cut short there, and all of them follow
    return re.sub(r"^#", "##", text, flags=re.MULTILINE)
