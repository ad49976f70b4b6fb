import type { ComponentChildren } from "preact";
import type { Graph as Drawing, Rule, RuleView, View } from "../types";
import { Alerts, Chips } from "./answers";
import { TwoBars } from "./bars";
import { Languages } from "./code";
import { Dumbbells } from "./dumbbells";
import { Evidence } from "./evidence";
import { Estimates } from "./forest";
import { Graph, RuleKey } from "./graph";

interface Props {
  children?: ComponentChildren;
  rule: Rule;
  said: RuleView;
  view: View;
  controlled: boolean;
}

const SMALL_GRAPH = 15;

const smallGraph = (drawing: Drawing | null): drawing is Drawing => drawing !== null && drawing.nodes.length <= SMALL_GRAPH;

/** Everything about one rule, in the order of likely questions; the page's additions follow the verdict. */
export function Card({ rule, said, view, controlled, children }: Props) {
  return (
    <div class="card">
      {said.reading.map((sentence) => (
        <p key={sentence}>
          <bdi>{sentence}</bdi>
        </p>
      ))}
      {said.held_fixed && (
        <p class="held-fixed">
          <bdi>{said.held_fixed}</bdi>
        </p>
      )}
      <dl class="covered">
        {said.numbers
          .filter((number) => number.in_card)
          .map(({ name, text, more }) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                {text} {more && <span class="muted">({more})</span>}
              </dd>
            </div>
          ))}
      </dl>
      <Alerts alerts={said.alerts} />
      <div class="pair">
        <div>
          <h3>Levels</h3>
          <TwoBars rule={rule} said={said} view={view} />
        </div>
        <div>
          <h3>Estimates</h3>
          <Estimates rule={rule} said={said} view={view} controlled={controlled} />
        </div>
      </div>
      <Chips evidence={said.evidence} claim={said.claim} />
      {children}
      <Evidence rule={rule} said={said} />
      {rule.strata.length > 1 && (
        <section>
          <h3>By stratum</h3>
          <Dumbbells strata={rule.strata} names={said.strata} kind={view.kind} />
          {said.strata_left && <p class="muted">{said.strata_left}</p>}
        </section>
      )}
      {smallGraph(view.graph) && (
        <section>
          <h3>In the causal graph</h3>
          <Graph
            drawing={view.graph}
            columns={said.conditions.map(([column]) => column)}
            control={said.control}
            blocked={said.blocked}
          />
          <RuleKey control={said.control} blocked={said.blocked} />
        </section>
      )}
      <section>
        <h3>Use it</h3>
        <Languages code={said.code} />
      </section>
    </div>
  );
}
