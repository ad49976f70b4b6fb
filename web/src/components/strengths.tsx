import { known, number } from "../format";
import type { Sensitivity } from "../types";

/** How strong an unmeasured confounder must be, by Γ or else by E-values, beside the measured controls. */
export function Strengths({ found }: { found: Sensitivity }) {
  const rows: [string, number, string][] = [];
  const add = (name: string, value: number | null | undefined, kind: string): void => {
    if (known(value)) rows.push([name, value, kind]);
  };
  const gamma = known(found.gamma);
  add("needed for an estimate of 0", gamma ? found.gamma : found.e_value, "needed");
  add("needed for an interval with 0", gamma ? found.gamma_limit : found.e_value_limit, "needed");
  for (const control of found.controls.slice(0, 8)) {
    add(`measured: ${control.control}`, gamma ? control.gamma : control.strength, "control");
  }
  const most = Math.max(...rows.map(([, value]) => value), 1.5);
  return (
    <table class="strengths">
      <caption class="hidden-text">Strength of a confounder as a factor; 1 is none</caption>
      <tbody>
        {rows.map(([name, value, kind], place) => (
          <tr key={place} class={kind}>
            <th scope="row">
              <bdi>{name.slice(0, 80)}</bdi>
            </th>
            <td class="picture" aria-hidden="true">
              <svg width="100%" height="14">
                <rect width={`${Math.max(0.5, (100 * (value - 1)) / (most - 1))}%`} y="2" height="10" rx="2" />
              </svg>
            </td>
            <td>{number(value, 2)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
