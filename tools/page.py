"""Work on the browser page with the Node that builds it: `python tools/page.py build|check|test`."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]

COMMANDS = {
    "check": ["node", "node_modules/typescript/bin/tsc", "--noEmit"],
    "test": ["node", "node_modules/vitest/vitest.mjs", "run", "--reporter", "dot"],
}


def load_hook() -> ModuleType:
    """Return the build hook, which is no module of any package."""
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> int:
    """Do what is asked for; return the exit code."""
    hook = load_hook()
    [asked] = sys.argv[1:] or ["build"]
    try:
        if asked == "build":
            hook.build_page(ROOT, hook.run_node)
        else:
            hook.install_packages(ROOT / "web", hook.run_node, os.environ)
            hook.run_node(COMMANDS[asked], ROOT / "web", os.environ)
    except subprocess.CalledProcessError as error:
        return int(error.returncode)
    return 0


if __name__ == "__main__":
    sys.exit(main())
