"""Digests from the interpreter's private modules are those of `hashlib`."""

import hashlib
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core import digest
from hooks import PACKAGE


@given(st.binary(max_size=5000))
def test_a_hash_is_the_one_of_hashlib(data):
    assert digest.sha256_hex(data) == hashlib.sha256(data).hexdigest()


@given(st.binary(max_size=5000))
def test_a_name_is_the_md5_of_hashlib(data):
    assert digest.md5_hex(data) == hashlib.md5(data).hexdigest()


@given(st.binary(max_size=5000), st.binary(min_size=1, max_size=64))
def test_a_seal_is_the_one_of_hashlib(data, key):
    assert digest.seal(data, key) == hashlib.blake2b(data, key=key, digest_size=16).hexdigest()


def test_a_large_text_is_hashed_whole():
    data = b"tide" * (1 << 20)
    assert digest.sha256_hex(data) == hashlib.sha256(data).hexdigest()
    assert digest.seal(data, b"k") != digest.seal(data[:-1], b"k")


def test_a_key_that_is_too_long_is_cut_and_not_refused():
    assert digest.seal(b"a", b"k" * 100) == digest.seal(b"a", b"k" * 64)


@pytest.mark.parametrize(
    "missing", [["_sha2", "_sha256"], ["_blake2"], ["_sha2", "_sha256", "_blake2", "_md5"]]
)
def test_without_the_private_modules_the_digests_are_the_same(missing):
    code = f"""
import hashlib, sys
sys.path.insert(0, {str(PACKAGE.parent)!r})
for name in {missing!r}:
    sys.modules[name] = None
from holdfast.core import digest
print(digest.sha256_hex(b"tide"), digest.seal(b"tide", b"key"), digest.md5_hex(b"tide"))
"""
    said = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    expected = [digest.sha256_hex(b"tide"), digest.seal(b"tide", b"key"), digest.md5_hex(b"tide")]
    assert said.stdout.split() == expected
