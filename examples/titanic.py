"""Titanic: which conditions went with survival, and is there more to them than sex?

python examples/titanic.py [report.html]
"""

from __future__ import annotations

import sys

import causalrules as cr


def main(report: str | None = None) -> dict[str, cr.RuleSet]:
    passengers = cr.datasets.titanic()

    print("The strongest rules over all columns, only those that beat each of their generalisations:\n")
    plain = cr.discover(passengers, target="survived", k=5, redundant=False)
    print(plain)

    print("\nThe same among passengers of the same sex:\n")
    adjusted = cr.discover(passengers, target="survived", control="sex", k=5, redundant=False)
    print(adjusted)

    best = adjusted[0]
    print(f"\nIn each stratum, for {best}:\n")
    for stratum in best.strata:
        print(
            f"  {stratum.labels['sex']:6}  {stratum.p_rule:6.1%} of {stratum.a + stratum.b:3} where it holds, "
            f"{stratum.p_not_rule:6.1%} of {stratum.c + stratum.d:3} where it does not"
        )

    print("\nTen rules are often variants of one. Five ideas:\n")
    ideas = plain.ideas(5)
    print(ideas)

    print("\nThe best rule in your own database:\n")
    print(f"  SELECT * FROM passengers WHERE {plain[0].to_sql('postgres')}")

    if report is not None:
        adjusted.to_html(report)
        print(f"\nThe report is in {report}.")
    return {"plain": plain, "adjusted": adjusted, "ideas": ideas}


if __name__ == "__main__":
    main(*sys.argv[1:2])
