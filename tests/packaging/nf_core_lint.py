"""Lint the nf-core modules by nf-core/tools, without Nextflow and without a network.

Run by the Python that has `nf-core`: `nf_core_lint.py MODULES CLONE`. MODULES is a repository of
modules, CLONE an empty stand-in for the clone of nf-core/modules. Prints a JSON list of
`[kind, module, check, message]`, kind being `passed`, `warned` or `failed`.

Two functions of nf-core call `nextflow`, which is not there: they find nothing instead.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from unittest.mock import patch

from nf_core.components.nfcore_component import NFCoreComponent
from nf_core.modules.lint import ModuleLint
from nf_core.modules.modules_repo import ModulesRepo


def stand_in_for_clone(repository: ModulesRepo, clone: Path) -> None:
    repository.local_repo_dir = clone
    repository.repo_path = "nf-core"


def lint(modules: Path, clone: Path) -> list[list[str]]:
    """Return the result of every check of every module."""
    with (
        patch.object(
            ModulesRepo, "__init__", lambda self, *_, **__: stand_in_for_clone(self, clone)
        ),
        patch.object(NFCoreComponent, "get_container_with_inspect", lambda *_, **__: None),
        patch("nf_core.utils.fetch_wf_config", lambda *_, **__: {}),
    ):
        checks = ModuleLint(modules, hide_progress=True)
        checks.lint(all_modules=True, print_results=False)
    kinds = {"passed": checks.passed, "warned": checks.warned, "failed": checks.failed}
    return [
        [kind, result.component_name, result.lint_test, result.message]
        for kind, results in kinds.items()
        for result in results
    ]


if __name__ == "__main__":
    json.dump(lint(*map(Path, sys.argv[1:])), sys.stdout)
