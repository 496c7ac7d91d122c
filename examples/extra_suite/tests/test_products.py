"""The rule on answers that keep it and on one that does not; no server is needed for that."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from house_rules.products import products_are_described
from pytest_adcp.harness.rules import Broken, NotApplicable


def answer(data):
    return SimpleNamespace(extraction=SimpleNamespace(data=data))


def test_a_description_is_enough():
    products_are_described(answer({"products": [{"description": "Sports on big screens"}]}))


def test_other_answers_are_not_looked_at():
    with pytest.raises(NotApplicable):
        products_are_described(answer({"formats": []}))


@pytest.mark.parametrize("product", [{}, {"description": "CTV"}, {"description": None}, "ctv"])
def test_a_product_without_one_fails(product):
    with pytest.raises(Broken) as broken:
        products_are_described(answer({"products": [product]}))
    assert "10 characters" in broken.value.expected
