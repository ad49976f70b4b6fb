import type { Rule, RuleView } from "../types";
import { Balance } from "./balance";
import { Words } from "./sections";
import { Strengths } from "./strengths";

/** The sections of a rule's evidence, with their figures. */
export function Evidence({ rule, said }: { rule: Rule; said: RuleView }) {
  const sensitivity = rule.evidence?.sensitivity;
  const balance = rule.evidence?.balance ?? [];
  return (
    <>
      {said.sections.map((section) => (
        <section key={section.title}>
          <h3>{section.title}</h3>
          <Words section={section} table={section.about !== "balance"}>
            {section.about === "confounding" && sensitivity && <Strengths found={sensitivity} />}
            {section.about === "balance" && balance.length > 0 && <Balance found={balance} />}
          </Words>
        </section>
      ))}
    </>
  );
}
