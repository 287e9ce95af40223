"""Orders that answers show by themselves, and answers that show none."""

import random

import pytest

from echelon.tables.scales import known_order

ORDERS = [
    ["Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree"],
    ["strongly_disagree", "somewhat_disagree", "somewhat_agree", "strongly_agree"],
    ["never", "rarely", "sometimes", "often", "always"],
    ["Very dissatisfied", "Neither satisfied nor dissatisfied", "Very satisfied"],
    ["poor", "fair", "good", "very good", "excellent"],
    ["none", "mild", "moderate", "severe"],
    ["low", "medium", "high"],
    ["S", "M", "L", "XL"],
    ["1 - never", "2 - sometimes", "3 - always"],
    ["1. Always", "2. Most of the time", "3. Sometimes", "4. Never"],
    ["under 18", "18-24", "25 to 64", "65+"],
    ["Less than $10,000", "$10,000 to $20,000", "More than $20,000"],
    ["Under $9,999", "$10,000-14,999", "$150,000-174,999", "$250,000 or more"],
    ["(0,19]", "(19,39]", "(39,59]", "(59,Inf]"],
    ["1-2 years", "3-9 years", "10-12 years"],
]


@pytest.mark.parametrize("order", ORDERS)
def test_known_orders_are_found_from_any_order(order):
    shuffled = random.Random(0).sample(order, len(order))
    assert known_order(shuffled) == order


@pytest.mark.parametrize(
    "levels",
    [
        ["red", "green", "blue"],
        ["agree", "disagree"],
        ["agree", "disagree", "other"],
        ["often", "frequently", "never"],
        ["Jan", "Feb", "Mar"],
        ["1", "2", "3"],
        ["2021-01-01", "2021-02-01", "2021-03-01"],
        ["B 12", "B 7", "C 3"],
        ["10-12", "10-15", "16-20"],
        ["1. White", "2. Black", "3. Hispanic"],
        ["1. Increased", "2. Decreased", "3. Kept the same"],
    ],
)
def test_levels_without_an_order_of_their_own(levels):
    assert known_order(levels) is None
