import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lm_eval_drivehierarchy.statistics.correlation import rank_correlation

NUMBERS = st.integers(0, 6)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=4, max_size=20))
def test_equals_scipy_with_ties(pairs: list[tuple[int, int]]) -> None:
    first, second = zip(*pairs, strict=True)
    found = rank_correlation(first, second)
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert found.value is None
        assert "equal" in found.reason
        return
    assert found.value == pytest.approx(stats.spearmanr(first, second).statistic)
    assert found.n == len(pairs)
    if found.low is not None:
        assert -1 <= found.low <= found.value <= found.high <= 1


def test_interval_by_hand() -> None:
    found = rank_correlation([1, 2, 3, 4, 5, 6, 7], [2, 1, 4, 3, 7, 5, 6])
    rho = stats.spearmanr([1, 2, 3, 4, 5, 6, 7], [2, 1, 4, 3, 7, 5, 6]).statistic
    margin = 1.959964 * np.sqrt((1 + rho**2 / 2) / 4)
    assert found.low == pytest.approx(np.tanh(np.arctanh(rho) - margin))
    assert found.high == pytest.approx(np.tanh(np.arctanh(rho) + margin))


@pytest.mark.parametrize("n", [0, 1, 2])
def test_too_few_pairs_are_undefined(n: int) -> None:
    found = rank_correlation(range(n), range(n))
    assert found.value is None
    assert found.reason == f"only {'1 pair' if n == 1 else f'{n} pairs'}: a rank correlation needs three"


def test_three_pairs_and_perfect_agreement_have_a_value_but_no_interval() -> None:
    three = rank_correlation([1, 2, 3], [1, 3, 2])
    assert (three.value, three.low) == (0.5, None)
    perfect = rank_correlation([1, 2, 3, 4], [10, 20, 30, 40])
    assert (perfect.value, perfect.low) == (1.0, None)
    assert "perfectly" in perfect.reason


def test_nan_and_unequal_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        rank_correlation([1, 2, float("nan")], [1, 2, 3])
    with pytest.raises(ValueError, match="one length"):
        rank_correlation([1, 2, 3], [1, 2])
