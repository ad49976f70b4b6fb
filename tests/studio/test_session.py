"""The studio's state: the effects of commands, and that no state is lost."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import causalrules as cr
from causalrules.exceptions import DataError, GraphError, InputError, OptionError
from causalrules.studio import checks, searches
from causalrules.studio import workspace as workspaces
from causalrules.studio.jobs import Job, Worker
from causalrules.studio.session import Studio
from causalrules.studio.workspace import Drawing, Workspace
from causalrules.trust import registry
from studios import PATIENCE, idle, kidney_stones, renewals, state, titanic, until

KIDNEY = "size -> treatment -> success; size -> success"


@pytest.fixture
def kidney(tmp_path: Path) -> Iterator[Studio]:
    """The kidney stones, with roles."""
    studio = Studio(str(kidney_stones(tmp_path)))
    idle(studio)
    studio.outcome("success")
    studio.roles([{"name": "size", "role": "control"}])
    yield studio
    studio.close()


@pytest.fixture
def ladder(tmp_path: Path) -> Iterator[Studio]:
    """The renewals, with the rules found."""
    studio = Studio(str(renewals(tmp_path)))
    idle(studio)
    studio.outcome("renewed")
    studio.search()
    idle(studio)
    yield studio
    studio.close()


def found(studio: Studio) -> cr.RuleSet:
    assert studio.state.rules is not None
    return studio.state.rules


def edited(rule: cr.RuleResult) -> list[dict[str, Any]]:
    """Return the conditions of a rule in the page's format."""
    return [{name: each.to_dict()[name] for name in ("column", "operator", "value")} for each in rule.conditions]


def conditions(text: str) -> list[dict[str, str]]:
    column, operator, value = text.split(" ")
    return [{"column": column, "operator": operator, "value": value}]


def test_a_search_finds_what_discover_finds(kidney: Studio) -> None:
    kidney.graph_text(KIDNEY)
    kidney.search()
    found = idle(kidney)
    expected = cr.discover(cr.datasets.kidney_stones(), "success", control="size", graph=KIDNEY)
    assert kidney.state.rules is not None
    assert [rule.text for rule in kidney.state.rules] == [rule.text for rule in expected]
    assert [rule.measured.counts for rule in kidney.state.rules] == [rule.measured.counts for rule in expected]
    assert found["said"]["answers"][1]["word"] == "identified"
    assert not found["rules"]["stale"]


def test_the_call_and_the_command_ask_the_same(kidney: Studio) -> None:
    kidney.option("k", "3")
    kidney.graph_text(KIDNEY)
    namespace: dict[str, Any] = {}
    exec(state(kidney)["said"]["call"], namespace)
    kidney.search()
    idle(kidney)
    assert kidney.state.rules is not None
    assert [rule.text for rule in namespace["rules"]] == [rule.text for rule in kidney.state.rules]
    assert namespace["rules"].question == kidney.state.rules.question
    notebook = json.loads(kidney.take("notebook").content)
    assert "".join(notebook["cells"][1]["source"]) == state(kidney)["said"]["call"]


def test_the_graph_is_judged_at_every_edit(kidney: Studio) -> None:
    def status() -> tuple[str, str]:
        found = state(kidney)
        return found["graph"]["verdict"]["status"], found["said"]["answers"][-1]["word"]

    assert status() == ("none", "unchecked")
    kidney.graph({"nodes": ["size", "treatment", "success"]})
    assert status() == ("none", "unchecked")  # variables without edges are no graph
    kidney.graph_text(KIDNEY)
    assert status() == ("admissible", "identified")
    kidney.roles([{"name": "size", "role": None}])
    assert status() == ("violated", "not identified")
    (problem,) = state(kidney)["graph"]["verdict"]["problems"]
    assert problem["fixes"][0]["text"] == "Make size a control"
    kidney.remedy(problem["fixes"][0]["roles"], [], None)
    assert status() == ("admissible", "identified")
    kidney.graph_text(f"{KIDNEY}; treatment -- age")
    kidney.graph_text(KIDNEY.replace("size -> treatment", "size -- treatment"))
    (problem,) = state(kidney)["graph"]["verdict"]["problems"]
    causes = next(fix for fix in problem["fixes"] if fix["text"] == "size causes treatment")
    kidney.remedy([], causes["edges"], None)
    assert status() == ("admissible", "identified")
    with pytest.raises(GraphError, match="cycle"):
        kidney.graph_text(f"{KIDNEY}; success -> size")
    assert status() == ("admissible", "identified")  # the rejected edit changed nothing
    kidney.graph(None)
    kidney.mark(["treatment"], "randomised", True)
    assert status() == ("none", "by design")


