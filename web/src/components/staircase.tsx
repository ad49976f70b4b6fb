import { unbroken } from "../format";
import type { Rung, Staircase as Found } from "../types";

const HEIGHT = 190;
const TOP = 40;
const FOOT = 22;
// If the levels are close to each other and far from 0, the axis does not start at 0 and there are no areas.
const CLOSE = 0.25;

/** The levels where no rule holds, only the first, only the first two, and so on; with a table of the same numbers. */
export function Staircase({ found }: { found: Found }) {
  const { title, says, rungs } = found;
  return (
    <section class="staircase">
      <h3>{title}</h3>
      <p class="muted">
        <bdi>{unbroken(says)}</bdi>
      </p>
      <div class="stairs-pair">
        <Stairs title={title} rungs={rungs} />
        <table class="stairs-table">
          <thead>
            <tr>
              <th scope="col" class="words">
                where
              </th>
              <th scope="col">level</th>
              <th scope="col">{found.step}</th>
              <th scope="col">rows</th>
            </tr>
          </thead>
          <tbody>
            {rungs.map((rung, place) => (
              <tr key={rung.name}>
                <th scope="row" class="words">
                  {rung.name}
                  {rung.rule && (
                    <small>
                      <bdi>{place > 1 ? `and ${rung.rule}` : rung.rule}</bdi>
                    </small>
                  )}
                </th>
                <td>
                  <b>{unbroken(rung.level)}</b>
                </td>
                <td>{rung.step}</td>
                <td>
                  {rung.rows}
                  {rung.few && <small>few</small>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Stairs({ title, rungs }: { title: string; rungs: Rung[] }) {
  const values = rungs.map((rung) => rung.value);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const close = least > 0 && most - least < CLOSE * most;
  const low = close ? least - 0.5 * (most - least || most) : Math.min(0, least);
  const high = close ? most : Math.max(0, most);
  const floor = HEIGHT - FOOT;
  const y = (value: number): number => floor - ((floor - TOP) * (value - low)) / (high - low || 1);
  const width = 100 / rungs.length;
  const words = rungs.map((rung) => `${rung.name} ${rung.level}${rung.step && ` (${rung.step})`}, ${rung.rows} rows`);
  const base = close ? floor : y(0);
  return (
    <svg class="stairs" width="100%" height={HEIGHT} role="img" aria-label={`${title}: ${words.join("; ")}`}>
      {rungs.map((rung, place) => {
        const [x, at, before] = [place * width, y(rung.value), rungs[place - 1]];
        const tread = Math.min(at, base);
        return (
          <g key={rung.name} class={`stair${rung.few ? " few" : ""}${(rung.change ?? 0) < 0 ? " down" : ""}`}>
            {!close && <rect class="area" x={`${x}%`} width={`${width}%`} y={tread} height={Math.abs(base - at)} />}
            {before && <line class="riser" x1={`${x}%`} x2={`${x}%`} y1={y(before.value)} y2={at} />}
            <line class="tread" x1={`${x}%`} x2={`${x + width}%`} y1={at} y2={at} />
            <text class="stair-level" x={`${x + width / 2}%`} y={at - 20} text-anchor="middle">
              {unbroken(rung.level)}
            </text>
            <text class="stair-step" x={`${x + width / 2}%`} y={at - 6} text-anchor="middle">
              {rung.step}
            </text>
            <text class="stair-name" x={`${x + width / 2}%`} y={HEIGHT - 5} text-anchor="middle">
              {rung.short}
            </text>
          </g>
        );
      })}
      <line class="zero" x1="0" x2="100%" y1={base} y2={base} />
    </svg>
  );
}
