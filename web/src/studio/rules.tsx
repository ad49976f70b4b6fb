import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { Tag } from "../components/answers";
import { TwoBars } from "../components/bars";
import { Hero } from "../components/hero";
import { Rules } from "../components/rules";
import { count, known, percent } from "../format";
import type { Page, Rule } from "../types";
import { Act, useSend } from "./acting";
import { send } from "./server";
import type { Condition, State } from "./state";

interface JsonRule extends Rule {
  conditions: { column: string; operator: string; value: unknown; shown?: number }[];
  control?: string[];
}

interface Measured extends Page {
  shared: { both: number; one: number; other: number; share: number } | null;
}

interface Values {
  name: string;
  ordered: boolean;
  values: string[];
}

const written = (value: unknown): string =>
  value === true ? "True" : value === false ? "False" : typeof value === "number" ? String(value) : String(value);

const conditionsOf = (rule: Rule): Condition[] =>
  (rule as JsonRule).conditions.map((each) => ({ column: each.column, operator: each.operator, value: written(each.value) }));

const SIGNS: Record<string, string> = { "<=": "≤", ">=": "≥", "=": "=" };

/** The index of a value among those of a column, or of the nearest number. */
function placeOf(value: string, values: string[]): number {
  const exact = values.indexOf(value);
  if (exact >= 0) return exact;
  const wanted = Number(value);
  let nearest = 0;
  values.forEach((each, place) => {
    if (Math.abs(Number(each) - wanted) < Math.abs(Number(values[nearest]) - wanted)) nearest = place;
  });
  return nearest;
}

/** Sends the latest of many requests, one at a time. */
function useLatest<T>(work: (wanted: T) => Promise<void>): (wanted: T) => void {
  const waiting = useRef<{ wanted: T } | null>(null);
  const busy = useRef(false);
  return (wanted) => {
    waiting.current = { wanted };
    if (busy.current) return;
    busy.current = true;
    void (async () => {
      while (waiting.current) {
        const next = waiting.current.wanted;
        waiting.current = null;
        await work(next);
      }
      busy.current = false;
    })();
  };
}

function Cut({ condition, onChange }: { condition: Condition; onChange: (value: string) => void }) {
  const act = useContext(Act);
  const [found, keep] = useState<Values | null>(null);
  useEffect(() => {
    void act(send<Values>("column", { name: condition.column }).then(keep));
  }, [condition.column]);
  if (!found) return <span class="muted">{condition.value.slice(0, 60)}</span>;
  const label = `${condition.column} ${SIGNS[condition.operator] ?? condition.operator}`;
  if (!found.ordered || condition.operator === "=") {
    return (
      <select class="field" aria-label={label.slice(0, 200)} value={condition.value} onChange={(event) => onChange(event.currentTarget.value)}>
        {[...new Set([condition.value, ...found.values])].map((value) => (
          <option key={value} value={value}>
            {value.slice(0, 60)}
          </option>
        ))}
      </select>
    );
  }
  return (
    <span class="cut">
      <input
        type="range"
        min={0}
        max={found.values.length - 1}
        value={placeOf(condition.value, found.values)}
        aria-label={label.slice(0, 200)}
        aria-valuetext={condition.value}
        onInput={(event) => onChange(found.values[Number(event.currentTarget.value)] ?? condition.value)}
      />
      <output>{condition.value}</output>
    </span>
  );
}

/** Drop conditions and move cuts; the numbers update. */
function RuleEditor({ rule, original, place }: { rule: Rule; original: string; place: number }) {
  const act = useContext(Act);
  const tell = useSend();
  const [conditions, change] = useState<Condition[]>(() => conditionsOf(rule));
  const [measured, keep] = useState<Measured | null>(null);
  const [milliseconds, time] = useState(0);
  const control = (rule as JsonRule).control ?? null;
  const measure = useLatest<Condition[]>(async (wanted) => {
    const begun = performance.now();
    await act(send<Measured>("measure", { rules: [wanted], control, place }).then(keep));
    time(performance.now() - begun);
  });
  const set = (next: Condition[]): void => {
    change(next);
    if (next.length > 0) measure(next);
  };
  const said = measured?.view.rules[0];
  const number = measured?.result.rules[0];
  const edited = measured !== null && said !== undefined && said.text !== original;
  return (
    <section class="editing" aria-label="Edit this rule">
      <h3>
        Edit this rule {edited && <span class="tag tone-caution">edited by hand</span>}
      </h3>
      <ul class="conditions">
        {conditions.map((condition, place) => (
          <li key={`${condition.column}${condition.operator}`}>
            <span class="condition-name">
              <bdi>{condition.column.slice(0, 60)}</bdi> {SIGNS[condition.operator]}
            </span>
            <Cut
              condition={condition}
              onChange={(value) => set(conditions.map((each, at) => (at === place ? { ...each, value } : each)))}
            />
            <button
              type="button"
              class="button"
              disabled={conditions.length === 1}
              aria-label={`Drop ${condition.column.slice(0, 200)}`}
              onClick={() => set(conditions.filter((_, at) => at !== place))}
            >
              Drop
            </button>
          </li>
        ))}
      </ul>
      {edited && said && number && (
        <div class="edited-numbers" data-milliseconds={Math.round(milliseconds)} aria-live="polite">
          <p>
            <b>
              <bdi>{said.text}</bdi>
            </b>
          </p>
          <TwoBars rule={number} said={said} view={measured.view} />
          <p>
            {said.held_fixed && "Adds "}
            <b>{said.estimate}</b>
            {known(number.effect) && `; conservative ${said.conservative}`} <Tag answer={said.evidence} />
          </p>
          <p class="muted small">
            Chosen after seeing the data: the interval is that of a rule fixed in advance. The conservative{" "}
            {measured.view.noun} has the margin of the search, which does not cover cuts that were not searched; held-out
            rows would.
          </p>
          <div class="line">
            <button type="button" class="button" onClick={() => void tell("keep", { conditions, place })}>
              Keep it
            </button>
            <button
              type="button"
              class="button"
              onClick={() => {
                change(conditionsOf(rule));
                keep(null);
              }}
            >
              Reset
            </button>
          </div>
        </div>
      )}
    </section>
  );
}

