import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { known, percent, unbroken } from "../format";
import type { Page, Rule, RuleView } from "../types";
import { Tag } from "./answers";
import { Card } from "./card";
import { ForestAxis, ForestKey, ForestRow, forestScale, marksOf } from "./forest";
import { Scatter } from "./scatter";
import { Staircase } from "./staircase";
import { RuleWords, sharedConditions } from "./words";

type Key = "place" | "rule" | "evidence" | "effect" | "bound" | "p" | "coverage";
type Order = "ascending" | "descending";

// Lists with at least this many rules have a filter.
const MANY = 5;
const TONES = ["good", "caution", "bad", "none"];
const FIRST: Record<Key, Order> = {
  place: "ascending",
  rule: "ascending",
  evidence: "ascending",
  effect: "descending",
  bound: "descending",
  p: "ascending",
  coverage: "descending",
};

function valueOf(key: Key, place: number, rule: Rule, said: RuleView): number | string | null | undefined {
  switch (key) {
    case "place":
      return place;
    case "rule":
      return said.text;
    case "evidence":
      return TONES.indexOf(said.evidence.tone);
    case "effect":
      return rule.effect;
    case "bound":
      return rule.at_least;
    case "p":
      return rule.p_value;
    case "coverage":
      return rule.coverage;
  }
}

/** An estimate and its interval on two lines. */
function Estimate({ text }: { text: string }) {
  const [number, interval] = text.split(/ (?=\()/);
  return (
    <>
      <b>{number}</b> {interval && <span>{interval}</span>}
    </>
  );
}

interface Props {
  page: Page;
  controlled: boolean;
  open: Set<number>;
  onToggle: (place: number, open?: boolean) => void;
  printing: boolean;
  inCard?: (place: number) => ComponentChildren;
}

/** The list of rules with a forest plot, linked to effect × coverage; a rule opens to its card. */
export function Rules({ page: { result, view }, controlled, open, onToggle, printing, inCard }: Props) {
  const [wanted, want] = useState("");
  const [[key, order], sort] = useState<[Key, Order]>(["place", "ascending"]);
  const [active, activate] = useState<number | null>(null);
  const on = useMemo(() => forestScale(result.rules, view.named, controlled, view.kind), []);
  const shared = useMemo(() => sharedConditions(view.rules), []);
  const tested = result.rules.some((rule) => known(rule.p_value));
  const places = view.rules
    .map((_, place) => place)
    .filter((place) => view.rules[place]?.text.toLowerCase().includes(wanted.trim().toLowerCase()))
    .sort((a, b) => compare(a, b));

  function compare(a: number, b: number): number {
    const [one, other] = [a, b].map((place) => {
      const [rule, said] = [result.rules[place], view.rules[place]];
      return rule && said ? valueOf(key, place, rule, said) : null;
    });
    if (one === null || one === undefined) return other === null || other === undefined ? a - b : 1;
    if (other === null || other === undefined) return -1;
    const sign = order === "ascending" ? 1 : -1;
    const found = typeof one === "string" ? one.localeCompare(String(other)) : one - Number(other);
    return sign * found || a - b;
  }

  const heading = (name: Key, words: string, looks = "") => (
    <th scope="col" class={looks} aria-sort={key === name ? order : undefined}>
      <button
        type="button"
        onClick={() => {
          const opposite = FIRST[name] === "ascending" ? "descending" : "ascending";
          sort([name, key === name && order === FIRST[name] ? opposite : FIRST[name]]);
        }}
      >
        {words}
      </button>
    </th>
  );

  const step = (event: KeyboardEvent): void => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const buttons = [...document.querySelectorAll<HTMLButtonElement>(".open-rule")];
    const place = buttons.indexOf(event.target as HTMLButtonElement);
    const next = buttons[place + (event.key === "ArrowDown" ? 1 : -1)];
    if (place >= 0 && next) {
      event.preventDefault();
      next.focus();
    }
  };

  return (
    <>
      <div class="tools">
        {view.rules.length >= MANY && (
          <>
            <input
              type="search"
              id="filter"
              placeholder="Filter rules"
              aria-label="Filter rules"
              value={wanted}
              onInput={(event) => want(event.currentTarget.value)}
            />
            <span id="shown" class="muted" aria-live="polite">
              {places.length} of {view.rules.length} shown
            </span>
          </>
        )}
      </div>
      <ForestKey view={view} controlled={controlled} p={tested ? view.p : ""}>
        {shared.size > 0 && (
          <span>
            <span class="shared">grey words</span> are in every rule
          </span>
        )}
      </ForestKey>
      <table class="rules" onKeyDown={step}>
        <thead>
          <tr>
            {view.rules.length > 1 ? heading("place", "#") : <td />}
            {heading("rule", "rule", "words")}
            {heading("evidence", "evidence", "words")}
            <td class="picture">
              <ForestAxis on={on} kind={view.kind} />
            </td>
            {heading("effect", view.estimate)}
            {view.least && heading("bound", view.least)}
            {tested && heading("p", "p")}
            {heading("coverage", "applies to")}
          </tr>
        </thead>
        {places.map((place) => {
          const [rule, said] = [result.rules[place], view.rules[place]];
          if (!rule || !said) return null;
          const isOpen = open.has(place);
          return (
            <tbody key={place} id={`rule-${place + 1}`} class={`${active === place ? "active" : ""}${said.unfound ? " unfound" : ""}`}>
              <tr
                class="head"
                onMouseEnter={() => activate(place)}
                onMouseLeave={() => activate(null)}
                onClick={() => {
                  if (!String(window.getSelection())) onToggle(place);
                }}
              >
                <td class="place">{view.rules.length > 1 && place + 1}</td>
                <th scope="row" class="words">
                  <button
                    type="button"
                    class="open-rule"
                    aria-expanded={isOpen}
                    onFocus={() => activate(place)}
                    onBlur={() => activate(null)}
                  >
                    <RuleWords conditions={said.conditions} shared={shared} />
                  </button>
                </th>
                <td class="words">
                  <Tag answer={said.evidence} />
                </td>
                <td class="picture">
                  <ForestRow
                    marks={marksOf(rule, view.named, controlled)}
                    on={on}
                    label={view.least ? `${said.estimate}; ${view.least}: ${said.at_least}` : said.estimate}
                  />
                </td>
                <td class={said.unfound ? "effect muted" : "effect"} data-label={view.estimate}>
                  <Estimate text={said.estimate} />
                </td>
                {view.least && <td data-label={view.least}>{said.at_least}</td>}
                {tested && <td data-label="p">{said.p}</td>}
                <td class="coverage" data-label="applies to">
                  <b>{percent(rule.coverage)}</b> {said.concerns && <span>{said.concerns}</span>}
                </td>
              </tr>
              {(isOpen || printing) && (
                <tr class="detail">
                  <td colSpan={6 + Number(tested) + Number(view.least !== "")}>
                    <Card rule={rule} said={said} view={view} controlled={controlled}>
                      {inCard?.(place)}
                    </Card>
                  </td>
                </tr>
              )}
            </tbody>
          );
        })}
      </table>
      {view.ending && (
        <p class="ending">
          <bdi>{unbroken(view.ending)}</bdi>
        </p>
      )}
      {view.staircase && <Staircase found={view.staircase} />}
      {view.lead !== null && places.length > 1 && (
        <>
          <h3>Effect and coverage</h3>
          <Scatter
            rules={result.rules}
            views={view.rules}
            shown={places}
            noun={view.noun}
            kind={view.kind}
            active={active}
            onActive={activate}
            onOpen={(place) => onToggle(place, true)}
          />
        </>
      )}
    </>
  );
}
