"""A check is a module, a part of the evidence and a line of the registry: tables, cards and the studio follow."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

import causalrules as cr
from causalrules.language.kinds import OutcomeKind
from causalrules.payload import Plain
from causalrules.report import sections, terminal, trust_words
from causalrules.result import evidence, frames
from causalrules.result.evidence import RuleEvidence, described
from causalrules.studio import checks
from causalrules.trust.registry import CHECKS, Check


@dataclass(frozen=True, repr=False)
class _Placebo(Plain):
    effect: float

    def cell(self, kind: OutcomeKind) -> str:
        return f"{kind.figure(self.effect)} by chance"

    def sentence(self, kind: OutcomeKind) -> str:
        return f"With a placebo outcome the effect is {kind.difference(self.effect)}."


@dataclass(frozen=True, repr=False)
class _Evidence(RuleEvidence):
    placebo: _Placebo | None = described("placebo")


def test_a_part_that_describes_itself_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = cr.discover(cr.datasets.titanic(), "survived", actionable=["class", "sex"], k=1)
    check = Check("placebo", "Placebo", "a placebo outcome", lambda rules: rules, lambda asked: {})
    for module in (evidence, trust_words, frames):
        monkeypatch.setattr(module, "RuleEvidence", _Evidence)
    monkeypatch.setattr(sections, "CHECKS", (*CHECKS, check))
    shown = replace(rules, rules=(replace(rules[0], evidence=_Evidence(placebo=_Placebo(0.012))),))
    assert "1.2 by chance" in terminal.text(shown)
    assert "1.2 by chance" in shown.to_html()
    assert "With a placebo outcome the effect is 1.2 points." in shown.to_html()
    assert '"placebo": {' in shown.to_json()
    assert frames.columns(shown)["placebo"] == ["1.2 by chance"]
    assert "placebo" not in frames.columns(rules)
    assert "placebo" not in terminal.text(rules)
    assert checks.Tile("placebo", check.title, check.about, (check,)).is_done(shown)


def test_every_check_is_a_part_of_the_evidence_and_has_a_tile() -> None:
    names = [check.name for check in CHECKS]
    assert set(names) == {*RuleEvidence.__dataclass_fields__}
    assert [check for tile in checks.CHECKS for check in tile.checks] == list(CHECKS)
