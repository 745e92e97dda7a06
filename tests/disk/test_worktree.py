"""What git itself says of a repository, and what holdfast reads in its files, are the same; and no
repository, however it was made, holds up a hook."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast.disk import worktree
from holdfast.disk.worktree import find, log_size, made_since, real

SRC = Path(worktree.__file__).parents[2]
#: Nothing of the machine's own git configuration, and nothing of the repository this may run in.
ENVIRON = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "LC_ALL": "C.UTF-8",
}
AS_SOMEONE = (
    "-c user.name=someone -c user.email=someone@example.com -c init.defaultBranch=main "
    "-c protocol.file.allow=always -c advice.detachedHead=false"
).split()


def git(folder: Path, *arguments: str | bytes, check: bool = True) -> str:
    done = subprocess.run(
        ["git", *AS_SOMEONE, *arguments],
        cwd=folder,
        env=ENVIRON,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0 or not check, done.stderr
    return os.fsdecode(done.stdout).removesuffix("\n") if done.returncode == 0 else ""


def told(folder: Path) -> tuple[str, str, str, str] | None:
    """Where git says it is: (root, common, branch, commit)."""
    root = git(folder, "rev-parse", "--show-toplevel", check=False)
    if not root:
        return None
    common = os.path.realpath(folder / git(folder, "rev-parse", "--git-common-dir"))
    branch = git(folder, "symbolic-ref", "--short", "HEAD", check=False)
    commit = git(folder, "rev-parse", "--verify", "--quiet", "HEAD", check=False)
    return os.path.realpath(root), common, branch, commit


def read(folder: Path | str) -> tuple[str, str, str, str] | None:
    found = find(str(folder))
    return found and (found.root, found.common, found.branch, found.commit)


def is_as_git_says(folder: Path) -> bool:
    """Compared where it fails, so that pytest shows both."""
    assert read(folder) == told(folder)
    return told(folder) is not None


def empty(folder: Path, *arguments: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", *arguments)
    return folder


def commit(repo: Path, name: str = "a.txt", text: str = "a\n") -> str:
    (repo / name).write_text(text)
    git(repo, "add", name)
    git(repo, "commit", "-m", text)
    return git(repo, "rev-parse", "HEAD")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    made = empty(tmp_path / "repo")
    commit(made)
    return made


# Where a project may stand


def test_a_repository_without_commits_has_a_branch_and_no_commit(tmp_path: Path) -> None:
    repo = empty(tmp_path / "repo", "-b", "trunk")
    assert is_as_git_says(repo)
    assert read(repo) == (str(repo), f"{repo}/.git", "trunk", "")


def test_a_commit_is_found_on_its_branch(repo: Path) -> None:
    first = git(repo, "rev-parse", "HEAD")
    assert len(first) == 40
    assert is_as_git_says(repo)
    assert read(repo) == (str(repo), f"{repo}/.git", "main", first)


def test_a_detached_head_has_no_branch(repo: Path) -> None:
    git(repo, "checkout", "--detach")
    assert is_as_git_says(repo)
    assert read(repo)[2] == ""


def test_an_id_in_capitals_is_the_same_id(repo: Path) -> None:
    (repo / ".git/HEAD").write_text(git(repo, "rev-parse", "HEAD").upper() + "\n")
    assert is_as_git_says(repo)
    assert read(repo)[3]


def test_an_orphan_branch_has_no_commit_even_if_others_are_packed(repo: Path) -> None:
    git(repo, "pack-refs", "--all")
    git(repo, "checkout", "--orphan", "fresh")
    assert is_as_git_says(repo)
    assert read(repo)[2:] == ("fresh", "")


def made(folder: Path, known: str, logged: int = 0) -> list[tuple[str, str]] | None:
    tree = find(str(folder))
    assert tree
    return made_since(tree, known, logged)


def test_commits_are_told_that_were_made_here_since_one(repo: Path, tmp_path: Path) -> None:
    start = git(repo, "rev-parse", "HEAD")
    elsewhere = tmp_path / "elsewhere"
    git(repo, "worktree", "add", str(elsewhere))
    commit(repo, text="first\n")
    git(repo, "checkout", "-b", "other", start)
    git(repo, "commit", "--allow-empty", "-m", "on the other")
    other = git(repo, "rev-parse", "HEAD")
    git(repo, "rebase", "main")
    rebased = git(repo, "rev-parse", "HEAD")
    assert made(repo, start) == [(other, "other"), (rebased, "other")]
    git(repo, "merge", "--no-ff", "-m", "merged", commit(elsewhere, "b.txt"))
    git(repo, "commit", "--amend", "-m", "said otherwise")
    amended = git(repo, "rev-parse", "HEAD")
    assert made(repo, rebased) == [(amended, "other")]
    assert made(repo, start) == [(other, "other"), (amended, "other")]
    assert made(elsewhere, start) == [(git(elsewhere, "rev-parse", "HEAD"), "elsewhere")]
    assert made(repo, amended) == []
    assert made(elsewhere, other) is None


def test_commits_are_told_with_the_branch_they_were_made_on_also_if_that_was_left(repo: Path) -> None:
    git(repo, "branch", "older")
    start, tree = commit(repo, text="first\n"), find(str(repo))
    assert tree
    logged = log_size(tree)
    git(repo, "checkout", "-b", "weir/büro")
    there = commit(repo, text="second\n")
    git(repo, "checkout", "--detach")
    nowhere = commit(repo, text="third\n")
    git(repo, "checkout", "main")
    assert made(repo, start, logged) == [(there, "weir/büro"), (nowhere, "")]
    assert made(repo, start) == []  # without it: the log went there twice
    git(repo, "checkout", "older")  # nobody has made anything there
    assert made(repo, start, logged) == [(there, "weir/büro"), (nowhere, "")]
    git(repo, "merge", "main")
    git(repo, "checkout", "-b", "newer")  # the same commit
    assert made(repo, start, logged) == [(there, "weir/büro"), (nowhere, ""), (start, "older")]
    git(repo, "reset", "--hard", there)
    assert made(repo, start, logged) == [(there, "weir/büro"), (nowhere, "")]
    assert made(repo, start, logged - 1) == []  # no line ends there


def test_a_log_of_commits_is_read_in_bounds_and_not_believed(repo: Path) -> None:
    log = repo / ".git/logs/HEAD"
    known, wrong = "a" * 40, ("--output=/tmp/x", "f" * 39, "g" * 40, "")
    ids = [f"{number:040x}" for number in range(20)]
    log.write_text("".join(f"{known} {new} a\tcommit: b\n" for new in (known, *wrong, *ids)))
    assert made(repo, known) == [(one, "main") for one in ids[-16:]]
    log.write_text(f"{known} {known} a\tcommit: b\n{known} {ids[0]} a\tcheckout: moving from a\x1bb to c\n")
    assert made(repo, known) == []
    log.write_text(f"{known} {known} a\tcommit: b\n" + f"{known} {ids[0]} a\tcommit: {'x' * 999}\n" * 999)
    assert made(repo, known) is None
    assert made(repo, known, log.stat().st_size) is None
    log.unlink()
    assert made(repo, known) is None
    os.mkfifo(log)
    assert made(repo, known) is None


@pytest.mark.parametrize("packing", [("pack-refs", "--all"), ("gc", "--quiet")])
def test_packed_refs_are_read_until_a_loose_one_is_newer(repo: Path, packing: tuple[str, ...]) -> None:
    git(repo, "tag", "-m", "one", "v1")  # an annotated tag: packed with a line of its own for the commit
    git(repo, *packing)
    assert not (repo / ".git/refs/heads/main").exists()
    assert is_as_git_says(repo)
    assert read(repo)[3] == git(repo, "rev-parse", "HEAD")
    commit(repo, text="b\n")
    assert is_as_git_says(repo)


def test_a_packed_branch_is_not_taken_for_one_whose_name_it_ends_or_begins(repo: Path) -> None:
    for name in ("feature/main", "main2", "mai"):
        git(repo, "checkout", "-b", name)
        commit(repo, text=name)
    git(repo, "checkout", "main")
    git(repo, "pack-refs", "--all")
    assert is_as_git_says(repo)


def test_a_folder_left_by_a_packed_branch_does_not_hide_the_branch_of_its_name(repo: Path) -> None:
    git(repo, "checkout", "-b", "topic")
    git(repo, "pack-refs", "--all")
    (repo / ".git/refs/heads/topic/old").mkdir(parents=True)
    assert is_as_git_says(repo)
    assert read(repo)[3]


def test_a_branch_is_found_among_twenty_thousand_packed(repo: Path) -> None:
    head = git(repo, "rev-parse", "HEAD")
    other = commit(repo, text="b\n")
    lines = [f"{other} refs/heads/branch/{number:05}" for number in range(20_000)]
    lines += [f"{head} refs/heads/main", f"{other} refs/heads/z"]
    header = "# pack-refs with: peeled fully-peeled sorted \n"
    (repo / ".git/packed-refs").write_text(header + "\n".join(lines) + "\n")
    (repo / ".git/refs/heads/main").unlink()
    assert is_as_git_says(repo)
    assert read(repo)[3] == head
    git(repo, "symbolic-ref", "HEAD", "refs/heads/branch/19999")
    assert is_as_git_says(repo)
    assert read(repo)[3] == other


def test_a_line_cut_by_the_end_of_a_piece_is_still_found(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = git(repo, "rev-parse", "HEAD")
    for number in range(5):
        git(repo, "branch", f"branch{number}")
    git(repo, "pack-refs", "--all")
    monkeypatch.setattr(worktree, "_MOST_PIECES", 10_000)
    for piece in range(1, 130):
        monkeypatch.setattr(worktree, "_PIECE", piece)
        assert read(repo)[3] == head, piece


def test_what_lies_beyond_the_bound_of_packed_refs_is_unknown(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(repo, "pack-refs", "--all")
    monkeypatch.setattr(worktree, "_PIECE", 16)
    monkeypatch.setattr(worktree, "_MOST_PIECES", 2)
    assert read(repo)[2:] == ("main", "")


@pytest.mark.parametrize("relative", [False, True])
def test_a_linked_worktree_has_its_own_head_and_the_shared_refs(
    repo: Path, tmp_path: Path, relative: bool
) -> None:
    linked = tmp_path / "elsewhere/linked"
    git(repo, "worktree", "add", "-b", "side", str(linked))
    if relative:
        (linked / ".git").write_text("gitdir: ../../repo/.git/worktrees/linked\n")
    commit(linked, text="side\n")
    (linked / "deep/er").mkdir(parents=True)
    for folder in (linked, linked / "deep/er", repo):
        assert is_as_git_says(folder)
    assert read(linked)[:3] == (str(linked), f"{repo}/.git", "side")
    git(repo, "pack-refs", "--all")
    assert is_as_git_says(linked)
    git(linked, "checkout", "--detach")
    assert is_as_git_says(linked)
    assert read(repo)[2] == "main"


def test_a_linked_worktree_of_a_bare_repository_is_one(repo: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "--bare", str(repo), str(bare))
    git(bare, "worktree", "add", str(tmp_path / "linked"), "main")
    assert is_as_git_says(tmp_path / "linked")
    assert read(tmp_path / "linked")[1] == str(bare)


def test_refs_of_one_worktree_are_read_in_that_worktree(repo: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    git(repo, "worktree", "add", "--detach", str(linked))
    second = commit(linked, text="b\n")
    for folder, kept in ((repo, "HEAD"), (linked, second)):
        git(folder, "update-ref", "refs/worktree/kept", kept)
        git(folder, "symbolic-ref", "HEAD", "refs/worktree/kept")
    for folder in (repo, linked):
        # Not a branch, though git has a short name for it.
        assert read(folder)[2:] == ("", git(folder, "rev-parse", "HEAD"))
    assert read(linked)[3] == second != read(repo)[3]


def test_a_submodule_is_a_project_of_its_own(repo: Path, tmp_path: Path) -> None:
    other = empty(tmp_path / "other")
    commit(other, text="other\n")
    git(repo, "submodule", "add", str(other), "parts/sub")
    git(repo, "commit", "-m", "with a part")
    sub = repo / "parts/sub"
    assert (sub / ".git").is_file()
    for folder in (sub, repo / "parts"):
        assert is_as_git_says(folder)
    assert read(sub)[1] == f"{repo}/.git/modules/parts/sub"
    git(sub, "checkout", "--detach")
    assert is_as_git_says(sub)


def test_a_repository_in_a_repository_is_the_nearer_one(repo: Path) -> None:
    inner = empty(repo / "vendor/inner", "-b", "inner")
    commit(inner, text="inner\n")
    for folder in (inner, repo / "vendor"):
        assert is_as_git_says(folder)
    assert read(inner)[2] == "inner"
    assert read(repo / "vendor")[2] == "main"


def test_a_git_folder_that_is_no_repository_is_passed_by(repo: Path) -> None:
    (repo / "half/.git/objects").mkdir(parents=True)
    assert is_as_git_says(repo / "half")
    assert read(repo / "half")[0] == str(repo)


def test_a_folder_deep_below_finds_its_top(repo: Path) -> None:
    deep = repo.joinpath(*(f"level {n}" for n in range(60)))
    deep.mkdir(parents=True)
    assert is_as_git_says(deep)


def test_a_path_through_symbolic_links_is_answered_with_the_real_one(repo: Path, tmp_path: Path) -> None:
    (repo / "sub").mkdir()
    (tmp_path / "links").mkdir()
    (tmp_path / "links/absolute").symlink_to(repo / "sub")
    (tmp_path / "links/relative").symlink_to("../repo/./sub//")
    (tmp_path / "links/twice").symlink_to("relative/..")
    for name in ("absolute", "relative", "twice", "twice/sub", "absolute/.."):
        assert is_as_git_says(tmp_path / "links" / name)
        assert read(tmp_path / "links" / name)[0] == str(repo)


def test_a_path_that_cannot_be_followed_stays_as_it_was_given(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "link").symlink_to(".")
    assert real(f"{tmp_path}/link/./link") == str(tmp_path)
    assert real("//../") == "/"
    for path in ("", "here", f"{tmp_path}/loop", f"{tmp_path}/missing", "/nul\0"):
        assert real(path) == path


def test_a_git_folder_may_be_a_symbolic_link(repo: Path, tmp_path: Path) -> None:
    (repo / ".git").rename(tmp_path / "kept.git")
    (repo / ".git").symlink_to("../kept.git")
    assert is_as_git_says(repo)
    assert read(repo)[:2] == (str(repo), str(tmp_path / "kept.git"))


def test_a_separate_git_folder_is_followed(tmp_path: Path) -> None:
    repo = empty(tmp_path / "repo", "--separate-git-dir", str(tmp_path / "kept"))
    commit(repo)
    assert is_as_git_says(repo)
    assert read(repo)[1] == str(tmp_path / "kept")


def test_a_bare_repository_and_the_inside_of_git_are_no_working_tree(repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--bare", str(repo), str(repo / "nested.git"))
    git(tmp_path, "clone", "--bare", str(repo), str(tmp_path / "bare.git"))
    for folder in (repo / "nested.git/refs", tmp_path / "bare.git", repo / ".git", repo / ".git/objects"):
        assert told(folder) is None
        assert read(folder) is None


def test_outside_of_any_repository_there_is_none(tmp_path: Path) -> None:
    for folder in (tmp_path, Path("/"), tmp_path / "missing"):
        assert read(folder) is None


@pytest.mark.parametrize(
    "folder", ["", ".", "repo", "/nul\0/x", "/lone/\ud800", "/" + "x" * 5000, "/a" * 5000]
)
def test_what_is_no_absolute_path_is_nowhere(
    folder: str, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repo)
    assert read(folder) is None
    assert read(str(repo)[1:]) is None  # nor is it taken as one from the root


def test_the_environment_of_git_is_not_asked(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = empty(tmp_path / "other", "-b", "other")
    before = read(repo)
    for name in ("GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE"):
        monkeypatch.setenv(name, str(other / ".git"))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(repo))
    assert read(repo) == before


def test_it_answers_in_a_folder_that_is_gone(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert read(repo)[2] == "main"


# In the middle of something


def diverged(repo: Path) -> None:
    git(repo, "checkout", "-b", "side")
    commit(repo, text="side\n")
    git(repo, "checkout", "main")
    commit(repo, text="main\n")


def test_during_a_conflicting_merge_the_branch_stays(repo: Path) -> None:
    diverged(repo)
    git(repo, "merge", "side", check=False)
    assert (repo / ".git/MERGE_HEAD").exists()
    assert is_as_git_says(repo)
    assert read(repo)[2] == "main"


def test_during_a_rebase_head_is_detached(repo: Path) -> None:
    diverged(repo)
    git(repo, "rebase", "side", check=False)
    assert (repo / ".git/rebase-merge").exists()
    assert is_as_git_says(repo)
    assert read(repo)[2:] == ("", git(repo, "rev-parse", "side"))
    git(repo, "rebase", "--abort")
    assert is_as_git_says(repo)


def test_during_a_bisection_head_is_detached(repo: Path) -> None:
    first = git(repo, "rev-parse", "HEAD")
    for text in "bcde":
        last = commit(repo, text=text)
    git(repo, "bisect", "start", last, first)
    assert is_as_git_says(repo)
    assert read(repo)[2] == ""


# Names


def test_a_tag_of_the_same_name_is_not_the_branch(repo: Path) -> None:
    git(repo, "tag", "main")
    second = commit(repo, text="b\n")
    for _ in ("loose", "packed"):
        # `symbolic-ref --short` now says heads/main, to be exact; the branch is still called main.
        assert read(repo)[2:] == (git(repo, "branch", "--show-current"), second) == ("main", second)
        git(repo, "pack-refs", "--all")


@pytest.mark.parametrize(
    "name",
    [
        "feature/JIRA-12/fix",
        "ümläut/日本語-🚢",
        "it's-a;$(touch${IFS}x)&|<b>`\"%s{}!#=+,",
        "-".join(["long"] * 40),
        "x" * 200,
        "/".join(["y" * 100] * 5),
        "HEAD",
        "refs/heads/main",
        "a.b",
        "wide\u3000",
        "family-\U0001f469\u200d\U0001f680",
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_an_odd_name_is_the_one_git_says(repo: Path, name: str, packed: bool) -> None:
    git(repo, "update-ref", f"refs/heads/{name}", "HEAD")
    git(repo, "symbolic-ref", "HEAD", f"refs/heads/{name}")
    if packed:
        git(repo, "pack-refs", "--all")
    assert read(repo)[2:] == (name, git(repo, "rev-parse", f"refs/heads/{name}"))
    assert git(repo, "branch", "--show-current") == name


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"caf\xe9", "caf\ufffd"),
        ("a\u2028b".encode(), ""),
        ("a\x85b".encode(), ""),
        ("a\u202eb".encode(), ""),
        ("a\u2066b".encode(), ""),
    ],
)
def test_a_name_that_cannot_be_shown_does_not_hide_the_commit(
    repo: Path, name: bytes, shown: str, packed: bool
) -> None:
    git(repo, "update-ref", b"refs/heads/" + name, "HEAD")
    git(repo, "symbolic-ref", "HEAD", b"refs/heads/" + name)
    if packed:
        git(repo, "pack-refs", "--all")
    assert read(repo)[2:] == (shown, git(repo, "rev-parse", "HEAD"))


def test_a_chain_of_symbolic_refs_is_followed_as_far_as_git_does(repo: Path) -> None:
    for number in range(1, 6):
        git(repo, "symbolic-ref", f"refs/heads/link{number}", f"refs/heads/link{number - 1}")
    git(repo, "symbolic-ref", "refs/heads/link0", "refs/heads/main")
    for number in range(6):
        (repo / ".git/HEAD").write_text(f"ref: refs/heads/link{number}\n")
        is_as_git_says(repo)
        assert read(repo)[2] == ("main" if number <= 2 else "")


def test_a_ring_of_symbolic_refs_ends(repo: Path) -> None:
    (repo / ".git/refs/heads/main").write_text("ref: refs/heads/other\n")
    (repo / ".git/refs/heads/other").write_text("ref: refs/heads/main\n")
    assert read(repo)[2:] == ("", "")


def test_refs_that_are_symbolic_links_are_read_as_old_git_wrote_them(repo: Path) -> None:
    (repo / ".git/HEAD").unlink()
    (repo / ".git/HEAD").symlink_to("refs/heads/main")
    assert is_as_git_says(repo)
    assert read(repo)[2] == "main"


# Other formats


def test_a_sha256_repository_has_longer_ids(tmp_path: Path) -> None:
    repo = empty(tmp_path / "repo", "--object-format=sha256")
    assert len(commit(repo)) == 64
    assert is_as_git_says(repo)
    git(repo, "pack-refs", "--all")
    assert is_as_git_says(repo)
    git(repo, "checkout", "--detach")
    assert is_as_git_says(repo)


def test_a_reftable_tells_the_place_but_neither_branch_nor_commit(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    made = subprocess.run(
        ["git", *AS_SOMEONE, "init", "--ref-format=reftable"],
        cwd=tmp_path / "repo",
        env=ENVIRON,
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip("the installed git knows no reftable (2.45 and later do)")
    commit(tmp_path / "repo")
    assert read(tmp_path / "repo") == (str(tmp_path / "repo"), f"{tmp_path}/repo/.git", "", "")


def test_the_head_of_a_reftable_says_nothing(repo: Path) -> None:
    """The same without such a git: the files as `git init --ref-format=reftable` of 2.45 leaves them."""
    (repo / ".git/HEAD").write_text("ref: refs/heads/.invalid\n")
    (repo / ".git/refs/heads/main").unlink()
    (repo / ".git/refs/heads").rmdir()
    (repo / ".git/refs/heads").write_text("this repository uses the reftable format\n")
    assert read(repo) == (str(repo), f"{repo}/.git", "", "")


# Damaged and hostile


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\0" * 41,
        b"ref:",
        b"ref: ",
        b"ref: refs/",
        b"ref: refs/heads/",
        b"ref: main\n",
        b"ref: HEAD\n",
        b"ref: /etc/passwd\n",
        b"ref: refs/../../outside\n",
        b"ref: refs/heads/../../../outside\n",
        b"ref: refs/heads//main\n",
        b"ref: refs/heads/main/\n",
        b"ref: refs/heads/a\nb\n",
        b"ref: refs/heads/a\0b\n",
        b"ref: refs/heads/\x1b[31mred\n",
        b"ref: refs/heads/a\rb\n",
        b"ref: refs/heads/\x7f\n",
        b"a" * 39,
        b"a" * 41,
        b"g" * 40,
        b"0x" + b"a" * 38,
        "\uff11".encode() * 40,  # a digit, but not one of ours
        b"a" * 40 + b"b" * 100_000,
        b"ref: refs/heads/" + b"x" * 5000,
    ],
)
def test_a_head_that_makes_no_sense_says_nothing(repo: Path, head: bytes) -> None:
    (repo.parent / "outside").write_text("f" * 40 + "\n")
    (repo / ".git/HEAD").write_bytes(head)
    assert read(repo) == (str(repo), f"{repo}/.git", "", "")


@pytest.mark.parametrize(
    "content", ["", "\n", "f" * 39, "f" * 64 + "f", "main", "f" * 5000, "ref: ../../x"]
)
def test_a_damaged_ref_is_not_replaced_by_an_older_packed_one(repo: Path, content: str) -> None:
    git(repo, "pack-refs", "--all")
    (repo / ".git/refs/heads/main").write_text(content)
    assert read(repo)[3] == ""


@pytest.mark.parametrize("line", ["", "^" + "f" * 40, "#", "f" * 41, "g" * 40, "\x1b" * 40])
def test_a_damaged_line_of_packed_refs_holds_no_commit(repo: Path, line: str) -> None:
    (repo / ".git/refs/heads/main").unlink()
    (repo / ".git/packed-refs").write_text(f"# pack-refs with: sorted\n{line} refs/heads/main\n")
    assert read(repo)[2:] == ("main", "")


def put(path: Path, what: str) -> None:
    """Something that is not what git would have put there."""
    if path.is_dir() and not path.is_symlink():
        path.rename(path.with_name("before"))
    path.unlink(missing_ok=True)
    if what == "fifo":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    elif what == "huge":
        with path.open("wb") as file:
            file.truncate(100 << 20)
    elif what == "binary":
        path.write_bytes(bytes(range(256)) * 8)
    else:
        path.symlink_to({"loop": path.name, "secret": path.parent / "secret"}.get(what, what))


#: /proc/self/pagemap is a regular file that says it is empty and gives hundreds of gigabytes.
STRANGE = (
    "fifo folder huge binary loop /nowhere /dev/zero /dev/tty /proc/self/pagemap /proc/self/mem".split()
)


@pytest.mark.parametrize("what", [*STRANGE, "secret"])
@pytest.mark.parametrize(
    ("place", "allowed"),
    [
        (".git", ("nothing",)),
        (".git/HEAD", ("place",)),
        (".git/commondir", ("nothing", "all")),
        (".git/objects", ("nothing", "all")),
        (".git/refs", ("nothing", "all")),
        (".git/refs/heads", ("branch", "all")),
        (".git/refs/heads/main", ("branch", "all")),
        (".git/packed-refs", ("branch",)),
    ],
)
def test_nothing_in_the_place_of_a_file_of_git_holds_up_or_misleads_a_hook(
    repo: Path, place: str, allowed: tuple[str, ...], what: str
) -> None:
    root, common, branch, head = read(repo)
    answers = {
        "nothing": None,
        "place": (root, common, "", ""),
        "branch": (root, common, branch, ""),
        "all": (root, common, branch, head),
    }
    git(repo, "pack-refs", "--all")
    (repo / place).parent.joinpath("secret").write_text("f" * 40 + "\n")
    put(repo / place, what)
    began = time.perf_counter()
    found = read(repo)
    assert time.perf_counter() - began < 1
    assert found in [answers[name] for name in allowed]


def test_a_ref_is_not_followed_out_of_the_repository(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("f" * 40 + "\n")
    ref = repo / ".git/refs/heads/main"
    ref.unlink()
    ref.symlink_to(tmp_path / "outside")
    assert git(repo, "rev-parse", "HEAD") == "f" * 40  # git would
    assert read(repo)[2:] == ("main", "")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"gitdir: ",
        b"gitdir:",
        b"gitdir: .",
        b"gitdir: .git",
        b"gitdir: /nowhere",
        b"gitdir: /dev/zero",
        b"gitdir: /proc/self/fd/0",
        b"gitdir: loop",
        b"gitdir: " + b"../" * 1000 + b"dev/zero",
        b"gitdir: " + b"x/" * 5000,
        b"gitdir: \0",
        b"gitdir: \xff\xfe",
        b"worktree: ../repo/.git",
        b"\0" * 4096,
    ],
)
def test_a_git_file_that_leads_nowhere_ends_the_search(repo: Path, content: bytes) -> None:
    """As it does for git: the repository around it is another project."""
    inner = repo / "inner"
    inner.mkdir()
    (inner / "loop").symlink_to("loop")
    (inner / ".git").write_bytes(content)
    assert read(inner) is None
    assert told(inner) is None


def test_a_worktree_whose_repository_is_gone_is_none(repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", str(tmp_path / "linked"))
    repo.rename(tmp_path / "moved")
    assert read(tmp_path / "linked") is None


def test_a_path_of_very_many_symbolic_links_is_given_up(repo: Path, tmp_path: Path) -> None:
    """Each link leads twice through the one before: 2 to the power of 30 steps, were they all taken."""
    (tmp_path / "l0").symlink_to("repo")
    for number in range(1, 31):
        (tmp_path / f"l{number}").symlink_to(f"l{number - 1}/../l{number - 1}")
    assert read(tmp_path / "l3") == told(tmp_path / "l3") is not None
    assert read(tmp_path / "l30") is None


def test_a_folder_too_deep_is_nowhere(tmp_path: Path) -> None:
    repo = empty(tmp_path / "repo")
    deep = repo.joinpath(*"d" * 300)
    deep.mkdir(parents=True)
    assert read(deep) is None


def test_no_file_stays_open(repo: Path) -> None:
    os.mkfifo(repo / ".git/packed-refs")
    (repo / ".git/refs/heads/main").unlink()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(10):
        read(repo)
    assert len(os.listdir("/proc/self/fd")) == before


# What it costs, and where it runs


def test_a_name_is_the_same_in_any_locale(repo: Path) -> None:
    (repo / "größe").mkdir()
    git(repo, "checkout", "-b", "ümläut/日本語")
    code = (
        f"import sys; sys.path.insert(0, {str(SRC)!r})\n"
        "from holdfast.disk.worktree import find\n"
        "found = find(sys.argv[1])\n"
        "print(sys.getfilesystemencoding(), ascii(found.branch), found.commit)"
    )
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for pack in (False, True):
        if pack:
            git(repo, "pack-refs", "--all")
        done = subprocess.run(
            [sys.executable, "-S", "-c", code, repo / "größe"],
            env=ascii_only,
            capture_output=True,
            check=True,
        )
        encoding, *found = done.stdout.decode().split()
        assert found == [ascii("ümläut/日本語"), git(repo, "rev-parse", "HEAD")], encoding


def test_it_loads_nothing_that_a_bare_interpreter_has_not(repo: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(SRC)!r}); bare = set(sys.modules)\n"
        "from holdfast.disk.worktree import find\n"
        f"assert find({str(repo)!r}).branch == 'main'\n"
        "print(*sorted(sys.modules.keys() - bare))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [
        "holdfast",
        "holdfast.clock",
        "holdfast.disk",
        "holdfast.disk.files",
        "holdfast.disk.worktree",
        "holdfast.errors",
    ]


def test_it_costs_a_handful_of_small_reads(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []
    ordinary = worktree.files.open_regular
    monkeypatch.setattr(worktree.files, "open_regular", lambda path: opened.append(path) or ordinary(path))
    (repo / "a/b/c").mkdir(parents=True)
    assert read(repo / "a/b/c")[2] == "main"
    assert opened == [f"{repo}/.git/HEAD", f"{repo}/.git/refs/heads/main"]


def test_a_git_that_does_not_answer_leaves_no_process_behind(repo: Path, tmp_path: Path) -> None:
    slow = tmp_path / "bin/git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    code = (
        "import os, sys\n"
        "from holdfast.disk import git, worktree\n"
        "tree = worktree.find(sys.argv[1])\n"
        "print([git.is_clean(tree, dict(os.environ)) for _ in range(5)])\n"
        "while True:\n"
        "    try:\n        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)\n"
        "    except ChildProcessError:\n        break\n"
        "    git.is_clean(tree, {'PATH': sys.argv[2]})\n"  # looks for who took long to die
    )
    environ = {"PATH": f"{slow.parent}:{os.environ['PATH']}", "PYTHONPATH": str(SRC)}
    argv = [sys.executable, "-c", code, str(repo), os.environ["PATH"]]
    done = subprocess.run(argv, env=environ, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines() == [str([False] * 5)]
