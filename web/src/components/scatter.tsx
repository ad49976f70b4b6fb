import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { difference, known, percent } from "../format";
import { beside } from "../labels";
import { scale } from "../scale";
import type { Kind, Rule, RuleView } from "../types";

interface Props {
  rules: Rule[];
  views: RuleView[];
  shown: number[];
  noun: string;
  kind: Kind;
  active: number | null;
  onActive: (place: number | null) => void;
  onOpen: (place: number) => void;
}

const HEIGHT = 280;
const RADIUS = 4.5;
// The size of a label, and the width of the plot before it is measured.
const LABEL = { width: 20, height: 14 };
const WIDTH = 640;

/** Effect against coverage, one numbered point per rule; linked to the list of rules. */
export function Scatter({ rules, views, shown, noun, kind, active, onActive, onOpen }: Props) {
  const points = shown.filter((place) => known(rules[place]?.effect));
  const x = scale(points.map((place) => rules[place]?.coverage), [0], 5);
  const y = scale(points.map((place) => rules[place]?.effect), [0], 4);
  const down = (value: number): number => HEIGHT - 8 - ((HEIGHT - 24) * (value - y.low)) / (y.high - y.low);
  const said = active === null ? undefined : views[active];
  const plot = useRef<SVGSVGElement>(null);
  const [width, measure] = useState(WIDTH);
  useLayoutEffect(() => {
    const found = plot.current;
    if (!found) return undefined;
    const watch = new ResizeObserver(() => measure(found.getBoundingClientRect().width || WIDTH));
    watch.observe(found);
    return () => watch.disconnect();
  }, []);
  const across = (place: number): number => (width * Number.parseFloat(x.at(rules[place]?.coverage ?? 0))) / 100;
  const spots = points.map((place) => ({ x: across(place), y: down(rules[place]?.effect ?? 0) }));
  const labels = beside(spots, LABEL, RADIUS, { width, height: HEIGHT });
  return (
    <figure class="scatter">
      <div class="plot">
        <svg ref={plot} width="100%" height={HEIGHT} role="group" aria-label={`${noun} and coverage of each rule`}>
          {y.ticks.map((tick) => (
            <g key={tick} aria-hidden="true">
              <line class={tick === 0 ? "zero" : "grid"} x1="0" x2="100%" y1={down(tick)} y2={down(tick)} />
              <text class="tick" x="-8" y={down(tick) + 4} text-anchor="end">
                {difference(tick, kind).replace(/\.0+$|(\.\d*[1-9])0+$/, "$1")}
              </text>
            </g>
          ))}
          {x.ticks.map((tick) => (
            <text key={tick} aria-hidden="true" class="tick" x={x.at(tick)} y={HEIGHT + 14} text-anchor="middle">
              {percent(tick, x.high < 0.05 ? 1 : 0)}
            </text>
          ))}
          {points.map((place, number) => {
            const label = labels[number];
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
                <circle class="reach" cx={at} cy={down(rule.effect)} r="12" />
                <circle cx={at} cy={down(rule.effect)} r={RADIUS} />
                {label && (
                  <svg x={at} y={down(rule.effect)} width="1" height="1" overflow="visible">
                    {label.far && <line class="leader" x1={label.x * 0.3} y1={label.y * 0.3} x2={label.x * 0.75} y2={label.y * 0.75} />}
                    <text x={label.x} y={label.y + 4} text-anchor="middle">
                      {place + 1}
                    </text>
                  </svg>
                )}
              </a>
            );
          })}
        </svg>
      </div>
      <figcaption>
        Across: coverage (share of rows). Up: {noun}
        {kind.unit && ` (${kind.unit})`}. Numbers are places in the list.
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
