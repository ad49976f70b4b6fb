import { difference, known, percent } from "../format";
import { scale } from "../scale";
import type { Rule, RuleView } from "../types";

interface Props {
  rules: Rule[];
  views: RuleView[];
  shown: number[];
  noun: string;
  isMean: boolean;
  active: number | null;
  onActive: (place: number | null) => void;
  onOpen: (place: number) => void;
}

const HEIGHT = 280;

/** Effect against coverage, one numbered point per rule; linked to the list of rules. */
export function Scatter({ rules, views, shown, noun, isMean, active, onActive, onOpen }: Props) {
  const points = shown.filter((place) => known(rules[place]?.effect));
  const x = scale(points.map((place) => rules[place]?.coverage), [0], 5);
  const y = scale(points.map((place) => rules[place]?.effect), [0], 4);
  const down = (value: number): number => HEIGHT - 8 - ((HEIGHT - 24) * (value - y.low)) / (y.high - y.low);
  const said = active === null ? undefined : views[active];
  return (
    <figure class="scatter">
      <div class="plot">
        <svg width="100%" height={HEIGHT} role="group" aria-label={`${noun} and coverage of each rule`}>
          {y.ticks.map((tick) => (
            <g key={tick} aria-hidden="true">
              <line class={tick === 0 ? "zero" : "grid"} x1="0" x2="100%" y1={down(tick)} y2={down(tick)} />
              <text class="tick" x="-8" y={down(tick) + 4} text-anchor="end">
                {difference(tick, isMean).replace(/\.0$/, "")}
              </text>
            </g>
          ))}
          {x.ticks.map((tick) => (
            <text key={tick} aria-hidden="true" class="tick" x={x.at(tick)} y={HEIGHT + 14} text-anchor="middle">
              {percent(tick, x.high < 0.05 ? 1 : 0)}
            </text>
          ))}
          {points.map((place) => {
            const rule = rules[place];
            const view = views[place];
            if (!rule || !view || !known(rule.effect)) return null;
            const at = x.at(rule.coverage);
            return (
              <a
                key={place}
                href={`#rule-${place + 1}`}
                aria-label={`Rule ${place + 1}: ${view.text}; ${view.estimate}; ${view.covered}`}
                class={`dot tone-${view.evidence.tone}${active === place ? " active" : ""}`}
                data-place={place + 1}
                onClick={() => onOpen(place)}
                onFocus={() => onActive(place)}
                onBlur={() => onActive(null)}
                onMouseEnter={() => onActive(place)}
                onMouseLeave={() => onActive(null)}
              >
                <circle cx={at} cy={down(rule.effect)} r="10" />
                <text x={at} y={down(rule.effect) + 4} text-anchor="middle">
                  {place + 1}
                </text>
              </a>
            );
          })}
        </svg>
      </div>
      <figcaption>
        Across: coverage (share of rows). Up: {noun}
        {isMean ? "" : " (points)"}. Numbers are places in the list.
        <span class="readout" aria-live="polite">
          {said && active !== null ? (
            <>
              {active + 1}. <bdi>{said.text}</bdi>: {said.estimate}, {said.covered}
            </>
          ) : (
            ""
          )}
        </span>
      </figcaption>
    </figure>
  );
}
