"""Format a Result as text for terminals: a table, an explanation of its numbers, and the evidence.

Names and values are untrusted: control characters are escaped.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING

from causalrules.graph.assumptions import assumptions
from causalrules.language.propositions import describe
from causalrules.report import claim_words, result_words, rule_words, trust_words
from causalrules.report.rule_text import columns, remaining, shared, wrap, wrap_rule
from causalrules.text import counted, p_number, percent, printable

if TYPE_CHECKING:
    from causalrules.language.propositions import Proposition
    from causalrules.result.result import Result
    from causalrules.result.rule import RuleResult

# Minimum width of rules, and width up to which they go before what is spare.
_NARROWEST_RULE, _FIRST_WIDTH = 16, 32
# Columns to omit on a narrow terminal, in this order.
_SPARE = ("fails → holds", "conservative", "applies to", "value", "evidence")
_MOST_SENTENCE_LINES = 20
_MOST_WHY_LINES = 4
_COLOURS = {"supported": "32", "suggestive": "33", "not supported": "2", "cannot tell": "2"}


def text(rules: Result, *, colour: bool = False, explain: bool = False, remarks: bool = True) -> str:
    """Return the table and the sentences below it, in blocks, wrapped to the terminal.

    Parameters
    ----------
    rules
        The result.
    colour
        Whether to colour the words of the evidence, with terminal escape codes.
    explain
        Whether to add what acting on the rules assumes, and how the evidence was obtained.
    remarks
        Whether to add the sentences, alerts and notes around the table.

    Returns
    -------
    str
        Lines without trailing blanks.
    """
    width = max(shutil.get_terminal_size((100, 24)).columns, 40)
    common = shared(rules)
    said = (
        [_title(rules), *alerts(rules), result_words.warning(rules) or ""],
        [result_words.ending(rules)],
        _below(rules),
    )
    above, after, below = (_wrapped(each, width) if remarks else [] for each in said)
    blocks = [
        above,
        [*_wrapped([_common(common)], width), *_table(rules, common, width, explain), *after],
        below,
        _trust(rules, width, explain),
        _wrapped([f"note: {note}" for note in rules.notes], width) if remarks else [],
        _wrapped(_explained(rules), width) if explain else [],
    ]
    found = "\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks if block)
    return _coloured(found) if colour else found


def sentences(rules: Result) -> list[str]:
    """Return the sentences around the table except alerts, for output of the rules in other formats."""
    said = [_title(rules), result_words.warning(rules), result_words.ending(rules), *_below(rules)]
    return [*(each for each in said if each), *trust_words.lines(rules), *rules.notes]


def alerts(rules: Result) -> list[str]:
    """Return what can mislead, a line for each alert."""
    return [f"! {alert}" for alert in rules.alerts]


def headings(rules: Result, explain: bool = False) -> list[str]:
    """Return the names of the columns after the rule.

    The bound is that after the search, the conservative effect the score: for `explain`, or where there is no bound.
    """
    bounded = result_words.has_bounds(rules)
    scored = explain or not (bounded or rules.is_named or result_words.ranking(rules))
    return [
        *["value"] * bool(result_words.ranking(rules)),
        f"{result_words.quantity(rules)}{rules.kind.in_units}",
        *[rule_words.least(rules)] * bounded,
        *["conservative"] * scored,
        *["p"] * any(rule.p_value is not None for rule in rules),
        "fails → holds",
        "applies to",
        "evidence",
    ]


def cells(rule: RuleResult, rules: Result, explain: bool = False) -> list[str]:
    """Return the cells of a rule below `headings`; intervals are only of rules named in advance."""
    shown, column = rule.kind.figure, [each.effect for each in rules]
    fails, holds = rule.kind.levels(rule.p_do_not_rule, rule.p_do_rule, *column)
    effect = rule.kind.figures(rule.effect, *rule.interval, *column) if rules.is_named else shown(rule.effect, *column)
    known = {
        "value": shown(rule.value),
        rule_words.least(rules): rule_words.bound(rule, lambda bound: shown(bound, *column)),
        "conservative": rule_words.conservative(rule).removesuffix(f" {rule.kind.unit}"),
        "p": p_number(rule.p_value, rule.p_sign),
        "fails → holds": f"{fails.removesuffix(' %')} → {holds}",
        "applies to": percent(rule.coverage),
        "evidence": rule.verdict.evidence,
    }
    return [known.get(name, effect) for name in headings(rules, explain)]


def _title(rules: Result) -> str:
    found = counted(len(rules), "candidate" if rules and result_words.nothing_found(rules) else "rule")
    proof = result_words.proof(rules)
    if rules.is_named:
        return f"{proof}, in {counted(rules.n_rows, 'row')}"
    return f"{found} in {counted(rules.n_rows, 'row')}; {proof}"


def _common(common: Sequence[Proposition]) -> str:
    return f"every rule has {describe(common)}, and:" if common else ""


def _table(rules: Result, common: Sequence[Proposition], width: int, explain: bool) -> list[str]:
    """Return the rows; rules are wrapped between conditions to the width that the other columns leave."""
    if not rules:
        return []
    rows = [["#", *headings(rules, explain)]]
    rows += [[str(place), *cells(rule, rules, explain)] for place, rule in enumerate(rules, 1)]
    widest = max(columns(_marked(rule, common)) for rule in rules)
    for place, spare in enumerate(_SPARE):
        needed = _NARROWEST_RULE if place else max(_NARROWEST_RULE, min(widest, _FIRST_WIDTH))
        if width - _taken(rows) >= needed:
            continue
        if spare in rows[0]:
            at = rows[0].index(spare)
            rows = [[*row[:at], *row[at + 1 :]] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    room = max(width - _taken(rows), _NARROWEST_RULE)
    texts = [["rule"], *(wrap_rule(printable(_marked(rule, common)), room) for rule in rules)]
    room = max(columns(line) for lines in texts for line in lines)
    last = rows[0][-1] == "evidence"
    found = []
    for row, (first, *others) in zip(rows, texts, strict=True):
        number, *numbers = (cell.rjust(size) for cell, size in zip(row, widths, strict=True))
        if last:
            numbers[-1] = row[-1]
        found.append("  ".join([number, first + " " * (room - columns(first)), *numbers]))
        found += [" " * (widths[0] + 2) + line for line in others]
    return found


def _marked(rule: RuleResult, common: Sequence[Proposition]) -> str:
    """Return the rest of a rule, with a mark if a condition is superfluous."""
    return f"{remaining(rule, common)} {rule_words.MARK}" if rule_words.is_marked(rule) else remaining(rule, common)


def _taken(rows: list[list[str]]) -> int:
    """Return the width of all columns but the rule's."""
    return sum(max(map(len, column)) + 2 for column in zip(*rows, strict=True))