interface Named {
  label: string;
  rule: Rule;
}

/** Two rules side by side, with the rows that they share. */
function Compare({ named }: { named: Named[] }) {
  const act = useContext(Act);
  const [pair, choose] = useState<[number, number]>([0, 1]);
  const [found, keep] = useState<Measured | null>(null);
  const [one, other] = [named[pair[0]], named[pair[1]]];
  const key = `${one?.label}\u0000${other?.label}`;
  useEffect(() => {
    if (!one || !other) return;
    const control = (one.rule as JsonRule).control ?? null;
    void act(send<Measured>("measure", { rules: [conditionsOf(one.rule), conditionsOf(other.rule)], control }).then(keep));
  }, [key]);
  if (named.length < 2) return <p class="muted">There is only one rule to compare.</p>;
  const pick = (side: 0 | 1) => (
    <label class="inline">
      <span class="hidden-text">{side === 0 ? "First rule" : "Second rule"}</span>
      <select
        class="field"
        aria-label={side === 0 ? "First rule" : "Second rule"}
        value={pair[side]}
        onChange={(event) => {
          const next: [number, number] = [...pair];
          next[side] = Number(event.currentTarget.value);
          choose(next);
        }}
      >
        {named.map((each, place) => (
          <option key={place} value={place}>
            {each.label.slice(0, 100)}
          </option>
        ))}
      </select>
    </label>
  );
  const shared = found?.shared;
  const either = shared ? shared.one + shared.other - shared.both : 1;
  const parts: [string, number][] = shared
    ? [
        ["only the first", shared.one - shared.both],
        ["both", shared.both],
        ["only the second", shared.other - shared.both],
      ]
    : [];
  let x = 0;
  return (
    <div class="compare">
      <div class="line">
        {pick(0)} and {pick(1)}
      </div>
      {found && shared && (
        <>
          <figure>
            <svg width="100%" height="30" role="img" aria-label={`${percent(shared.share, 0)} of the rows that either covers are shared`}>
              {parts.map(([name, rows]) => {
                const width = (100 * rows) / Math.max(either, 1);
                const start = x;
                x += width;
                return <rect key={name} class={name.replaceAll(" ", "-")} x={`${start}%`} width={`${width}%`} height="30" />;
              })}
            </svg>
            <figcaption class="key">
              {parts.map(([name, rows]) => (
                <span key={name} class={`key-${name.replaceAll(" ", "-")}`}>
                  {name}: {count(rows)} rows
                </span>
              ))}
              <span>{percent(shared.share, 0)} shared (Jaccard)</span>
            </figcaption>
          </figure>
          <table class="data">
            <thead>
              <tr>
                <th scope="col">
                  <span class="hidden-text">What</span>
                </th>
                {found.view.rules.map((said) => (
                  <th key={said.text} scope="col">
                    <bdi>{said.text}</bdi>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {(
                [
                  [found.view.estimate, (place) => found.view.rules[place]?.estimate],
                  [`conservative ${found.view.noun}`, (place) => found.view.rules[place]?.conservative],
                  ["where it holds", (place) => found.view.rules[place]?.holds],
                  ["where it does not", (place) => found.view.rules[place]?.fails],
                  ["rows", (place) => found.view.rules[place]?.covered],
                  ["claim", (place) => found.view.rules[place]?.claim.word],
                ] as [string, (place: number) => string | undefined][]
              ).map(([name, value]) => (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  {found.view.rules.map((_, place) => (
                    <td key={place}>{value(place)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </>
      )}
    </div>
  );
}

const controlsOf = (page: Page): boolean => (page.result.question.control ?? []).length > 0;

function List({ page, editing, from = (place) => place }: { page: Page; editing: boolean; from?: (place: number) => number }) {
  const [open, set] = useState<Set<number>>(new Set());
  return (
    <Rules
      page={page}
      controlled={controlsOf(page)}
      open={open}
      printing={false}
      onToggle={(place, wanted) => {
        const next = new Set(open);
        if (wanted ?? !open.has(place)) next.add(place);
        else next.delete(place);
        set(next);
      }}
      inCard={(place) => {
        const [rule, said] = [page.result.rules[place], page.view.rules[place]];
        return editing && rule && said && <RuleEditor rule={rule} original={said.text} place={from(place)} />;
      }}
    />
  );
}

type Tab = "list" | "front" | "edited" | "compare";

export function RulesStep({ state }: { state: State }) {
  const tell = useSend();
  const [tab, show] = useState<Tab>("list");
  const { page, front, edited, stale, rows } = state.rules;
  if (!page) {
    return (
      <div class="step">
        <h1>Rules</h1>
        <p class="lead">
          Nothing was searched yet: <a href="#search">Search</a>.
        </p>
      </div>
    );
  }
  const measured = edited && !edited.error ? edited : null;
  const named: Named[] = [
    ...page.result.rules.map((rule, place) => ({ label: `${place + 1}. ${page.view.rules[place]?.text}`, rule })),
    ...(measured?.result.rules ?? []).map((rule, place) => ({ label: `edited: ${measured?.view.rules[place]?.text}`, rule })),
  ];
  const tabs: [Tab, string][] = [
    ["list", `Rules (${page.result.rules.length})`],
    ["front", "Effect and coverage"],
    ["edited", `Edited by hand (${measured?.result.rules.length ?? 0})`],
    ["compare", "Compare two"],
  ];
  // A new result gets a new list: open rules and sorting belong to one result.
  const version = (found: Page): string => found.view.rules.map((rule) => `${rule.text}${rule.numbers.map((number) => number.text)}${rule.claim.word}`).join("\u0000");
  return (
    <div class="step rules-step">
      <h1 class="hidden-text">Rules</h1>
      {stale && (
        <p class="notice tone-caution" role="status">
          These rules answer another question than the one asked now. <a href="#search">Search again</a>
        </p>
      )}
      <Hero view={page.view} rules={page.result.rules} />
      <div class="choices tabs" role="group" aria-label="Lists">
        {tabs.map(([name, words]) => (
          <button key={name} type="button" aria-pressed={tab === name} onClick={() => show(name)}>
            {words}
          </button>
        ))}
      </div>
      <h2 class="hidden-text">{tabs.find(([name]) => name === tab)?.[1]}</h2>
      {tab === "list" && (
        <>
          {page.view.adds && <p>{page.view.adds}</p>}
          <p class="muted small">
            {page.view.meaning} {page.view.proof} {page.view.rules_left}
          </p>
          <List key={version(page)} page={page} editing />
        </>
      )}
      {tab === "front" &&
        (front ? (
          <>
            <p class="muted small">For every coverage, the best rule there is.</p>
            <List key={version(front)} page={front} editing from={() => 0} />
          </>
        ) : (
          <section class="panel">
            <p>The best rule for every coverage: from few rows and a large {page.view.noun} to many rows and a small one.</p>
            <button type="button" class="button main-button" disabled={!rows || state.job.kind === "front"} onClick={() => void tell("front")}>
              {state.job.kind === "front" ? "Searching…" : "Find the front"}
            </button>
            {!rows && <p class="muted small">This result was opened again, without its rows: search again first.</p>}
          </section>
        ))}
      {tab === "edited" && (
        <>
          {edited?.error && (
            <p class="problem">
              <bdi>{edited.error}</bdi>
            </p>
          )}
          {measured ? (
            <>
              <p class="muted small">
                Chosen after seeing the data: these numbers describe the rows, and the margin is that of the search.
              </p>
              <List key={version(measured)} page={measured} editing={false} />
              <ul class="drops">
                {measured.view.rules.map((rule, place) => (
                  <li key={rule.text}>
                    <bdi>{rule.text}</bdi>{" "}
                    <button type="button" class="plain" onClick={() => void tell("drop", { place })}>
                      Remove
                    </button>
                  </li>
                ))}
              </ul>
            </>
          ) : (
            <p class="muted">Open a rule, move a cut or drop a condition, and keep what you made.</p>
          )}
        </>
      )}
      {tab === "compare" && (
        <>
          {page.view.adds && <p class="muted small">Each rule on its own: no columns of other rules are held fixed.</p>}
          <Compare named={named} />
        </>
      )}
    </div>
  );
}