def test_context_is_checked_inside_groups_and_is_no_matter_of_the_rules(kidney: Studio) -> None:
    def shown() -> tuple[str, list[str], list[str], list[str]]:
        found = state(kidney)
        question = found["question"]
        return found["graph"]["verdict"]["status"], question["actionable"], question["control"], question["context"]

    kidney.graph_text(KIDNEY)
    kidney.search()
    idle(kidney)
    # Context may be a control too.
    kidney.roles([{"name": "size", "role": "context"}])
    assert shown() == ("admissible", ["treatment"], ["size"], ["size"])
    found = state(kidney)
    assert not found["rules"]["stale"]
    # As context alone, it is not held fixed: the fix makes it a control again.
    kidney.roles([{"name": "size", "role": None, "from": "control"}])
    assert shown() == ("violated", ["treatment"], [], ["size"])
    verdict = state(kidney)["graph"]["verdict"]
    assert verdict["problems"][0]["fixes"][0]["text"] == "Make size a control too"
    kidney.remedy(verdict["problems"][0]["fixes"][0]["roles"], [], None)
    assert shown() == ("admissible", ["treatment"], ["size"], ["size"])
    # What is no matter of the effect on everybody does not change the claim of the rules.
    kidney.graph_text(f"{KIDNEY}; success -> after")
    kidney.state.change(context=("after",))
    found = state(kidney)
    assert found["graph"]["verdict"]["title"] == "Identified for everybody, but not inside groups by the context"
    assert found["said"]["answers"][1]["word"] == "identified"
    assert found["rules"]["page"]["result"]["claim"] == "effect"
    kidney.state.change(context=("nowhere",))
    assert "no variable 'nowhere'" in state(kidney)["graph"]["verdict"]["says"][0]
    assert state(kidney)["said"]["answers"][1]["word"] == "identified"
    # Other roles take it away, and so does the outcome.
    kidney.state.change(context=())
    for role, expected in (("actionable", (["treatment", "size"], [], [])), (None, (["treatment"], [], []))):
        kidney.roles([{"name": "size", "role": "control"}, {"name": "size", "role": "context"}])
        kidney.roles([{"name": "size", "role": role}])
        assert shown()[1:] == expected
    kidney.roles([{"name": "size", "role": "context"}])
    kidney.roles([{"name": "size", "role": None, "from": "context"}])
    assert shown()[1:] == (["treatment"], [], [])
    kidney.roles([{"name": "size", "role": "context"}])
    kidney.outcome("size", "small")
    assert shown()[3] == []
    with pytest.raises(InputError, match="no role 'who'; the roles are actionable, control and context"):
        kidney.roles([{"name": "treatment", "role": "who"}])


def test_context_outside_the_graph_can_be_added_or_ignored(kidney: Studio) -> None:
    kidney.graph_text("treatment -> success; size -> treatment")
    kidney.roles([{"name": "size", "role": None}])
    kidney.graph_text("treatment -> success")
    kidney.roles([{"name": "size", "role": "context"}])
    (problem,) = state(kidney)["graph"]["verdict"]["problems"]
    assert [fix["text"] for fix in problem["fixes"]] == ["Add size to the graph", "Ignore size"]
    kidney.remedy([], [], problem["fixes"][0]["add"])
    found = state(kidney)["graph"]["verdict"]
    assert found["status"] == "admissible"
    assert found["says"] == ["Without an edge, and so without causes and effects: size."]


def test_a_graph_drawn_later_updates_the_claims_of_found_rules(kidney: Studio) -> None:
    kidney.search()
    assert idle(kidney)["said"]["answers"][1]["word"] == "unchecked"
    kidney.graph_text(KIDNEY)
    found = state(kidney)
    assert found["said"]["answers"][1]["word"] == "identified"
    assert found["rules"]["page"]["view"]["rules"][0]["claim"]["word"] == "identified"
    assert not found["rules"]["stale"]
    kidney.roles([{"name": "size", "role": None}])  # this changes the question
    assert state(kidney)["rules"]["stale"]


