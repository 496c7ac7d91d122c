"""House rules on products."""

from __future__ import annotations

from pytest_adcp.harness.rules import Broken, Level, NotApplicable, rule
from pytest_adcp.harness.subjects import Answer
from pytest_adcp.harness.text import quote

_SHORTEST = 10  # characters


@rule(
    "house.products.described",
    level=Level.MUST,
    source="https://wiki.example/house-rules#products",
)
def products_are_described(success: Answer) -> None:
    """Every product says in a description of ten characters or more what a buyer gets.

    Give each product a description: our buyers' agents choose by it.
    """
    products = (success.extraction.data or {}).get("products")
    if not isinstance(products, list) or not products:
        raise NotApplicable("no products in this answer")
    for index, product in enumerate(products):
        found = product.get("description") if isinstance(product, dict) else None
        if not isinstance(found, str) or len(found) < _SHORTEST:
            raise Broken(
                f"a description of {_SHORTEST} characters or more",
                quote(found),
                because=f"product {index} has nothing that a buyer's agent could choose it by",
            )
