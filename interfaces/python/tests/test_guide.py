"""Every block of the guide's page, and of the README, in the order of the page."""

import ast
import json
import pathlib
import re

import pytest

HERE = pathlib.Path(__file__).resolve().parents[1]


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)


@pytest.mark.parametrize("page", [HERE / "README.md", HERE.parents[1] / "docs/guide/python.md"], ids=lambda page: page.name)
def test_the_page_is_true(page, tmp_path, monkeypatch):
    if not page.exists():
        pytest.skip("%s is not here" % page)
    for package in ("pandas", "polars", "pyarrow", "networkx"):
        if page.name == "python.md":
            pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    scope = {"__name__": "guide"}
    found = blocks(page)
    assert found
    for block in found:
        exec(compile(block, str(page), "exec"), scope)


def test_everything_is_described():
    """Every public name has a line in the stubs."""
    import tanglewood

    stubs = (HERE / "tanglewood" / "__init__.pyi").read_text()
    for name in tanglewood.__all__:
        assert re.search(r"\b(class|def) %s\b" % name, stubs), name
    for cls in (tanglewood.Database, tanglewood.Session, tanglewood.Result):
        body = re.search(r"^class %s\b.*?(?=^class |\Z)" % cls.__name__, stubs, re.M | re.S)[0]
        for name in vars(cls):
            if not name.startswith("_"):
                assert re.search(r"\b%s\b" % name, body), "%s.%s" % (cls.__name__, name)


NOTEBOOKS = sorted((HERE.parents[1] / "docs/guide/notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_is_true(path, tmp_path, monkeypatch):
    """Its cells run in their order, and what a cell shows can be shown."""
    text = path.read_text(encoding="utf-8")
    for package in ("numpy", "pandas", "pyarrow", "networkx"):
        if "import %s" % package in text or package == "pyarrow" and "import_tables" in text:
            pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    scope, shown = {"__name__": "notebook"}, 0
    for cell in json.loads(text)["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == [] and cell["execution_count"] is None, "store it without outputs"
        parsed = ast.parse("".join(cell["source"]))
        last = parsed.body.pop() if isinstance(parsed.body[-1], ast.Expr) else None
        exec(compile(parsed, str(path), "exec"), scope)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), str(path), "eval"), scope)
            shown += bool(value._repr_html_() if hasattr(value, "_repr_html_") else repr(value))
    assert shown > 3
