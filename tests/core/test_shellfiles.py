"""Which files a command shows or writes."""

from __future__ import annotations

import pytest

from holdfast.core.shellfiles import CHANGED, PUT, SHOWN, files


@pytest.mark.parametrize(
    ("command", "shown", "written"),
    [
        ("cat a.py b/c.md", ["/w/a.py", "/w/b/c.md"], []),
        ("cd src && sed -n '1,20p' ../x.go | head -5", ["/w/x.go"], []),
        ("sed -i 's/a/b/' x.go", [], ["/w/x.go"]),
        ("grep -n 'see y.md' z.md", ["/w/z.md"], []),
        ("cat a.json > out.json 2>/dev/null", ["/w/a.json"], ["/w/out.json"]),
        ("cat > new.py <<'EOF'\ncat inside.py\nEOF\nhead after.py", ["/w/after.py"], ["/w/new.py"]),
        ("cat <<EOF >> log.txt\nbody.py\nEOF", [], ["/w/log.txt"]),
        ("go test ./... 2>&1 | tail -20", [], []),
        ("python run.py; git add a.py; ls b.py", [], []),
        ("X=1 sudo cat /etc/app.conf", ["/etc/app.conf"], []),
        ('cat "a file.py" b.py', ["/w/b.py"], []),
        ("cat $HOME/a.py *.py https://x.org/a.py ~/b.py", ["~/b.py"], []),
        ("jq . < in.json", [], []),
        ("echo $(cat v.txt)", ["/w/v.txt"], []),
        ("cat 'never.py", [], []),
        ("cat <<EOF\nno end.py", [], []),
        ("cat a.py \\\n  b.py", ["/w/a.py", "/w/b.py"], []),
        ("cat a.py a.py", ["/w/a.py"], []),
        ("", [], []),
        ("cat a.py\\", [], []),
        ("<", [], []),
        ("<<", [], []),
        ('grep -n "state.seen" src/x.py', ["/w/src/x.py"], []),
        ("rg 'os.path' src", [], []),
        ("jq .a.b x.json", ["/w/x.json"], []),
        ("grep -nA 3 state.seen x.py", ["/w/x.py"], []),
        ("grep -ne state.seen x.py", ["/w/x.py"], []),
        ("grep --regexp=state.seen x.py", ["/w/x.py"], []),
        ("grep --files-with-matches state.seen x.py", ["/w/x.py"], []),
        ("awk -F, -f sum.awk x.csv", ["/w/x.csv"], []),
        ("grep -n \\\n state.seen x.py", ["/w/x.py"], []),
        ("# Don't forget\ncat a.py # b.py", ["/w/a.py"], []),
        ("cat a#b.py c.py", ["/w/c.py"], []),
        ('grep x <<< "foo"\ncat a.py', ["/w/a.py"], []),
        ("echo $((1<<2))\ncat a.py", ["/w/a.py"], []),
        ("cat <<-_X\nb.py\n_X\ncat a.py", ["/w/a.py"], []),
        ('cd "$DIR" && cat a.py /etc/b.conf', ["/etc/b.conf"], []),
        ("cd $DIR; echo > a.py; cd /v; cat c.py", ["/v/c.py"], []),
        ("cd /v; cd -; cat a.py", [], []),
        ("cd ~/v && cat a.py", ["~/v/a.py"], []),
    ],
)
def test_files_are_found_where_they_are_plainly_named(
    command: str, shown: list[str], written: list[str]
) -> None:
    found = files(command, "/w")
    assert [path for path, how in found if how == SHOWN] == shown
    assert [path for path, how in found if how != SHOWN] == written


def test_what_is_changed_in_its_place_is_told_from_what_is_put_there() -> None:
    found = files("sed -i s/a/b/ x.go; echo > y.go; sed s/a/b/ x.go >> z.go", "/w")
    assert found == [("/w/x.go", CHANGED), ("/w/y.go", PUT), ("/w/z.go", PUT), ("/w/x.go", SHOWN)]


def test_a_long_command_ends_somewhere() -> None:
    assert files("cat a.py;" + "x" * 1_000_000 + "; cat b.py", "/w") == [("/w/a.py", SHOWN)]
