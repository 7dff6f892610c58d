"""examples/notebook.ipynb: a kernel of Jupyter runs it, and gets the outputs that it shows."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "examples" / "notebook.ipynb"

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
for _module in ("ipykernel", "ipywidgets", "matplotlib", "pandas"):
    pytest.importorskip(_module)


def outputs(notebook: Any) -> Iterator[tuple[str, Any]]:
    """Yield the output of each cell, with the text of the cell."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            assert output.output_type != "stream", output.text
            yield cell.source, output


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Any:
    directory = tmp_path_factory.mktemp("notebook")
    script = ROOT / "examples" / "make_example.py"
    subprocess.run((sys.executable, script, directory / "example"), check=True)
    given = nbformat.read(NOTEBOOK, 4)
    with pytest.MonkeyPatch.context() as patch:
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        patch.setenv("PYTHONPATH", path)
        resources = {"metadata": {"path": str(directory)}}
        client = nbclient.NotebookClient(given, timeout=600, resources=resources)
        return client.execute()


def test_tables_are_as_shown(notebook: Any) -> None:
    shown, found = (
        [
            (cell, output.data["text/plain"])
            for cell, output in outputs(each)
            if output.output_type == "execute_result"
        ]
        for each in (nbformat.read(NOTEBOOK, 4), notebook)
    )
    assert found == shown
    assert len(shown) >= 4


def test_bars_and_a_picture(notebook: Any) -> None:
    kinds = [set(output.data) for _, output in outputs(notebook) if "data" in output]
    bars = [kind for kind in kinds if "application/vnd.jupyter.widget-view+json" in kind]
    assert len(bars) == 2
    assert sum("image/png" in kind for kind in kinds) == 1
    states = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"]
    texts = [state["state"].get("value", "") for state in states.values()]
    assert any("100%" in str(text) for text in texts)
