import type { Condition } from "../types";

/** A rule in words; conditions that all rules of a list share can be muted. */
export function RuleWords({ conditions, shared }: { conditions: Condition[]; shared?: Set<string> }) {
  return (
    <span class="rule-words">
      {conditions.map((condition, place) => (
        <span key={place} class={shared?.has(condition.join("\u0000")) ? "shared" : undefined}>
          {place > 0 && " and "}
          <b>
            <bdi>{condition[0]}</bdi>
          </b>{" "}
          {condition[1]}{"\u00a0"}
          <b>
            <bdi>{condition[2]}</bdi>
          </b>
        </span>
      ))}
    </span>
  );
}

/** The conditions that every rule of a list has. */
export function sharedConditions(rules: { conditions: Condition[] }[]): Set<string> {
  const keys = rules.map((rule) => new Set(rule.conditions.map((each) => each.join("\u0000"))));
  const [first, ...others] = keys;
  if (!first || others.length === 0) return new Set();
  return new Set([...first].filter((key) => others.every((other) => other.has(key))));
}
