from __future__ import annotations

import pytest

from foreword.capture.runs.changes import read_changes
from foreword.capture.tool_calls import ToolCall


def kinds(command, outcome="exit 0"):
    call = ToolCall("Bash", {"command": command}, outcome=outcome)
    return [(one.kind, one.path or one.branch, one.after_run) for one in read_changes(call)]


@pytest.mark.parametrize(
    ("command", "seen"),
    [
        ("cat src/retry.py | grep pause", []),
        ("pytest -q", []),
        ("make build && pytest", []),
        ("git status && git diff", []),
        ("git add -A && git commit -m 'wip; rm it'", [("commit", "", False)]),
        ("sed -i s/5/50/ a.py", [("change", "a.py", False)]),
        ("sed -i s/5/50/ a.py && pytest", [("change", "a.py", False)]),
        ("sed -n 1,20p a.py", []),
        ("perl -pi -e 's/5/50/' src/a.py", [("change", "src/a.py", False)]),
        ("echo 'pause = 5' >> src/a.py", [("change", "src/a.py", False)]),
        ("cat > a.py <<'EOF'\nrm -rf b.py; sed -i c.py\nEOF\npytest", [("change", "a.py", False)]),
        ("grep pause a.py > /tmp/found.txt", []),
        ("python trace.py a.py > trace.log", [("change", "", False)]),
        ("cp a.py /tmp/a.bak", []),
        ("cp /tmp/a.bak a.py", [("change", "a.py", False)]),
        ("git mv a.py b.py", [("change", "a.py", False), ("change", "b.py", False)]),
        ("rm a.py", [("undo", "a.py", False), ("change", "", False)]),
        ("python -c 'import a; print(a.pause)'", []),
        ("python - <<'EOF'\nPath('a.py').write_text('x')\nEOF", [("change", "a.py", False)]),
        ("curl -s http://localhost:8000/pause", []),
        ("curl -s http://localhost:8000/schema -o schema.json", [("change", "schema.json", False)]),
        ("black src/a.py && npx prettier --write b.ts && cargo fmt", []),
        ("ruff check a.py && uv run mypy a.py", []),
        ("ruff check --fix a.py", [("change", "", False)]),
        ("pytest; rm -rf out", [("change", "", True)]),
        ("git checkout -- src/a.py", [("undo", "src/a.py", False)]),
        (
            "git checkout HEAD -- src/a.py src/b.py",
            [("undo", "src/a.py", False), ("undo", "src/b.py", False)],
        ),
        ("git checkout .", [("undo", "", False)]),
        ("git checkout main", [("switch", "main", False)]),
        ("git switch -", [("switch", "-", False)]),
        ("git checkout HEAD~1", [("switch", "HEAD~1", False)]),
        ("git checkout -b fix", [("branch", "fix", False)]),
        ("git switch -c fix main", [("switch", "main", False), ("branch", "fix", False)]),
        ("git cherry-pick -x 1a2b3c4", [("merge", "1a2b3c4", False), ("change", "", False)]),
        ("cd api && sed -i s/5/50/ src/a.py", [("change", "api/src/a.py", False)]),
        ("cd api && git restore ../web/a.ts", [("undo", "web/a.ts", False)]),
        ("git restore src/a.py", [("undo", "src/a.py", False)]),
        ("git restore --staged src/a.py", []),
        ("git reset --hard", [("undo", "", False)]),
        ("git stash", [("undo", "", False)]),
        ("git stash && pytest && git stash pop", [("undo", "", False), ("redo", "", True)]),
        ("git stash list", []),
    ],
)
def test_what_a_command_changed_and_took_back(command, seen):
    assert kinds(command) == seen


def test_a_command_that_failed_changed_nothing():
    assert kinds("pip install urllib3==2.2", "exit 1") == []
    assert kinds("sed -i s/5/50/ a.py && pytest", "exit 1") == [("change", "a.py", False)]


def test_an_edit_that_failed_changed_nothing():
    given = {"file_path": "/shop/src/a.py", "old_string": "x", "new_string": "y"}
    assert read_changes(ToolCall("Edit", given, outcome="failed", folder="/shop")) == []
    (change,) = read_changes(ToolCall("Edit", given, folder="/shop"))
    assert (change.path, change.before, change.after) == ("src/a.py", "x", "y")


def test_a_patch_changes_every_file_it_names():
    patch = "*** Begin Patch\n*** Update File: a.py\n-x\n+y\n*** Add File: b.py\n+z\n*** End Patch"
    call = ToolCall("apply_patch", {"input": patch})
    assert [change.path for change in read_changes(call)] == ["a.py", "b.py"]


def test_a_tool_that_reads_changes_nothing():
    assert read_changes(ToolCall("Read", {"file_path": "a.py"})) == []