def test_suggestions_and_own_controls_follow_the_graph(kidney: Studio) -> None:
    kidney.graph_text(KIDNEY)
    found = kidney.suggest()
    assert (found["actionable"], found["control"]) == (["treatment"], ["size"])
    kidney.own_controls(True)
    assert state(kidney)["graph"]["verdict"]["status"] == "admissible"
    kidney.search()
    assert idle(kidney)["job"]["error"] is None
    assert kidney.state.rules is not None
    assert kidney.state.rules.question.controls == ("size",)


def test_edited_rules_are_measured_as_evaluate_does(kidney: Studio) -> None:
    kidney.search()
    idle(kidney)
    assert kidney.state.rules is not None
    measured = kidney.measure([conditions("treatment = B"), conditions("treatment = A")], None)
    beta = kidney.state.rules.question.beta
    expected = cr.evaluate(cr.datasets.kidney_stones(), "treatment = B", "success", control="size", beta=beta)
    rule = measured["result"]["rules"][0]
    assert rule["effect"] == expected[0].effect
    assert rule["reliable_effect"] == expected[0].reliable_effect
    assert measured["shared"] == {"both": 0, "one": 350, "other": 350, "share": 0.0}
    kidney.keep(conditions("treatment = B"))
    kidney.keep(conditions("treatment = B"))
    assert [rule["text"] for rule in state(kidney)["rules"]["edited"]["view"]["rules"]] == ["treatment = B"]
    kidney.drop(0)
    assert state(kidney)["rules"]["edited"] is None
    with pytest.raises(InputError, match="at least one condition"):
        kidney.measure([[]], None)


def test_a_list_whose_rules_add_is_shown_and_measured_step_by_step(ladder: Studio) -> None:
    rules = found(ladder)
    assert [rule.text for rule in rules] == [rule.text for rule in cr.discover(cr.datasets.renewals(), "renewed", "1")]
    assert len(rules) == 3
    shown = state(ladder)
    page = shown["rules"]["page"]["view"]
    assert len(page["staircase"]["rungs"]) == 4
    assert page["adds"]
    assert page["ending"].startswith("No other column stands out; nearest: ")
    assert {step for *_, step in shown["job"]["points"]} >= {1, 2}
    for place, rule in enumerate(rules):
        measured = ladder.measure([edited(rule)], None, place)
        (again,) = measured["result"]["rules"]
        assert (again["rule"], again["held_fixed"]) == (rule.text, list(rule.held_fixed))
        assert again["effect"] == rule.effect
        assert again["reliable_effect"] == pytest.approx(rule.reliable_effect)
        alone = ladder.measure([edited(rule), edited(rules[0])], None)["result"]["rules"][0]
        assert rule.alone is not None
        assert alone["effect"] == pytest.approx(rule.alone.effect)


def test_an_edited_rule_replaces_its_original(ladder: Studio, tmp_path: Path) -> None:
    second = found(ladder)[1]
    shorter = [each for each in edited(second) if each["column"] == "discount"]
    expected = ladder.measure([shorter], None, 1)["result"]["rules"][0]
    assert expected["held_fixed"] == list(second.held_fixed)
    ladder.keep(conditions("newsletter = yes"))
    ladder.keep(shorter, 1)
    ladder.keep(conditions("app = no"))
    kept = state(ladder)["rules"]["edited"]
    assert [rule["held_fixed"] for rule in kept["result"]["rules"]] == [[], list(second.held_fixed), []]
    assert kept["result"]["rules"][1]["effect"] == expected["effect"]
    again = Studio(str(tmp_path / "renewals.csv"))
    opened = idle(again)["rules"]
    again.close()
    assert opened["page"]["view"]["staircase"] == state(ladder)["rules"]["page"]["view"]["staircase"]
    assert not opened["stale"]
    assert [rule["rule"] for rule in opened["edited"]["result"]["rules"]] == [
        rule["rule"] for rule in kept["result"]["rules"]
    ]
    # Without the rows of the steps, the columns above are ordinary controls.
    assert opened["edited"]["result"]["rules"][1]["effect"] == pytest.approx(expected["effect"], abs=0.01)
    ladder.drop(1)
    assert ladder.state.workspace.edited_from == {"newsletter = yes": 0, "app = no": 0}
    ladder.search()
    assert idle(ladder)["rules"]["edited"] is None