def _below(rules: Result) -> list[str]:
    said = [
        result_words.meaning(rules),
        *result_words.bound_lines(rules),
        result_words.ranking(rules),
        *trust_words.first_place(rules),
        *result_words.undecided_lines(rules),
    ]
    # The table of the evidence has the reasons below each rule.
    why = [] if trust_words.table(rules) else result_words.doubt_lines(rules)
    return [sentence for sentence in (*said, *claim_words.verdict_lines(rules), *why) if sentence]


def _trust(rules: Result, width: int, explain: bool) -> list[str]:
    """Return the evidence as a table, with the reason below each rule that is not supported."""
    how = _wrapped(trust_words.obtained(rules) if explain else trust_words.needed(rules), width)
    table = trust_words.table(rules)
    if not table:
        return how
    widths = [max(map(columns, column)) for column in zip(*table, strict=True)]
    lines = wrap(trust_words.title(rules), width, 2)
    for place, row in enumerate(table):
        lines.append("  ".join(cell.rjust(size) for cell, size in zip(row, widths, strict=True)))
        margin = " " * (widths[0] + 2)
        for why in trust_words.why_not(rules[place - 1], rules) if place else []:
            lines += [margin + line for line in wrap(printable(why), width - len(margin), _MOST_WHY_LINES)]
    return [*lines, *how]


def _explained(rules: Result) -> list[str]:
    """List what acting on the rules assumes."""
    question = rules.question
    said = (
        ["Acting on a rule assumes:"] if rules.admissibility is None else ["The causal graph is assumed to be right:"]
    )
    return [*said, *assumptions(question.target, question.actions, question.controls, question.randomised)]


def _coloured(words: str) -> str:
    """Colour the words of the evidence at the ends of lines."""
    lines = []
    for line in words.split("\n"):
        for word, code in _COLOURS.items():
            if line.endswith(f" {word}"):
                line = f"{line.removesuffix(word)}\033[{code}m{word}\033[0m"
                break
        lines.append(line)
    return "\n".join(lines)


def _wrapped(said: Sequence[str], width: int) -> list[str]:
    lines: list[str] = []
    for sentence in said:
        if sentence:
            lines += wrap(printable(sentence), width, _MOST_SENTENCE_LINES)
    return lines
