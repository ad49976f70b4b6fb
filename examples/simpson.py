"""Simpson's paradox twice: adjusting for the right variable turns an answer round.

python examples/simpson.py
"""

from __future__ import annotations

from typing import Any

import causalrules as cr


def compare(data: Any, target: str, control: str, rule: str) -> cr.RuleResult:
    """Print what a rule seems to do, what it does in each stratum, and what is left after adjusting."""
    rules = cr.discover(data, target=target, control=control)
    (chosen,) = [each for each in rules if str(each) == rule]
    print(f"{rule}: {target} = 1 occurs")
    print(f"  {chosen.marginal_effect:+6.1%}  more often overall")
    for stratum in chosen.strata:
        print(f"  {stratum.difference:+6.1%}  for {control} = {stratum.labels[control]} ({stratum.n:,} rows)")
    low, high = chosen.interval()
    print(f"  {chosen.effect:+6.1%}  adjusted for {control} (95 % interval {low:+.1%} to {high:+.1%})\n")
    return chosen


def main() -> tuple[cr.RuleResult, cr.RuleResult]:
    print("Kidney stones (Charig et al., 1986). Treatment A, open surgery, was given to the harder cases.\n")
    stones = compare(cr.datasets.kidney_stones(), "success", "size", "treatment = A")

    print("Admission to Berkeley (Bickel et al., 1975). Women applied to the departments that admit fewer.\n")
    berkeley = compare(cr.datasets.berkeley(), "admitted", "department", "gender = female")

    # Whether to adjust is a question about causes, which no table answers: say how the variables hang together.
    graph = "size -> treatment; size -> success; treatment -> success"
    verdict = cr.check(graph, target="success", actionable=["treatment"], control=["size"])
    print(verdict.summary())
    return stones, berkeley


if __name__ == "__main__":
    main()
