import { unbroken } from "../format";
import type { Rule, View } from "../types";
import { Alerts, Chips } from "./answers";
import { TwoBars } from "./bars";
import { RuleWords } from "./words";

/** The first screen: the finding, its rows, the evidence and the claim; or that nothing was found. */
export function Hero({ view, rules }: { view: View; rules: Rule[] }) {
  const [rule, said] = view.lead === null ? [] : [rules[view.lead], view.rules[view.lead]];
  return (
    <header class={`hero tone-${view.tone}`} id="finding">
      <p class="kicker">
        {view.source && (
          <>
            <bdi>{view.source}</bdi> ·{" "}
          </>
        )}
        {view.table}
      </p>
      {rule && said ? (
        <>
          <h1>
            {view.headline[0]} <RuleWords conditions={said.conditions} />
          </h1>
          <p class="levels">
            <bdi>{unbroken(view.headline[1])}</bdi>
          </p>
          <TwoBars rule={rule} said={said} view={view} />
          <p class="measured">
            <bdi>{unbroken(said.measured)}</bdi>
          </p>
          <Chips evidence={said.evidence} claim={said.claim} />
        </>
      ) : (
        <>
          <h1>{view.headline[1]}</h1>
          {view.warning && <p class="measured">{view.warning}</p>}
        </>
      )}
      <Alerts alerts={view.alerts} />
    </header>
  );
}
