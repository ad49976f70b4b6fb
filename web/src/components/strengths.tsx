import { known, number } from "../format";
import type { Sensitivity } from "../types";

/** How strong an unmeasured confounder must be, beside the measured controls. */
export function Strengths({ found, noun }: { found: Sensitivity; noun: string }) {
  const rows: [string, number, string][] = [];
  const add = (name: string, value: number | null | undefined, kind: string): void => {
    if (known(value)) rows.push([name, value, kind]);
  };
  add(`needed to remove the ${noun}`, found.e_value, "needed");
  add("needed to reach its interval", found.e_value_limit, "needed");
  for (const control of found.controls.slice(0, 8)) add(control.control, control.strength, "control");
  const most = Math.max(...rows.map(([, value]) => value), 1.5);
  return (
    <table class="strengths">
      <caption class="hidden-text">Strength as a risk ratio; 1 is none</caption>
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
