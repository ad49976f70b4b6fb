import { known } from "../format";
import type { Maybe, Rule, RuleView, View } from "../types";

interface Bar {
  name: string;
  value: Maybe;
  text: string;
  kind: "holds" | "fails";
}

interface Props {
  rule: Rule;
  said: RuleView;
  view: View;
}

const HEIGHT = 26;

/** Two levels as bars from 0: shares up to 100 %, means up to the larger one; with the number of rows. */
export function TwoBars({ rule, said, view }: Props) {
  const [holds, fails] = said.sides;
  const bars: Bar[] = [
    { name: holds, value: rule.p_do_rule, text: said.holds, kind: "holds" },
    { name: fails, value: rule.p_do_not_rule, text: said.fails, kind: "fails" },
  ];
  const values = bars.map((bar) => bar.value).filter(known);
  const low = Math.min(0, ...values);
  const high = view.kind.highest ?? Math.max(0, ...values);
  const share = (value: number): number => (100 * (value - low)) / (high - low || 1);
  return (
    <dl class="bars">
      {bars.map((bar) => (
        <div key={bar.kind} class={`bar ${bar.kind}`}>
          <dt>{bar.name}</dt>
          <dd>{bar.text}</dd>
          <dd class="picture" aria-hidden="true">
            <svg width="100%" height={HEIGHT}>
              <rect class="track" width="100%" height={HEIGHT} rx="4" />
              {known(bar.value) && (
                <rect
                  class="fill"
                  x={`${share(Math.min(0, bar.value))}%`}
                  width={`${Math.abs(share(bar.value) - share(0))}%`}
                  height={HEIGHT}
                  rx="4"
                />
              )}
            </svg>
          </dd>
        </div>
      ))}
      <div class="covered">
        <dt>covers</dt>
        <dd>
          <bdi>
            {said.covered}
            {said.mix && `; ${said.mix}`}
          </bdi>
        </dd>
      </div>
    </dl>
  );
}
