"""The plan of a sandbox, for a home and a project on disk: what can be written, read and seen in the end."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.support.sandbox_rig import Rig, access, mount_at, position

from switchboard.sandbox import run
from switchboard.sandbox.mounts import Refusal, ordered


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def rw(path: Path) -> tuple[str, str]:
    return "rw", str(path)


def ro(path: Path) -> tuple[str, str]:
    return "ro", str(path)


EMPTY = ("tmpfs", None)


# --- what may be bound ----------------------------------------------------------------------------------------------


def test_newline_in_an_extra_bind(rig: Rig) -> None:
    (rig.folder / "new\nline").mkdir()
    with pytest.raises(Refusal, match="contains a newline"):
        rig.plan(SWITCHBOARD_SANDBOX_BINDS=f"{rig.folder}/new\nline")


def test_newline_in_the_working_directory(rig: Rig) -> None:
    (rig.folder / "new\nline").mkdir()
    with pytest.raises(Refusal, match="contains a newline"):
        rig.plan(rig.folder / "new\nline")


def test_a_link_to_a_path_with_a_newline(rig: Rig) -> None:
    (rig.folder / "new\nline").mkdir()
    bind = rig.link(rig.folder / "plain", rig.folder / "new\nline")
    with pytest.raises(Refusal, match="contains a newline"):
        rig.plan(SWITCHBOARD_SANDBOX_BINDS=str(bind))


def test_missing_bind_reported_not_created(rig: Rig) -> None:
    gone, there = rig.folder / "gone", rig.directory(rig.folder / "there")
    plan = rig.plan(SWITCHBOARD_SANDBOX_BINDS=f"{gone}:{there}")
    assert f"'{gone}' does not exist and is not bound" in plan.warnings
    assert not gone.exists()
    assert access(plan, gone)[1] is None
    assert access(plan, there) == rw(there)


@pytest.mark.parametrize("as_bind", [False, True], ids=["cwd", "extra"])
@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("home", "$HOME itself"),
        (".", "a parent of $HOME"),
        ("link-to-home", "$HOME itself"),
        ("link-to-parent", "a parent of $HOME"),
        ("/", "the filesystem root"),
        ("project/.claude", "at or inside a .claude or .git directory"),
        ("project/.claude/skills", "at or inside a .claude or .git directory"),
        ("project/.claude/worktrees", "at or inside a .claude or .git directory"),
        ("project/.claude/worktrees/w/.git/x", "at or inside a .claude or .git directory"),
        ("project/.git", "at or inside a .claude or .git directory"),
        ("project/.git/hooks", "at or inside a .claude or .git directory"),
        ("link-to-git", "at or inside a .claude or .git directory"),
        ("home/.claude/todos", "at or inside a .claude or .git directory"),
        ("/proc/self", "belongs to the system"),
        ("/sys", "belongs to the system"),
        ("/usr", "belongs to the system"),
        ("/dev", "belongs to the system"),
        ("/run", "belongs to the system"),
    ],
)
def test_home_its_parents_and_marked_directories_are_refused(rig: Rig, as_bind: bool, where: str, why: str) -> None:
    for path in ("project/.claude/skills", "project/.claude/worktrees/w/.git/x", "project/.git/hooks"):
        rig.directory(rig.folder / path)
    rig.directory(".claude/todos")
    rig.link(rig.folder / "link-to-home", "home")
    rig.link(rig.folder / "link-to-parent", ".")
    rig.link(rig.folder / "link-to-git", "project/.git/hooks")
    path = (rig.folder / where) if not where.startswith("/") else Path(where)
    with pytest.raises(Refusal) as refused:
        rig.plan(SWITCHBOARD_SANDBOX_BINDS=str(path)) if as_bind else rig.plan(path)
    assert f"refusing to bind '{path}'" in str(refused.value)
    assert why in str(refused.value)


@pytest.mark.parametrize("variable", ["CLAUDE_CONFIG_DIR", "SWITCHBOARD_AGENT_HOME"])
def test_a_directory_that_holds_a_clis_folder_is_refused(rig: Rig, variable: str) -> None:
    folder = rig.directory(rig.project / "mine")
    with pytest.raises(Refusal, match=f"refusing to bind '{rig.project}': it contains {folder}"):
        rig.plan(**{variable: str(folder)})
    with pytest.raises(Refusal, match=f"refusing to bind '{folder}': it is at or inside {folder}"):
        rig.plan(folder, **{variable: str(folder)})


def test_a_worktree_below_claude_worktrees_may_be_bound(rig: Rig) -> None:
    worktree = rig.directory(rig.project / ".claude/worktrees/w")
    plan = rig.plan(worktree)
    assert access(plan, worktree / "file") == rw(worktree / "file")
    assert access(plan, rig.project / ".claude/settings.json")[1] is None


def test_cwd_below_another_binds_claude_is_ordered_after_it(rig: Rig) -> None:
    worktree = rig.directory(rig.project / ".claude/worktrees/w")
    plan = rig.plan(worktree, SWITCHBOARD_SANDBOX_BINDS=str(rig.project))
    assert access(plan, rig.project / ".claude/settings.json") == ro(rig.project / ".claude/settings.json")
    assert access(plan, worktree / "file") == rw(worktree / "file")
    assert position(plan, rig.project / ".claude") < position(plan, worktree)


def test_unusual_names_are_bound_as_they_are(rig: Rig) -> None:
    bind = rig.directory(rig.folder / "sp ace 'quo\"te $(x) ü" / os.fsdecode(b"\xff"))
    plan = rig.plan(SWITCHBOARD_SANDBOX_BINDS=str(bind))
    assert access(plan, bind / "x") == rw(bind / "x")


def test_a_linked_extra_bind_is_seen_under_its_name(rig: Rig) -> None:
    real = rig.directory(rig.folder / "real")
    bind = rig.link(rig.folder / "named", real)
    plan = rig.plan(SWITCHBOARD_SANDBOX_BINDS=str(bind))
    assert access(plan, bind / "x") == rw(real / "x")


def test_an_extra_bind_through_a_link_that_the_sandbox_could_replace(rig: Rig) -> None:
    bind = rig.link(rig.project / "named", rig.directory(rig.folder / "real"))
    with pytest.raises(Refusal, match=f"{bind} is a symbolic link in a directory the sandbox can write"):
        rig.plan(SWITCHBOARD_SANDBOX_BINDS=str(bind))


def test_unwritable_extra_dir_gets_no_placeholder(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    bind = rig.directory(rig.folder / "locked")
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) != str(bind))
    plan = rig.plan(SWITCHBOARD_SANDBOX_BINDS=str(bind))
    assert not (bind / ".claude").exists()
    assert access(plan, bind) == rw(bind)


def test_extra_bind_that_is_a_file(rig: Rig) -> None:
    bind = rig.write(rig.folder / "notes.txt")
    plan = rig.plan(SWITCHBOARD_SANDBOX_BINDS=str(bind))
    assert access(plan, bind) == rw(bind)
    assert bind.read_text() == "host\n"


# --- the CLI's own folder -------------------------------------------------------------------------------------------


def test_first_launch_is_refused(rig: Rig) -> None:
    (rig.home / ".claude").rmdir()
    with pytest.raises(Refusal, match=r"\.claude does not exist; run claude once outside the sandbox first"):
        rig.plan()
    assert list(rig.home.iterdir()) == []


def test_home_claude_is_a_tmpfs_with_state_writable_and_the_rest_read_only(rig: Rig) -> None:
    for name in (".credentials.json", "history.jsonl", "settings.json", "CLAUDE.md"):
        rig.write(f".claude/{name}")
    for name in ("file-history", "skills", "shell-snapshots", "session-env", "cache", "projects/other"):
        rig.directory(f".claude/{name}")
    folder = rig.home / ".claude"
    plan = rig.plan()
    assert mount_at(plan, folder).access == "tmpfs"  # type: ignore[union-attr]  # there is one
    assert access(plan, folder / "new") == EMPTY
    for name in (".credentials.json", "history.jsonl", "file-history", "cache"):
        assert access(plan, folder / name) == rw(folder / name), name
    for name in ("settings.json", "CLAUDE.md", "skills", "projects", "projects/other"):
        assert access(plan, folder / name) == ro(folder / name), name
    for name in ("shell-snapshots", "session-env"):
        assert access(plan, folder / name) == EMPTY, name


def test_precreated_dirs_of_which_ide_is_read_only(rig: Rig) -> None:
    first = rig.first_plan()
    folder = rig.home / ".claude"
    names = ("projects", "todos", "statsig", "file-history", "sessions", "plans", "tasks", "ide")
    wanted = [str(folder / name) for name in names]
    assert [item.path for item in first.missing if item.path in wanted] == wanted
    assert not (folder / "ide").exists()
    plan = rig.plan()
    assert access(plan, folder / "ide") == ro(folder / "ide")
    assert access(plan, folder / "plans") == rw(folder / "plans")


def test_state_dirs_outside_the_folder(rig: Rig) -> None:
    plan = rig.plan()
    for name in (".config/claude", ".cache/claude", ".local/share/claude"):
        assert access(plan, rig.home / name) == rw(rig.home / name)
    assert access(plan, rig.home / ".config")[1] is None


def test_own_project_folder_is_writable(rig: Rig) -> None:
    plan = rig.plan()
    [own] = (rig.home / ".claude/projects").iterdir()
    assert own.name == "".join(letter if letter.isalnum() else "-" for letter in str(rig.project))
    assert access(plan, own) == rw(own)
    assert access(plan, own.parent) == ro(own.parent)


def test_named_project_folder(rig: Rig) -> None:
    plan = rig.plan(SWITCHBOARD_SANDBOX_PROJECT_FOLDER="-a-B-9")
    own = rig.home / ".claude/projects/-a-B-9"
    assert access(plan, own) == rw(own)


@pytest.mark.parametrize("name", ["..", "a/b", "a b", "a.b", "ü", "a\n", "-x/../y"])
def test_a_wrong_project_folder_name(rig: Rig, name: str) -> None:
    with pytest.raises(Refusal, match="SWITCHBOARD_SANDBOX_PROJECT_FOLDER is not a project folder name"):
        rig.plan(SWITCHBOARD_SANDBOX_PROJECT_FOLDER=name)


def test_a_linked_transcript_folder_is_refused(rig: Rig) -> None:
    rig.link(".claude/projects/-x", rig.directory("elsewhere"))
    with pytest.raises(Refusal, match="this session's transcript folder, is a symbolic link"):
        rig.plan(SWITCHBOARD_SANDBOX_PROJECT_FOLDER="-x")


def test_a_transcript_folder_that_is_a_file_is_refused(rig: Rig) -> None:
    rig.write(".claude/projects/-x")
    with pytest.raises(Refusal, match="this session's transcript folder, is not a directory"):
        rig.plan(SWITCHBOARD_SANDBOX_PROJECT_FOLDER="-x")


def test_own_descriptor_folder_takes_the_shared_ones_place(rig: Rig) -> None:
    own = rig.directory(".switchboard/sandboxes/1/sessions")
    shared = rig.directory(".claude/sessions")
    rig.directory(".switchboard/triggers/processed")
    plan = rig.plan(SWITCHBOARD_SANDBOX_SESSIONS_DIR=str(own))
    assert access(plan, shared) == rw(own)
    assert access(plan, own)[1] is None
    assert access(plan, rig.home / ".switchboard")[1] is None


@pytest.mark.parametrize("kind", ["missing", "link", "file"])
def test_a_wrong_descriptor_folder(rig: Rig, kind: str) -> None:
    own = rig.home / ".switchboard/sandboxes/1/sessions"
    rig.directory(own.parent)
    if kind == "link":
        rig.link(own, rig.directory("elsewhere"))
    elif kind == "file":
        rig.write(own)
    with pytest.raises(Refusal, match=f"SWITCHBOARD_SANDBOX_SESSIONS_DIR: {own} is not a directory"):
        rig.plan(SWITCHBOARD_SANDBOX_SESSIONS_DIR=str(own))


def test_claude_json_is_a_file_of_ones_own(rig: Rig) -> None:
    rig.write(".claude.json", '{"theme":"dark"}')
    options, files = rig.plan().options()
    at = options.index("--file")
    assert options[at : at + 3] == ["--file", "9", str(rig.home / ".claude.json")]
    assert files == [b'{"theme":"dark"}']


def test_without_claude_json_it_is_empty(rig: Rig) -> None:
    assert rig.plan().options()[1] == [b"{}"]
    assert not (rig.home / ".claude.json").exists()


def test_another_config_dir_takes_home_claudes_place(rig: Rig) -> None:
    (rig.home / ".claude").rmdir()
    folder = rig.directory(rig.folder / "config")
    rig.write(folder / ".claude.json", '{"a":1}')
    rig.write(folder / "settings.json")
    plan = rig.plan(CLAUDE_CONFIG_DIR=str(folder))
    assert access(plan, folder / "settings.json") == ro(folder / "settings.json")
    assert access(plan, folder / "todos") == rw(folder / "todos")
    assert mount_at(plan, folder / ".claude.json").access == "file"  # type: ignore[union-attr]  # there is one
    assert plan.options()[1] == [b'{"a":1}']
    assert mount_at(plan, rig.home / ".claude") is None
    assert mount_at(plan, rig.home / ".claude.json") is None
    assert not (rig.home / ".claude").exists()


def test_a_config_dir_that_holds_home_is_refused(rig: Rig) -> None:
    project = rig.directory("project")
    with pytest.raises(Refusal, match=r"contains .*\$HOME|contains \$HOME|where a CLI keeps its files"):
        rig.plan(project, CLAUDE_CONFIG_DIR=str(rig.home))


def test_a_linked_folder_works_from_where_it_is(rig: Rig) -> None:
    (rig.home / ".claude").rmdir()
    real = rig.directory(rig.folder / "dotfiles/claude")
    rig.write(real / "settings.json")
    rig.link(".claude", real)
    plan = rig.plan()
    assert access(plan, rig.home / ".claude/settings.json") == ro(real / "settings.json")
    assert access(plan, rig.home / ".claude/todos") == rw(real / "todos")
    with pytest.raises(Refusal, match="where a CLI keeps its files"):
        rig.plan(SWITCHBOARD_SANDBOX_BINDS=str(real.parent))


# --- links in it ----------------------------------------------------------------------------------------------------


def test_linked_entry_is_recreated_and_its_visible_target_read_only(rig: Rig) -> None:
    target = rig.write(rig.project / "dotfiles/CLAUDE.md")
    rig.link(".claude/CLAUDE.md", target)
    plan = rig.plan()
    made = mount_at(plan, rig.home / ".claude/CLAUDE.md")
    assert made is not None
    assert (made.access, made.source) == ("symlink", str(target))
    assert access(plan, target) == ro(target)
    assert mount_at(plan, target.parent).access == "rw"  # type: ignore[union-attr]  # the pin


def test_linked_entrys_invisible_target_stays_invisible(rig: Rig) -> None:
    target = rig.write("dotfiles/CLAUDE.md")
    rig.link(".claude/CLAUDE.md", target)
    plan = rig.plan()
    assert mount_at(plan, rig.home / ".claude/CLAUDE.md").access == "symlink"  # type: ignore[union-attr]  # it is there
    assert access(plan, target)[1] is None


def test_deep_links_and_linked_dirs(rig: Rig) -> None:
    shared = rig.directory(rig.project / "shared/skill")
    tool = rig.write(rig.project / "tools/run.sh")
    rig.link(shared / "run.sh", tool)
    rig.link(".claude/skills/deep/down/skill", shared)
    plan = rig.plan()
    assert access(plan, shared / "x") == ro(shared / "x")
    assert access(plan, tool) == ro(tool)
    assert access(plan, rig.project / "tools/other") == rw(rig.project / "tools/other")


def test_deep_links_through_a_directory_that_is_not_visible(rig: Rig) -> None:
    tool = rig.write(rig.project / "tools/run.sh")
    rig.link("dotfiles/skills/run.sh", tool)
    rig.link(".claude/skills", rig.home / "dotfiles/skills")
    assert access(rig.plan(), tool) == ro(tool)


def test_link_cycle_is_mounted_once(rig: Rig) -> None:
    shared = rig.directory(rig.project / "shared")
    rig.link(shared / "again", shared)
    rig.link(shared / "back", rig.link(".claude/skills/shared", shared))
    plan = rig.plan()
    assert [mount.access for mount in plan.mounts if mount.destination == str(shared)] == ["ro"]


def test_a_link_on_the_way_that_could_be_replaced(rig: Rig) -> None:
    rig.directory(rig.project / "real/skill")
    middle = rig.link(rig.project / "middle", "real")
    rig.link(".claude/skills/skill", middle / "skill")
    with pytest.raises(Refusal, match=f"{middle} is a symbolic link in a directory the sandbox can write"):
        rig.plan()


def test_a_link_to_what_the_sandbox_could_invent(rig: Rig) -> None:
    rig.link(".claude/commands", rig.project / "not-yet")
    with pytest.raises(Refusal, match="does not exist and which the sandbox could create"):
        rig.plan()


def test_a_link_to_nothing_elsewhere_harms_nobody(rig: Rig) -> None:
    rig.link(".claude/commands", rig.folder / "not-yet")
    assert mount_at(rig.plan(), rig.home / ".claude/commands") is not None


def test_a_link_to_the_project_itself_is_reported(rig: Rig) -> None:
    rig.link(".claude/skills/all", rig.project)
    plan = rig.plan()
    assert access(plan, rig.project / "x") == rw(rig.project / "x")
    assert [text for text in plan.warnings if "where the session works" in text]


def test_linked_state_entrys_target_is_writable(rig: Rig) -> None:
    todos = rig.directory(rig.folder / "data/todos")
    history = rig.write(rig.folder / "data/history.jsonl")
    rig.link(".claude/todos", todos)
    rig.link(".claude/history.jsonl", history)
    plan = rig.plan()
    assert access(plan, rig.home / ".claude/todos/1.json") == rw(todos / "1.json")
    assert access(plan, rig.home / ".claude/history.jsonl") == rw(history)
    assert access(plan, todos)[1] is None


@pytest.mark.parametrize(
    ("name", "target", "why"),
    [
        ("todos", "home", "contains $HOME"),
        ("todos", ".", "contains $HOME"),
        ("todos", "project/file", "which is not a directory"),
        ("history.jsonl", "data/todos", "which is not a file"),
        ("todos", "project/.git/hooks", "at or inside a .claude or .git directory"),
        ("todos", "project/.claude/skills", "at or inside a .claude or .git directory"),
    ],
)
def test_linked_state_that_leads_too_far_is_refused(rig: Rig, name: str, target: str, why: str) -> None:
    for path in ("project/.git/hooks", "project/.claude/skills", "data/todos"):
        rig.directory(rig.folder / path)
    rig.write(rig.folder / "project/file")
    rig.link(f".claude/{name}", rig.folder / target)
    with pytest.raises(Refusal) as refused:
        rig.plan()
    assert f".claude/{name} links to" in str(refused.value)
    assert why in str(refused.value)


def test_a_linked_state_folder_that_holds_home_is_refused(rig: Rig) -> None:
    rig.link(".cache/claude", rig.home)
    with pytest.raises(Refusal, match=r"\.cache/claude links to .* which contains \$HOME"):
        rig.plan()


def test_sockets_in_the_folder_are_left_out(rig: Rig) -> None:
    os.mkfifo(rig.home / ".claude/pipe")
    assert mount_at(rig.plan(), rig.home / ".claude/pipe") is None


# --- .claude in projects --------------------------------------------------------------------------------------------


def test_project_claude_is_read_only_but_for_its_state(rig: Rig) -> None:
    folder = rig.project / ".claude"
    for name in ("worktrees", "agent-memory", "agent-memory-local", "skills"):
        rig.directory(folder / name)
    plan = rig.plan()
    assert access(plan, folder / "settings.json") == ro(folder / "settings.json")
    assert access(plan, folder / "skills/x") == ro(folder / "skills/x")
    for name in ("worktrees", "agent-memory", "agent-memory-local"):
        assert access(plan, folder / name / "x") == rw(folder / name / "x"), name


def test_linked_state_of_a_project_stays_read_only(rig: Rig) -> None:
    target = rig.directory(rig.project / "elsewhere")
    rig.link(rig.project / ".claude/worktrees", target)
    plan = rig.plan()
    assert access(plan, rig.project / ".claude/worktrees") == ro(rig.project / ".claude/worktrees")
    assert access(plan, target / "x") == ro(target / "x")


def test_links_in_project_claude_except_in_its_worktrees(rig: Rig) -> None:
    hook, free = rig.write(rig.project / "scripts/hook.sh"), rig.write(rig.project / "scripts/free.sh")
    rig.link(rig.project / ".claude/hooks/hook.sh", "../../scripts/hook.sh")
    rig.link(rig.project / ".claude/worktrees/w/free.sh", free)
    rig.link(rig.project / ".claude/skills/up", "..")
    plan = rig.plan()
    assert access(plan, hook) == ro(hook)
    assert access(plan, free) == rw(free)


def test_placeholder_claude(rig: Rig) -> None:
    assert str(rig.project / ".claude") in [item.path for item in rig.first_plan().missing]
    assert not (rig.project / ".claude").exists()
    plan = rig.plan()
    assert list((rig.project / ".claude").iterdir()) == []
    assert access(plan, rig.project / ".claude/settings.json") == ro(rig.project / ".claude/settings.json")


def test_claude_that_is_a_plain_file_is_read_only(rig: Rig) -> None:
    path = rig.write(rig.project / ".claude")
    assert access(rig.plan(), path) == ro(path)


@pytest.mark.parametrize("where", [".", "deep/down"])
def test_claude_that_is_a_link_is_refused(rig: Rig, where: str) -> None:
    path = rig.link(rig.project / where / ".claude", rig.directory(rig.folder / "other"))
    with pytest.raises(Refusal) as refused:
        rig.plan()
    assert f"{path.parent.resolve()}/.claude is a symbolic link" in str(refused.value)


def test_markers_at_any_depth_and_ways_to_them(rig: Rig) -> None:
    folder = rig.directory(rig.project / "a/b/c/.claude")
    plan = rig.plan()
    assert access(plan, folder / "settings.json") == ro(folder / "settings.json")
    for path in ("a", "a/b", "a/b/c"):
        pin = mount_at(plan, rig.project / path)
        assert pin is not None
        assert (pin.access, pin.source) == ("rw", str(rig.project / path))
    assert position(plan, rig.project / "a/b/c") < position(plan, folder)


def test_packages_are_not_searched(rig: Rig) -> None:
    rig.directory(rig.project / "node_modules/x/.claude")
    assert mount_at(rig.plan(), rig.project / "node_modules/x/.claude") is None


def test_a_marker_is_protected_under_every_name_of_its_directory(rig: Rig) -> None:
    rig.directory(rig.project / "inner/.claude")
    alias = rig.link(rig.folder / "alias", rig.project / "inner")
    plan = rig.plan(SWITCHBOARD_SANDBOX_BINDS=f"{alias}:{rig.project / 'inner'}")
    for path in (rig.project / "inner", alias):
        assert access(plan, path / ".claude/x") == ro(rig.project / "inner/.claude/x"), path
        assert access(plan, path / "x") == rw(rig.project / "inner/x"), path


# --- .git -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", [".", "deep/down"])
def test_git_config_and_hooks_are_read_only_and_git_is_pinned(rig: Rig, where: str) -> None:
    folder = rig.repository((rig.project / where).resolve())
    plan = rig.plan()
    for name in ("config", "hooks", "hooks/pre-commit"):
        assert access(plan, folder / name) == ro(folder / name), name
    for name in ("index", "objects/x", "refs/heads/main", "HEAD"):
        assert access(plan, folder / name) == rw(folder / name), name
    pin = mount_at(plan, folder)
    assert pin is not None
    assert (pin.access, pin.source) == ("rw", str(folder))
    assert position(plan, folder) < position(plan, folder / "config")


def test_config_worktree_is_read_only_and_made_where_git_would_read_it(rig: Rig) -> None:
    folder = rig.repository(rig.project)
    assert access(rig.plan(), folder / "config.worktree") == rw(folder / "config.worktree")
    rig.git(rig.project, "config", "extensions.worktreeConfig", "true")
    assert access(rig.plan(), folder / "config.worktree") == ro(folder / "config.worktree")
    assert (folder / "config.worktree").read_text() == ""


def test_missing_hooks_dir_is_created(rig: Rig) -> None:
    folder = rig.repository(rig.project)
    for path in (folder / "hooks").iterdir():
        path.unlink()
    (folder / "hooks").rmdir()
    assert str(folder / "hooks") in [item.path for item in rig.first_plan().missing]
    assert access(rig.plan(), folder / "hooks/x") == ro(folder / "hooks/x")


def test_hooks_path_is_read_only_and_created(rig: Rig) -> None:
    rig.repository(rig.project)
    rig.git(rig.project, "config", "core.hooksPath", "tools/hooks")
    assert not (rig.project / "tools").exists()
    plan = rig.plan()
    assert (rig.project / "tools/hooks").is_dir()
    assert access(plan, rig.project / "tools/hooks/pre-commit") == ro(rig.project / "tools/hooks/pre-commit")
    assert mount_at(plan, rig.project / "tools").access == "rw"  # type: ignore[union-attr]  # the pin


@pytest.mark.parametrize("path", ["/dev/null", "/nonexistent/hooks"])
def test_hooks_elsewhere_are_left_alone(rig: Rig, path: str) -> None:
    rig.repository(rig.project)
    rig.git(rig.project, "config", "core.hooksPath", path)
    assert mount_at(rig.plan(), path) is None


def test_hooks_path_behind_a_link_is_refused(rig: Rig) -> None:
    rig.repository(rig.project)
    rig.directory(rig.project / "real")
    link = rig.link(rig.project / "tools", "real")
    rig.git(rig.project, "config", "core.hooksPath", "tools/hooks")
    with pytest.raises(Refusal) as refused:
        rig.plan()
    assert f"{link} is a symbolic link in a directory the sandbox can write" in str(refused.value)
    assert "core.hooksPath" in str(refused.value)


def test_hooks_path_of_the_whole_project_is_refused(rig: Rig) -> None:
    rig.repository(rig.project)
    rig.git(rig.project, "config", "core.hooksPath", ".")
    with pytest.raises(Refusal, match=r"core\.hooksPath: .* contains a directory that the session is to write"):
        rig.plan()


def test_included_settings_are_read_only_and_made_where_git_would_read_them(rig: Rig) -> None:
    rig.repository(rig.project)
    rig.write(rig.project / "there.gitconfig", "[user]\n\tname = x\n")
    rig.git(rig.project, "config", "--add", "include.path", "../there.gitconfig")
    rig.git(rig.project, "config", "--add", "include.path", str(rig.project / "gone.gitconfig"))
    plan = rig.plan()
    for name in ("there.gitconfig", "gone.gitconfig"):
        assert access(plan, rig.project / name) == ro(rig.project / name)
    assert (rig.project / "gone.gitconfig").read_text() == ""


def test_linked_worktree_files_are_read_only(rig: Rig) -> None:
    main = rig.repository(rig.project)
    rig.git(rig.project, "commit", "-q", "--allow-empty", "-m", "x")
    worktree = rig.folder / "worktree"
    rig.git(rig.project, "worktree", "add", "-q", str(worktree))
    plan = rig.plan(worktree, SWITCHBOARD_SANDBOX_BINDS=str(rig.project))
    own = main / "worktrees/worktree"
    assert access(plan, worktree / ".git") == ro(worktree / ".git")
    for path in (own / "commondir", own / "gitdir", main / "config", main / "hooks"):
        assert access(plan, path) == ro(path), path
    for path in (own / "index", own / "HEAD", main / "objects/x"):
        assert access(plan, path) == rw(path), path
    assert not (own / "hooks").exists()
    assert access(plan, worktree / "x") == rw(worktree / "x")


def test_a_linked_worktree_without_its_repository(rig: Rig) -> None:
    rig.repository(rig.project)
    rig.git(rig.project, "commit", "-q", "--allow-empty", "-m", "x")
    worktree = rig.folder / "worktree"
    rig.git(rig.project, "worktree", "add", "-q", str(worktree))
    plan = rig.plan(worktree)
    assert access(plan, worktree / ".git") == ro(worktree / ".git")
    assert access(plan, rig.project)[1] is None


def test_submodules_keep_their_settings_and_hooks(rig: Rig) -> None:
    other = rig.folder / "other"
    rig.repository(other)
    rig.git(other, "commit", "-q", "--allow-empty", "-m", "x")
    main = rig.repository(rig.project)
    rig.git(rig.project, "submodule", "add", "-q", str(other), "vendor/sub")
    plan = rig.plan()
    inner = main / "modules/vendor/sub"
    assert access(plan, rig.project / "vendor/sub/.git") == ro(rig.project / "vendor/sub/.git")
    for name in ("config", "hooks"):
        assert access(plan, inner / name) == ro(inner / name)
    assert access(plan, inner / "index") == rw(inner / "index")


def test_newline_in_a_git_path_is_refused(rig: Rig) -> None:
    rig.repository(rig.project)
    rig.git(rig.project, "config", "core.hooksPath", "hooks\nhere")
    with pytest.raises(Refusal, match="contains a newline"):
        rig.plan()


def test_git_that_is_a_link_is_refused(rig: Rig) -> None:
    rig.repository(rig.folder / "other")
    rig.link(rig.project / ".git", rig.folder / "other/.git")
    with pytest.raises(Refusal, match=r"\.git is a symbolic link"):
        rig.plan()


@pytest.mark.parametrize("name", ["hooks", "config"])
def test_git_hooks_that_are_a_link_are_refused(rig: Rig, name: str) -> None:
    folder = rig.repository(rig.project)
    (folder / name).rename(folder / "moved")
    rig.link(folder / name, "moved")
    with pytest.raises(Refusal, match=rf"\.git/{name} is a symbolic link in a directory the sandbox can write"):
        rig.plan()


@pytest.mark.parametrize("where", [".", "inner"])
def test_a_repository_that_git_cannot_read_is_refused(rig: Rig, where: str) -> None:
    folder = rig.repository((rig.project / where).resolve())
    (folder / "HEAD").unlink()
    with pytest.raises(Refusal, match=f"git cannot read the repository at {folder.parent}"):
        rig.plan()


def test_a_broken_git_file_somewhere_below_is_kept_as_it_is(rig: Rig) -> None:
    path = rig.write(rig.project / "vendor/.git", "gitdir: /nowhere\n")
    assert access(rig.plan(), path) == ro(path)


def test_a_repository_that_reads_settings_from_elsewhere_is_refused(rig: Rig) -> None:
    """A session can make this file, and git would obey other settings from then on."""
    folder = rig.repository(rig.project)
    shutil.copytree(folder, rig.project / "evil")
    rig.write(folder / "commondir", "../evil\n")
    with pytest.raises(Refusal, match=r"\.git/commondir makes git read settings from elsewhere"):
        rig.plan()


def test_variables_that_point_git_elsewhere_are_not_asked(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.repository(rig.project)
    rig.git(rig.project, "config", "core.hooksPath", "mine")
    other = rig.repository(rig.folder / "other")
    monkeypatch.setenv("GIT_DIR", str(other))
    monkeypatch.setenv("GIT_COMMON_DIR", str(other))
    monkeypatch.setenv("GIT_CONFIG", str(other / "config"))
    assert access(rig.plan(), rig.project / "mine") == ro(rig.project / "mine")


def test_hooks_of_ones_home_settings_are_kept_too(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.repository(rig.project)
    hooks = rig.directory(rig.project / "global-hooks")
    rig.write(".gitconfig", f"[core]\n\thooksPath = {hooks}\n")
    monkeypatch.setenv("HOME", str(rig.home))
    assert access(rig.plan(), hooks) == ro(hooks)


# --- programs -------------------------------------------------------------------------------------------------------


def test_the_directory_of_the_program_is_read_only(rig: Rig) -> None:
    plan = rig.plan()
    assert plan.command == (str(rig.claude),)
    assert access(plan, rig.programs / "x") == ro(rig.programs / "x")


def test_a_program_in_its_own_state_stays_what_it_is(rig: Rig) -> None:
    rig.claude.unlink()
    version = rig.program(rig.home / ".local/share/claude/versions/1.2.3", "#!/bin/bash\n")
    rig.link(rig.claude, version)
    plan = rig.plan()
    assert plan.command == (str(version),)
    assert access(plan, version) == ro(version)
    assert access(plan, version.parent / "1.2.4") == rw(version.parent / "1.2.4")
    assert mount_at(plan, version.parent).access == "rw"  # type: ignore[union-attr]  # the pin


def test_a_program_in_the_project_is_kept(rig: Rig) -> None:
    program = rig.program(rig.project / "node_modules/.bin/claude", "#!/bin/bash\n")
    plan = rig.plan(SWITCHBOARD_CLAUDE=str(program))
    assert access(plan, program) == ro(program)
    assert mount_at(plan, rig.project / "node_modules").access == "rw"  # type: ignore[union-attr]  # the pin


@pytest.mark.parametrize("where", ["home", "project"])
def test_a_program_right_in_a_large_directory_is_shown_alone(rig: Rig, where: str) -> None:
    program = rig.program(rig.folder / where / "claude", "#!/bin/bash\n")
    plan = rig.plan(SWITCHBOARD_CLAUDE=str(program))
    assert access(plan, program) == ro(program)
    assert access(plan, rig.home / "secret")[1] is None
    assert access(plan, rig.project / "x") == rw(rig.project / "x")


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ("", "claude not found in PATH"),
        ("other-claude", "other-claude not found in PATH"),
        ("./plain", "resolved claude is not an executable file"),
        ("/nonexistent", "resolved claude is not an executable file"),
        (".", "not found in PATH"),
        ("./", "resolved claude is not an executable file"),
    ],
)
def test_no_program(rig: Rig, named: str, why: str) -> None:
    rig.claude.unlink()
    rig.write(rig.project / "plain")
    with pytest.raises(Refusal, match=why):
        rig.plan(SWITCHBOARD_CLAUDE=named, PATH=str(rig.programs))


def test_the_interpreter_of_a_script_and_node_are_shown(rig: Rig) -> None:
    tool = rig.program(rig.folder / "tools/bin/node", "#!/bin/sh\n")
    rig.program(rig.claude, f"#!{tool} --flag\n")
    assert access(rig.plan(), tool) == ro(tool)
    rig.program(rig.claude, "#!/usr/bin/env -S node --flag\n")
    path = f"{rig.programs}:{tool.parent}:/usr/bin:/bin"
    assert access(rig.plan(PATH=path), tool) == ro(tool)


def test_each_link_on_the_way_to_a_program_is_there_inside(rig: Rig) -> None:
    real = rig.program(rig.folder / "opt/node-20/bin/node", "#!/bin/sh\n")
    rig.link(rig.folder / "opt/node", "node-20")
    shim = rig.link(rig.folder / "shims/node", rig.folder / "opt/node/bin/node")
    plan = rig.plan(PATH=f"{rig.programs}:{shim.parent}:/usr/bin:/bin")
    assert access(plan, shim) == ro(shim)
    assert access(plan, rig.folder / "opt/node/bin/node") == ro(real)
    assert access(plan, real) == ro(real)


def test_missing_shebang_interpreter_is_reported(rig: Rig) -> None:
    rig.program(rig.claude, "#!/nonexistent/node\n")
    assert [text for text in rig.plan().warnings if "/nonexistent/node" in text and "not found" in text]


def test_nvm_is_read_only(rig: Rig) -> None:
    usual, own = rig.directory(".nvm"), rig.directory("my-nvm")
    assert access(rig.plan(), usual) == ro(usual)
    plan = rig.plan(NVM_DIR=str(own))
    assert access(plan, own) == ro(own)
    assert access(plan, usual)[1] is None


# --- the machine ----------------------------------------------------------------------------------------------------


def test_flags(rig: Rig) -> None:
    options, _ = rig.plan().options()
    assert options[:3] == ["--unshare-all", "--share-net", "--die-with-parent"]
    assert options[-5:] == ["--chdir", str(rig.project), "--setenv", "SHELL", "/bin/bash"]
    assert "--new-session" not in options
    assert "--clearenv" not in options


def test_the_machine_is_read_only_and_the_rest_is_not_there(rig: Rig) -> None:
    plan = rig.plan()
    assert access(plan, "/usr/bin/env") == ("ro", "/usr/bin/env")
    assert access(plan, "/etc/passwd") == ("ro", "/etc/passwd")
    assert access(plan, "/tmp/x") == EMPTY
    assert access(plan, "/var/lib") == EMPTY
    assert access(plan, rig.home / "secret")[1] is None
    for path in ("/root", "/home", "/opt", "/run", "/sys"):
        assert access(plan, path)[1] is None, path


def test_mounts_are_ordered_shallow_first(rig: Rig) -> None:
    rig.repository(rig.project)
    plan = rig.plan()
    assert list(plan.mounts) == ordered(plan.mounts)
    depths = [mount.destination.count("/") for mount in plan.mounts]
    assert depths == sorted(depths)


# --- the host's control directories ---------------------------------------------------------------------------------


def test_control_directory_in_the_project_is_read_only(rig: Rig) -> None:
    triggers = rig.directory(rig.project / "my triggers")
    rig.directory(triggers / "processed")
    plan = rig.plan(SWITCHBOARD_TRIGGERS_DIR=str(triggers))
    assert access(plan, triggers / "x.json") == ro(triggers / "x.json")
    assert access(plan, triggers / "processed/x") == ro(triggers / "processed/x")
    assert access(plan, rig.project / "x") == rw(rig.project / "x")


def test_missing_control_directory_in_the_project_is_refused(rig: Rig) -> None:
    with pytest.raises(Refusal, match=r"cannot protect the control directory '.*/triggers'"):
        rig.plan(SWITCHBOARD_TRIGGERS_DIR=str(rig.project / "triggers"))


def test_cwd_at_or_below_a_control_directory_is_refused(rig: Rig) -> None:
    below = rig.directory(rig.folder / "triggers/processed")
    with pytest.raises(Refusal, match="the control directory"):
        rig.plan(below, SWITCHBOARD_TRIGGERS_DIR=str(below.parent))


def test_data_directory_in_the_project_is_not_visible(rig: Rig) -> None:
    data = rig.directory(rig.project / "data")
    rig.directory(data / "run")
    plan = rig.plan(SWITCHBOARD_DATA_DIR=str(data))
    assert access(plan, data / "switchboard.db") == EMPTY


def test_control_directories_are_protected_in_every_plan_that_is_built(rig: Rig) -> None:
    triggers = rig.directory(rig.project / "triggers")
    rig.directory(triggers / "processed")
    first = rig.first_plan(SWITCHBOARD_TRIGGERS_DIR=str(triggers))
    assert first.missing
    assert access(first, triggers) == ro(triggers)
    triggers.rename(rig.project / "moved")
    with pytest.raises(Refusal, match="control directory"):
        rig.first_plan(SWITCHBOARD_TRIGGERS_DIR=str(triggers))


def test_transcripts_are_not_searched_for_links(rig: Rig) -> None:
    """There are many, and nobody obeys them."""
    rig.link(".claude/projects/-other/link", rig.write(rig.project / "file"))
    assert access(rig.plan(), rig.project / "file") == rw(rig.project / "file")


# --- what would keep the start waiting ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["HEAD", "config", "config.worktree", "commondir", "gitdir", "packed-refs"])
@pytest.mark.parametrize("where", ["", "deep/nested"])
def test_a_pipe_where_git_reads(rig: Rig, where: str, name: str) -> None:
    marker = rig.repository(rig.project / where)
    (marker / name).unlink(missing_ok=True)
    os.mkfifo(marker / name)
    with pytest.raises(Refusal, match=f"{marker}/{name} is neither a file nor a directory"):
        rig.plan()


def test_a_pipe_as_a_git(rig: Rig) -> None:
    os.mkfifo(rig.directory(rig.project / "nested") / ".git")
    with pytest.raises(Refusal, match=r"nested/\.git is neither a file nor a directory"):
        rig.plan()


def test_a_pipe_that_a_git_file_leads_to(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "SECONDS", 0.3)
    rig.write(rig.project / "nested/.git", "gitdir: ../planted\n")
    planted = rig.repository(rig.folder / "elsewhere")
    shutil.move(planted, rig.project / "planted")
    (rig.project / "planted/config").unlink()
    os.mkfifo(rig.project / "planted/config")
    with pytest.raises(
        Refusal, match=r"git did not end within 0 seconds, asked about the repository there: '.*nested/\.git'"
    ):
        rig.plan()


def test_a_pipe_as_the_settings_to_be_copied(rig: Rig) -> None:
    os.mkfifo(rig.home / ".claude.json")
    with pytest.raises(Refusal, match=r"\.claude\.json cannot be read \(not a regular file\)"):
        rig.plan()
