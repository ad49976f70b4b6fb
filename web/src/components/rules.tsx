import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { known, unbroken } from "../format";
import type { NumberView, Page, Rule, RuleView } from "../types";
import { Tag } from "./answers";
import { Card } from "./card";
import { ForestAxis, ForestKey, ForestRow, forestScale, marksOf } from "./forest";
import { Scatter } from "./scatter";
import { Staircase } from "./staircase";
import { RuleWords, sharedConditions } from "./words";

// A column of the table; a number of the rules by its heading.
type Key = "place" | "rule" | "evidence" | "effect" | { number: string };
type Order = "ascending" | "descending";

// Lists with at least this many rules have a filter.
const MANY = 5;
const inTable = (number: NumberView): boolean => number.in_table;
const TONES = ["good", "caution", "bad", "none"];
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
    default:
      return said.numbers.find((each) => each.name === key.number)?.value;
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
  const columns = view.rules[0]?.numbers.filter(inTable) ?? [];
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

  const heading = (name: Key, words: string, looks = "", first: Order = "ascending") => {
    const chosen = typeof name === "string" ? key === name : typeof key === "object" && key.number === name.number;
    return (
      <th scope="col" class={looks} aria-sort={chosen ? order : undefined}>
        <button
          type="button"
          onClick={() => {
            const opposite = first === "ascending" ? "descending" : "ascending";
            sort([name, chosen && order === first ? opposite : first]);
          }}
        >
          {words}
        </button>
      </th>
    );
  };

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
            {heading("effect", view.estimate, "", "descending")}
            {columns.map(({ name, ascending }) => heading({ number: name }, name, "", ascending ? "ascending" : "descending"))}
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
                {said.numbers.filter(inTable).map(({ name, text, more }) => (
                  <td key={name} class={more && "number"} data-label={name}>
                    {more ? <b>{text}</b> : text} {more && <span>{more}</span>}
                  </td>
                ))}
              </tr>
              {(isOpen || printing) && (
                <tr class="detail">
                  <td colSpan={5 + columns.length}>
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
