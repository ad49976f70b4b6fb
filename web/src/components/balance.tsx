import { known, number } from "../format";
import { scale } from "../scale";
import type { Balance as Row } from "../types";

const MOST = 20;

/** Standardised differences of the controls between the groups, before and after adjusting. */
export function Balance({ found }: { found: Row[] }) {
  const rows = found.slice(0, MOST).map((row) => ({ ...row, after: row.weighted ?? row.strata }));
  const on = scale(
    rows.flatMap((row) => [row.before, row.after].map((value) => (known(value) ? Math.abs(value) : value))),
    [0, 0.25],
  );
  return (
    <>
      <p class="key">
        <span>
          <svg width="12" height="12" aria-hidden="true">
            <circle class="fails" cx="6" cy="6" r="4" />
          </svg>
          before
        </span>
        <span>
          <svg width="12" height="12" aria-hidden="true">
            <circle class="effect" cx="6" cy="6" r="4" />
          </svg>
          after adjusting
        </span>
        <span>standardised difference; below 0.1 is small</span>
      </p>
      <table class="balance">
        <caption class="hidden-text">Balance of the controls between both groups</caption>
        <thead>
          <tr>
            <th scope="col" class="words">control</th>
            <td></td>
            <th scope="col">before</th>
            <th scope="col">after</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, place) => (
            <tr key={place}>
              <th scope="row" class="words">
                <bdi>{row.control.slice(0, 80)}</bdi>
              </th>
              <td class="picture" aria-hidden="true">
                <svg class="dumbbell" width="100%" height="16">
                  <line class="zero" x1={on.at(0.1)} x2={on.at(0.1)} y1="0" y2="16" />
                  {known(row.before) && <circle class="fails" cx={on.at(Math.abs(row.before))} cy="8" r="4" />}
                  {known(row.after) && <circle class="effect" cx={on.at(Math.abs(row.after))} cy="8" r="4" />}
                </svg>
              </td>
              <td>{number(row.before, 2)}</td>
              <td>{number(row.after, 2)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