def test_a_list_whose_rules_add_is_checked_rule_by_rule_and_exported(ladder: Studio) -> None:
    for name in ("sensitivity", "overlap", "balance", "honest"):
        ladder.check(name)
        assert name in idle(ladder)["rules"]["checked"]
    assert [rule.evidence is not None for rule in found(ladder)] == [True] * 3
    robust = ladder.robust(1)
    assert {each["control"] for each in robust["landmarks"]} == set(found(ladder)[1].held_fixed)
    assert robust["left"][0] == pytest.approx(found(ladder)[1].effect)
    ladder.front()
    assert idle(ladder)["rules"]["front"]["view"]["staircase"] is None
    for what in ("report", "json", "sql", "markdown", "python", "notebook", "workspace"):
        content = ladder.take(what).content
        assert content
        if what in ("report", "json", "sql", "markdown"):
            assert "newsletter" in content or "app" in content
    assert cr.RuleSet.from_json(ladder.take("json").content).rungs == found(ladder).rungs


def test_what_is_left_of_the_effect_on_a_mean_is_that_of_its_step(tmp_path: Path) -> None:
    studio = Studio(str(titanic(tmp_path)))
    idle(studio)
    studio.outcome("fare")
    studio.search()
    idle(studio)
    assert len(found(studio)) > 1
    for place, rule in enumerate(found(studio)):
        assert studio.robust(place)["left"][0] == pytest.approx(rule.effect)
    studio.close()


def test_the_other_list_is_an_option_and_other_estimators_have_no_choice(ladder: Studio) -> None:
    assert state(ladder)["question"]["options"] == {}
    ladder.option("stepwise", "false")
    assert state(ladder)["question"]["options"] == {"stepwise": "false"}
    assert state(ladder)["rules"]["stale"]
    ladder.search()
    shown = idle(ladder)["rules"]
    assert len(shown["page"]["result"]["rules"]) == 5
    assert shown["page"]["view"]["staircase"] is None
    assert not shown["stale"]
    ladder.option("stepwise", "")
    ladder.option("estimator", "reliable")
    assert state(ladder)["question"]["options"] == {"estimator": "reliable", "stepwise": "false"}
    assert state(ladder)["question"]["error"] == ""
    (option,) = [each for each in state(ladder)["options"] if each["name"] == "stepwise"]
    assert (option["few"], option["kind"], option["default"]) == (True, "flag", "true")
    assert option["answers"]["true"] == "each rule adds to those above"


def test_a_list_of_a_version_with_another_default_answers_another_question(ladder: Studio, tmp_path: Path) -> None:
    ladder.option("stepwise", "false")
    ladder.search()
    idle(ladder)
    ladder.close()
    saved = tmp_path / "renewals.studio.json"
    old = json.loads(saved.read_text("utf-8"))
    del old["result"]["question"]["stepwise"], old["options"]["stepwise"], old["edited_from"]
    workspace = workspaces.read(json.dumps(old), "old")
    saved.write_text(workspaces.write(replace(workspace, asked=workspace.fingerprint())), encoding="utf-8")
    again = Studio(str(saved))
    assert idle(again)["rules"]["stale"]
    again.search()
    assert not idle(again)["rules"]["stale"]
    again.close()


def test_progress_names_the_check_and_the_rule(ladder: Studio) -> None:
    told: list[str] = []
    progress = checks._Progress(found(ladder), lambda **known: told.append(known["step"]))
    for check in registry.CHECKS[:2]:
        progress.begin(check)
        for done in (1, 2, 1, 1):
            progress(done, 2)
    assert told == [
        "chance",
        *(f"chance, rule {place} of 3" for place in (1, 1, 2, 3)),
        *["held-out rows"] * 5,
    ]


def test_what_is_left_of_an_effect_reaches_zero_at_gamma(kidney: Studio) -> None:
    kidney.search()
    idle(kidney)
    found = kidney.robust(0)
    left = dict(zip(found["strengths"], found["left"], strict=True))
    assert left[1.0] == pytest.approx(found["effect"])
    assert all((value > 0) == (gamma < found["gamma"]) for gamma, value in left.items())
    assert [each["control"] for each in found["landmarks"]] == ["size"]


def test_checks_are_run_on_demand_and_kept(kidney: Studio) -> None:
    kidney.search()
    idle(kidney)
    for name in ("sensitivity", "overlap", "honest"):
        kidney.check(name)
        assert name in idle(kidney)["rules"]["checked"]
    assert set(idle(kidney)["rules"]["checked"]) == {"sensitivity", "overlap", "honest"}
    offered = state(kidney)["rules"]["checks"]
    assert {"sensitivity", "overlap", "honest"} < {each["name"] for each in offered}
    assert all(each["title"] and each["about"] for each in offered)
    with pytest.raises(InputError, match="no check 'nothing'"):
        kidney.check("nothing")


