"""JUnit files as test runners write them, and as nobody should."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.errors import BadInput
from holdfast.ops import junit

SHAPES = {
    "pytest": (
        '<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests">'
        '<testsuite name="pytest" errors="0" failures="1" skipped="1" tests="3" time="0.5">'
        '<testcase classname="t" name="a" time="0.1"/>'
        '<testcase classname="t" name="b"><failure message="assert 1 == 2">E &lt;b&gt;</failure></testcase>'
        '<testcase classname="t" name="c"><skipped type="pytest.skip" message="no"/></testcase>'
        "</testsuite></testsuites>",
        (2, 1),
    ),
    "jest-junit": (
        '<testsuites name="jest tests" tests="2" failures="0" errors="0" time="1.25">'
        '<testsuite name="lock" errors="0" failures="0" skipped="0" time="0.3" tests="2">'
        '<testcase classname="lock opens" name="lock opens" time="0.002"></testcase>'
        '<testcase classname="lock shuts" name="lock shuts" time="0.001"></testcase>'
        "</testsuite></testsuites>",
        (2, 0),
    ),
    "a jest suite that did not start": (
        '<testsuites tests="1" failures="0" errors="1" time="1">'
        '<testsuite name="broken" errors="1" failures="0" tests="0"></testsuite>'
        '<testsuite name="fine" errors="0" failures="0" tests="1">'
        '<testcase name="a"/></testsuite></testsuites>',
        (1, 1),
    ),
    "maven": (
        '<testsuite name="org.example.LockTest" time="1,234.5" tests="3" errors="1" failures="0">'
        '<properties><property name="failure" value="x"/></properties><testcase name="a" time="0.1"/>'
        '<testcase name="b"><error type="java.lang.Exception"><![CDATA[at <x>]]></error></testcase>'
        '<testcase name="c"><flakyFailure/><system-out>failure</system-out></testcase></testsuite>',
        (3, 1),
    ),
    "gotestsum": (
        '<testsuites tests="2" failures="1" errors="0" time="0.01">'
        '<testsuite tests="2" failures="1" time="0.01" name="example.org/lock"><properties/>'
        '<testcase classname="lock" name="TestA" time="0.0"/><testcase classname="lock" name="TestB">'
        '<failure message="Failed" type="">    lock_test.go:5: no</failure></testcase>'
        "</testsuite></testsuites>",
        (2, 1),
    ),
    "nested": (
        "<testsuites><testsuite><testsuite><testcase/></testsuite><testsuite failures='1'>"
        "<testcase><failure/></testcase></testsuite></testsuite></testsuites>",
        (2, 1),
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_tests_are_counted_whoever_wrote_them_down(tmp_path: Path, shape: str) -> None:
    text, expected = SHAPES[shape]
    path = tmp_path / "junit.xml"
    path.write_text(text)
    assert junit.counted(str(path))[:2] == expected


def test_how_long_they_took(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    for shape, seconds in (("maven", 1234.5), ("jest-junit", 1.25), ("pytest", 0.0)):
        path.write_text(SHAPES[shape][0])
        assert junit.counted(str(path))[2] == seconds


LAUGHS = (
    '<!DOCTYPE x [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9))
    + "]><testsuite><testcase name='&j;'/></testsuite>"
)
WRONG = {
    "a billion laughs": (LAUGHS, "declares a document type"),
    "an external entity": (
        '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><testsuite><testcase>&e;</testcase></testsuite>',
        "declares a document type",
    ),
    "a document type": (
        '<!DOCTYPE x SYSTEM "http://example.org/x.dtd"><testsuite/>',
        "declares a document type",
    ),
    "not XML": ("12 passed", "is not XML"),
    "empty": ("", "is not XML"),
    "cut off": ("<testsuite><testcase>", "is not XML"),
    "NULs": ("\0\0\0", "is not XML"),
    "an encoding there is not": ('<?xml version="1.0" encoding="nonsense"?><testsuite/>', ""),
    "something else": ("<html><testcase/></html>", "begins with <html>"),
    "no tests": ("<testsuites/>", "tells of no tests"),
    "only skipped ones": ("<testsuite><testcase><skipped/></testcase></testsuite>", "tells of no tests"),
    "too deep": ("<testsuite>" * 100 + "</testsuite>" * 100, "nested more than"),
    "numbers that are none": ("<testsuite errors='-1' failures='1e9' time='nan'/>", "tells of no tests"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_report_is_an_error(tmp_path: Path, name: str) -> None:
    text, expected = WRONG[name]
    path = tmp_path / "junit.xml"
    path.write_text(text)
    with pytest.raises(BadInput) as refused:
        junit.counted(str(path))
    assert expected in str(refused.value)
    assert str(path) in str(refused.value)


def test_a_huge_one_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    with path.open("wb") as file:
        file.write(b"<testsuite>")
        file.truncate(1 << 30)
    with pytest.raises(BadInput):
        junit.counted(str(path))
    path.write_bytes(b"<testsuite>" + b" " * (65 << 20))
    with pytest.raises(BadInput, match="more than 64 MB"):
        junit.counted(str(path))


def test_what_is_no_file_is_an_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "gone.xml", tmp_path, tmp_path / "fifo", "a\0b"):
        with pytest.raises(BadInput):
            junit.counted(str(path))
