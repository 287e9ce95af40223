"""The campaigns, each a module of this package with ``case(seed)``."""

from __future__ import annotations

from fuzz.campaign import Campaign

CAMPAIGNS = {
    c.name: c
    for c in (
        Campaign("estimators", "Estimators on awkward data", share=0.4),
        Campaign("kernels", "Native loops under sanitizers", share=0.15),
        Campaign("model_files", "Damaged and crafted model files", share=0.15),
        Campaign(
            "commands", "Commands that are killed, starved or fed nonsense", share=0.2, seconds=90
        ),
        Campaign("awkward_tables", "Tables of every kind", share=0.1, seconds=60),
    )
}
