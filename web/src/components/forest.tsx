import type { ComponentChildren } from "preact";
import { difference, interval, known } from "../format";
import type { Scale } from "../scale";
import { scale } from "../scale";
import type { Kind, Maybe, Measured, Rule, RuleView } from "../types";

interface Marks {
  effect: Maybe;
  low?: Maybe;
  high?: Maybe;
  conservative?: Maybe;
  unadjusted?: Maybe;
}

const Diamond = ({ x, y }: { x: string; y: number }) => (
  <svg x={x} y={y} class="point" width="1" height="1" overflow="visible">
    <path class="unadjusted" d="M-4.5 0L0 -4.5L4.5 0L0 4.5Z" />
  </svg>
);

/** An effect with its interval, the conservative effect as a bar and the unadjusted one as a diamond. */
export function ForestRow({ marks, on, label }: { marks: Marks; on: Scale; label: string }) {
  return (
    <svg class="forest" width="100%" height="20" role="img" aria-label={label}>
      <line class="zero" x1={on.at(0)} x2={on.at(0)} y1="0" y2="20" />
      {known(marks.low) && known(marks.high) && (
        <line class="between" x1={on.at(marks.low)} x2={on.at(marks.high)} y1="10" y2="10" />
      )}
      {known(marks.unadjusted) && <Diamond x={on.at(marks.unadjusted)} y={10} />}
      {known(marks.effect) && <circle class="effect" cx={on.at(marks.effect)} cy="10" r="4.2" />}
      {known(marks.conservative) && (
        <line class="conservative" x1={on.at(marks.conservative)} x2={on.at(marks.conservative)} y1="2" y2="18" />
      )}
    </svg>
  );
}

export function ForestAxis({ on, kind }: { on: Scale; kind: Kind }) {
  return (
    <svg class="axis" width="100%" height="14" aria-hidden="true">
      {on.ticks.map((tick) => (
        <text key={tick} x={on.at(tick)} y="11" text-anchor="middle">
          {difference(tick, kind).replace(/\.0$/, "")}
        </text>
      ))}
    </svg>
  );
}

export function ForestKey(props: { estimate: string; controlled: boolean; p: string; children?: ComponentChildren }) {
  const { estimate, controlled, p, children } = props;
  return (
    <p class="key">
      <span>
        <svg width="22" height="12" aria-hidden="true">
          <line class="between" x1="0" x2="22" y1="6" y2="6" />
          <circle class="effect" cx="11" cy="6" r="4" />
        </svg>
        {estimate}, 95 % interval
      </span>
      <span>
        <svg width="10" height="12" aria-hidden="true">
          <line class="conservative" x1="5" x2="5" y1="0" y2="12" />
        </svg>
        conservative: less a margin for chance (none: nothing is left)
      </span>
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

/** The values drawn for a rule; no conservative effect if the margin exceeds the effect. */
export const marksOf = (rule: Rule, said: RuleView | undefined, controlled: boolean): Marks => ({
  effect: rule.effect,
  low: rule.interval[0],
  high: rule.interval[1],
  conservative: said?.stands_out ? rule.reliable_effect : null,
  unadjusted: controlled ? rule.marginal_effect : null,
});

export const forestScale = (rules: Rule[], views: RuleView[], controlled: boolean, kind: Kind): Scale => {
  const inside = (value: Maybe): Maybe => 
    known(kind.farthest) && known(value) ? Math.min(Math.max(value, -kind.farthest), kind.farthest) : value;
  const marks = rules.flatMap((rule, place) => Object.values(marksOf(rule, views[place], controlled)));
  return scale(marks.map(inside), [0], 4);
};

/** All estimates of one rule, one per line: on searched rows, on held-out rows, by other methods. */
export function Estimates(props: { rule: Rule; said: RuleView; controlled: boolean; kind: Kind }) {
  const { rule, said, controlled, kind } = props;
  const { conservative, ...marks } = marksOf(rule, said, false);
  const rows: [string, Marks][] = [[said.estimated, marks]];
  const { honest, doubly_robust: robust } = rule.evidence ?? {};
  const measured = ({ effect, low, high }: Measured): Marks => ({ effect, low, high });
  if (rule.alone && said.held_fixed) rows.push(["on its own", measured(rule.alone)]);
  if (honest) rows.push(["on held-out rows", measured(honest)]);
  if (robust) rows.push(["doubly robust", measured(robust)]);
  if (controlled) rows.push(["unadjusted", { effect: null, unadjusted: rule.marginal_effect }]);
  rows.push(["conservative", { effect: null, conservative }]);
  const on = scale(rows.flatMap(([, marks]) => Object.values(marks).filter(known)));
  return (
    <>
      <table class="estimates">
        <caption class="hidden-text">All estimates of this rule</caption>
        <tbody>
          {rows.map(([name, marks]) => {
            const shown = { ...marks, effect: marks.effect ?? marks.unadjusted ?? marks.conservative };
            const text = name === "conservative" ? said.conservative : interval(shown, kind);
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
      {said.whose && <p class="key">{said.whose}</p>}
    </>
  );
}
