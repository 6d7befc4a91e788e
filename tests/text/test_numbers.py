import pytest

from foreword.text.numbers import format_percent, format_size, number_with_noun


@pytest.mark.parametrize(
    ("number", "told"), [(0, "0 items"), (1, "1 item"), (2, "2 items"), (12_000, "12,000 items")]
)
def test_a_count_is_told_with_its_noun(number, told):
    assert number_with_noun(number, "item") == told


@pytest.mark.parametrize(
    ("size", "shown"),
    [(0, "0 B"), (999, "999 B"), (20_000, "20 kB"), (3_000_000, "3 MB"), (7.25e9, "7.2 GB")],
)
def test_sizes_are_short(size, shown):
    assert format_size(size) == shown


def test_a_plural_of_its_own_is_used():
    assert [number_with_noun(number, "memory", "memories") for number in (1, 2)] == ["1 memory", "2 memories"]


def test_shares_are_short():
    shown = [format_percent(share) for share in (0.574, 0.0996, 0.04, 0.0372, 0.0)]
    assert shown == ["57 %", "10 %", "4 %", "3.7 %", "0 %"]
