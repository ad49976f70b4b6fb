import { count, difference, known, level } from "../format";
import { scale } from "../scale";
import type { Kind, Stratum } from "../types";

interface Props {
  strata: Stratum[];
  names: string[];
  kind: Kind;
}

/** Each stratum with its two levels, sorted by their difference; those without a comparison group only on request. */
export function Dumbbells({ strata, names, kind }: Props) {
  const named = strata.map((stratum, place) => ({ ...stratum, name: names[place] ?? "" }));
  const compared = named
    .filter((row) => known(row.difference))
    .sort((a, b) => (b.difference as number) - (a.difference as number));
  const alone = named.filter((row) => !known(row.difference));
  return (
    <>
      <Rows rows={compared} kind={kind} />
      {alone.length > 0 && (
        <details>
          <summary>
            {alone.length === 1 ? "1 stratum" : `${alone.length} strata`} without a comparison group (
            {count(alone.reduce((sum, row) => sum + row.n, 0))} rows)
          </summary>
          <Rows rows={alone} kind={kind} />
        </details>
      )}
    </>
  );
}

function Rows({ rows, kind }: { rows: (Stratum & { name: string })[]; kind: Kind }) {
  const on = scale(
    rows.flatMap((row) => [row.p_rule, row.p_not_rule]),
    known(kind.highest) ? [0, kind.highest] : [],
  );
  const largest = Math.max(...rows.map((row) => row.n), 1);
  return (
    <>
      <p class="key">
        <span>
          <svg width="12" height="12" aria-hidden="true">
            <circle class="effect" cx="6" cy="6" r="4" />
          </svg>
          rule holds
        </span>
        <span>
          <svg width="12" height="12" aria-hidden="true">
            <circle class="fails" cx="6" cy="6" r="4" />
          </svg>
          does not hold
        </span>
        <span>
          from {level(on.low, kind)} to {level(on.high, kind)}; larger dots: more rows
        </span>
      </p>
      <table class="strata">
        <thead>
          <tr>
            <th scope="col" class="words">stratum</th>
            <td></td>
            <th scope="col">rows</th>
            <th scope="col">holds</th>
            <th scope="col">does not</th>
            <th scope="col">difference</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, place) => {
            const radius = 2.5 + 4 * Math.sqrt(row.n / largest);
            return (
              <tr key={place} class={known(row.difference) && row.difference < 0 ? "negative" : undefined}>
                <th scope="row" class="words">
                  <bdi>{row.name}</bdi>
                </th>
                <td class="picture">
                  <svg
                    class="dumbbell"
                    width="100%"
                    height="18"
                    role="img"
                    aria-label={`${level(row.p_rule, kind)} instead of ${level(row.p_not_rule, kind)}`}
                  >
                    <line class="rail" x1="0" x2="100%" y1="9" y2="9" />
                    {known(row.p_rule) && known(row.p_not_rule) && (
                      <line class="link" x1={on.at(row.p_not_rule)} x2={on.at(row.p_rule)} y1="9" y2="9" />
                    )}
                    {known(row.p_not_rule) && <circle class="fails" cx={on.at(row.p_not_rule)} cy="9" r={radius} />}
                    {known(row.p_rule) && <circle class="effect" cx={on.at(row.p_rule)} cy="9" r={radius} />}
                  </svg>
                </td>
                <td data-label="rows">{count(row.n)}</td>
                <td data-label="holds">{level(row.p_rule, kind)}</td>
                <td data-label="does not">{level(row.p_not_rule, kind)}</td>
                <td data-label="difference">{difference(row.difference, kind)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </>
  );
}