def test_a_workspace_opens_again_as_it_was_left(tmp_path: Path) -> None:
    first = Studio(str(titanic(tmp_path)))
    idle(first)
    first.outcome("survived", "1", "decrease")
    first.roles([{"name": "sex", "role": "control"}, {"name": "sex", "role": "context"}])
    first.mark(["class"], "categorical", True)
    first.option("max_length", "2")
    first.option("min_coverage", "0.1")
    first.answer("a", "yes")
    first.graph_text("class -> survived; sex -> survived; u -> sex; u [latent]")
    first.search()
    idle(first)
    first.check("sensitivity")
    idle(first)
    first.keep(conditions("age <= 30"))
    before = idle(first)
    first.close()
    second = Studio(str(tmp_path / "titanic.csv"))  # finds the workspace next to it
    after = idle(second)
    second.close()
    for section in ("question", "graph", "said"):
        assert after[section] == before[section]
    assert after["question"]["context"] == ["sex"]
    assert after["rules"]["page"]["result"] == before["rules"]["page"]["result"]
    assert after["rules"]["edited"]["result"]["rules"] == before["rules"]["edited"]["result"]["rules"]
    assert (after["table"]["resumed"], after["rules"]["rows"]) == (True, False)
    # The same file in another folder, with its table.
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    taken = elsewhere / "mine.studio.json"
    taken.write_text(
        workspaces.write(replace(workspaces.load(tmp_path / "titanic.studio.json"), file="titanic.csv")),
        encoding="utf-8",
    )
    shutil.copy(tmp_path / "titanic.csv", elsewhere)
    third = Studio(str(taken))
    assert idle(third)["question"] == before["question"]
    third.forget()
    assert state(third)["question"]["target"] is None
    third.close()


def test_a_workspace_with_options_that_are_gone_is_opened(tmp_path: Path) -> None:
    result = json.loads((Path(__file__).parents[1] / "golden" / "old" / "titanic_ideas.json").read_text("utf-8"))
    asked = Workspace(file="titanic.csv", target="survived", control=("class",), actionable=("sex", "age"))
    old = replace(asked, options={"k": 2, "similarity": 0.4, "redundant": False, "confidence": 0.9}, result=result)
    titanic(tmp_path)
    saved = tmp_path / "old.studio.json"
    saved.write_text(workspaces.write(old), encoding="utf-8")
    assert workspaces.load(saved).options == {"k": 2}
    studio = Studio(str(saved))
    shown = idle(studio)["rules"]
    studio.close()
    assert [rule["rule"] for rule in shown["page"]["result"]["rules"]] == [rule["rule"] for rule in result["rules"]]
    assert shown["stale"]


def test_a_file_that_is_no_workspace_is_refused_by_name() -> None:
    for text in ("", "[]", "{}", '{"schema": "causalrules-studio/1", "actionable": 3}', '{"schema": "other"}'):
        with pytest.raises(DataError, match=r"'w\.studio\.json'"):
            workspaces.read(text, "w.studio.json")
    cyclic = workspaces.write(Workspace(graph=Drawing(("a", "b"), (("a", "b"), ("b", "a")))))
    with pytest.raises(InputError, match="cycle"):
        workspaces.read(cyclic, "w.studio.json")


def test_options_are_read_as_on_the_command_line() -> None:
    asked = Workspace(target="y", actionable=("x",)).with_option("max_length", "none").with_option("k", "3")
    assert asked.options == {"max_length": None, "k": 3}
    assert asked.with_option("max_length", "").options == {"k": 3}
    for name, text in (("k", "many"), ("k", "0"), ("error_rate", "2"), ("holdout", "/etc/passwd"), ("graph", "x")):
        with pytest.raises(OptionError):
            asked.with_option(name, text)


def test_an_outcome_by_mean_or_threshold(tmp_path: Path) -> None:
    studio = Studio(str(titanic(tmp_path)))
    idle(studio)
    studio.outcome("fare")
    assert state(studio)["question"]["level"].startswith("The mean of fare is 32.2")
    studio.outcome("fare", ">= 50")
    assert state(studio)["question"]["level"] == "fare ≥ 50 in 18.1 % of 891 rows."
    studio.outcome("fare", ">= fifty")
    assert "cannot be compared" in state(studio)["question"]["error"]
    studio.outcome("sex")
    assert "which value of 'sex'" in state(studio)["question"]["error"]
    # The previous outcome is actionable again.
    assert "fare" in state(studio)["question"]["actionable"]
    studio.missing(["0"])
    assert next(each for each in idle(studio)["table"]["columns"] if each["name"] == "survived")["n_missing"] == 549
    studio.close()


