"""What a transcript says, as far as it has been read."""

from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.seen import checksum


@given(st.binary(max_size=64), st.integers(0, 3000), st.binary(max_size=64))
def test_a_checksum_is_what_dividing_the_whole_leaves(begin, times, end):
    """However it is reckoned: what was written yesterday has to fit today."""
    data = begin * times + end
    assert checksum(data) == int.from_bytes(data + b"\1", "little") % (2**61 - 1)


@given(st.binary(max_size=300), st.integers(0, 300))
def test_a_checksum_of_the_rest_is_that_of_its_copy(data, start):
    start = min(start, len(data))
    assert checksum(data, start) == checksum(data[start:])
