import type { ComponentChildren } from "preact";
import { difference, interval, known } from "../format";
import type { Scale } from "../scale";
import { scale } from "../scale";
import type { Kind, Maybe, Measured, Rule, RuleView, View } from "../types";

interface Marks {
  effect: Maybe;
  low?: Maybe;
  high?: Maybe;
  bound?: Maybe;
  unadjusted?: Maybe;
}

const Diamond = ({ x, y }: { x: string; y: number }) => (
  <svg x={x} y={y} class="point" width="1" height="1" overflow="visible">
    <path class="unadjusted" d="M-4.5 0L0 -4.5L4.5 0L0 4.5Z" />
  </svg>
);

/** An effect with its interval, or with its bound as a bar, and the unadjusted one as a diamond. */
export function ForestRow({ marks, on, label }: { marks: Marks; on: Scale; label: string }) {
  return (
    <svg class="forest" width="100%" height="20" role="img" aria-label={label}>
      <line class="zero" x1={on.at(0)} x2={on.at(0)} y1="0" y2="20" />
      {known(marks.low) && known(marks.high) && (
        <line class="between" x1={on.at(marks.low)} x2={on.at(marks.high)} y1="10" y2="10" />
      )}
      {known(marks.unadjusted) && <Diamond x={on.at(marks.unadjusted)} y={10} />}
      {known(marks.effect) && <circle class="effect" cx={on.at(marks.effect)} cy="10" r="4.2" />}
      {known(marks.bound) && <line class="bound" x1={on.at(marks.bound)} x2={on.at(marks.bound)} y1="2" y2="18" />}
    </svg>
  );
}

export function ForestAxis({ on, kind }: { on: Scale; kind: Kind }) {
  return (
    <svg class="axis" width="100%" height="14" aria-hidden="true">
      {on.ticks.map((tick) => (
        <text key={tick} x={on.at(tick)} y="11" text-anchor="middle">
          {difference(tick, kind).replace(/\.0+$|(\.\d*[1-9])0+$/, "$1")}
        </text>
      ))}
    </svg>
  );
}

export function ForestKey(props: { view: View; controlled: boolean; p: string; children?: ComponentChildren }) {
  const { view, controlled, p, children } = props;
  return (
    <p class="key">
      <span>
        <svg width="22" height="12" aria-hidden="true">
          <line class="between" x1="0" x2="22" y1="6" y2="6" />
          <circle class="effect" cx="11" cy="6" r="4" />
        </svg>
        {view.named ? `${view.estimate}, 95 % interval` : view.estimate}
      </span>
      {view.least && (
        <span>
          <svg width="10" height="12" aria-hidden="true">
            <line class="bound" x1="5" x2="5" y1="0" y2="12" />
          </svg>
          {view.least}: allowing for how many rules were tried (none: not more than chance)
        </span>
      )}
      {controlled && (
        <span>
          <svg width="12" height="12" aria-hidden="true">
            <path class="unadjusted" d="M1.5 6L6 1.5L10.5 6L6 10.5Z" />
          </svg>
          unadjusted
        </span>
      )}
      {p && <span>{p}</span>}
      {children}
    </p>
  );
}

/** The values drawn for a rule: its interval if it was named in advance, else a line from its bound to the effect. */
export const marksOf = (rule: Rule, named: boolean, controlled: boolean): Marks => ({
  effect: rule.effect,
  low: named ? rule.interval[0] : rule.at_least,
  high: named ? rule.interval[1] : rule.effect,
  bound: named ? null : rule.at_least,
  unadjusted: controlled ? rule.marginal_effect : null,
});

export const forestScale = (rules: Rule[], named: boolean, controlled: boolean, kind: Kind): Scale => {
  const inside = (value: Maybe): Maybe =>
    known(kind.farthest) && known(value) ? Math.min(Math.max(value, -kind.farthest), kind.farthest) : value;
  const marks = rules.flatMap((rule) => Object.values(marksOf(rule, named, controlled)));
  return scale(marks.map(inside), [0], 4);
};

/** All estimates of one rule, one per line: on searched rows, on held-out rows, by other methods. */
export function Estimates(props: { rule: Rule; said: RuleView; view: View; controlled: boolean }) {
  const { rule, said, view, controlled } = props;
  const [low, high] = rule.interval;
  const fixed: Marks = { effect: rule.effect, low, high };
  const rows: [string, Marks][] = [[said.estimated, view.named ? fixed : { effect: rule.effect }]];
  const { honest, doubly_robust: robust } = rule.evidence ?? {};
  const measured = ({ effect, low, high }: Measured): Marks => ({ effect, low, high });
  if (view.least) rows.push([view.least, { effect: null, bound: rule.at_least }]);
  if (!view.named) rows.push(["fixed in advance", fixed]);
  if (rule.alone && said.held_fixed) rows.push(["on its own", measured(rule.alone)]);
  if (honest && (honest.alike ?? honest.found) === honest.splits) rows.push(["on held-out rows", measured(honest)]);
  if (robust) rows.push(["doubly robust", measured(robust)]);
  if (controlled) rows.push(["unadjusted", { effect: null, unadjusted: rule.marginal_effect }]);
  const on = scale(rows.flatMap(([, marks]) => Object.values(marks).filter(known)));
  return (
    <table class="estimates">
      <caption class="hidden-text">All estimates of this rule</caption>
      <tbody>
        {rows.map(([name, marks]) => {
          const shown = { ...marks, effect: marks.effect ?? marks.unadjusted };
          const text = name === view.least ? said.at_least : interval(shown, view.kind);
          return (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td class="picture">
                <ForestRow marks={marks} on={on} label={`${name}: ${text}`} />
              </td>
              <td>{text}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