def test_columns_that_look_like_codes_or_identifiers_are_pointed_out(tmp_path: Path) -> None:
    rows = [f"{n},p{n},{(n % 5) * 100},{999 if n % 9 == 0 else n % 7},{n % 2}" for n in range(60)]
    path = tmp_path / "codes.csv"
    path.write_text("\n".join(["row,person,region_code,visits,y", *rows]) + "\n")
    studio = Studio(str(path))
    found = {each["name"]: each for each in idle(studio)["table"]["columns"]}
    assert "row number" in found["row"]["left_out"]
    assert "identifier" in found["person"]["left_out"]
    assert "codes rather than quantities?" in found["region_code"]["remarks"][0]
    assert found["visits"]["sentinel"] == "999"
    studio.outcome("y")
    assert state(studio)["question"]["actionable"] == ["region_code", "visits"]
    studio.close()


def test_one_job_runs_one_waits_and_another_may_replace_it() -> None:
    done: list[str] = []
    begun, go_on = threading.Event(), threading.Event()
    worker = Worker(lambda: None)

    def long(job: Job) -> None:
        begun.set()
        try:
            while not go_on.wait(0.005):
                job.tell(step="on")
            done.append(job.title)
        except KeyboardInterrupt:
            done.append(f"{job.title} stopped")
            raise

    worker.ask(Job("search", "first", long))
    assert begun.wait(60)
    worker.ask(Job("search", "second", lambda job: done.append(job.title)))
    worker.ask(Job("search", "third", lambda job: done.append(job.title)))
    assert worker.view()["waiting"] == "third"  # replaces the second
    worker.ask(Job("search", "fourth", lambda job: done.append(job.title)), replace=True)
    until(lambda: not worker.busy)
    assert done == ["first stopped", "fourth"]

    def wrong(job: Job) -> None:
        raise InputError("that cannot be")

    worker.ask(Job("check", "fifth", wrong))
    until(lambda: not worker.busy)
    assert worker.view()["error"] == {"kind": "check", "error": "that cannot be"}
    worker.close()


class Held:
    """Work that has begun, and ends when it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        self.begun, self._go = threading.Event(), threading.Event()
        real = getattr(searches, name)

        def held(*arguments: Any, **options: Any) -> Any:
            self.begun.set()
            assert self._go.wait(PATIENCE)
            return real(*arguments, **options)

        monkeypatch.setattr(searches, name, held)

    def let_go(self) -> None:
        self._go.set()


def test_what_a_search_finds_for_another_workspace_is_not_kept(
    kidney: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = Held(monkeypatch, "discover")
    kidney.search()
    assert search.begun.wait(PATIENCE)
    kidney.open(str(titanic(tmp_path)))
    search.let_go()
    idle(kidney)
    assert kidney.state.rules is None
    assert kidney.state.workspace.result is None
    assert kidney.state.table is not None
    assert "survived" in kidney.state.table.names


def test_rules_that_are_forgotten_during_a_search_do_not_come_back(
    kidney: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = Held(monkeypatch, "discover")
    kidney.search()
    assert search.begun.wait(PATIENCE)
    kidney.forget()
    search.let_go()
    idle(kidney)
    assert kidney.state.rules is None
    assert kidney.state.workspace.result is None


def test_a_front_that_waits_for_a_check_is_kept_with_what_the_check_found(
    ladder: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go = threading.Event(), threading.Event()
    real = checks.Tile.run

    def held(tile: checks.Tile, *arguments: Any) -> Any:
        begun.set()
        assert go.wait(PATIENCE)
        return real(tile, *arguments)

    monkeypatch.setattr(checks.Tile, "run", held)
    ladder.check("sensitivity")
    assert begun.wait(PATIENCE)
    ladder.front()
    go.set()
    idle(ladder)
    assert ladder.state.front is not None
    assert all(rule.evidence is not None and rule.evidence.sensitivity is not None for rule in found(ladder))


def test_a_check_that_cannot_run_says_why(ladder: Studio) -> None:
    ladder.check("honest")
    idle(ladder)
    assert all(rule.evidence is not None and rule.evidence.honest is not None for rule in found(ladder))
    ladder.check("honest")
    assert "Held-out rows: known already" in idle(ladder)["job"]["error"]["error"]
