import { unbroken } from "../format";
import type { Alert, Answer } from "../types";

/** One answer as a chip: question, verdict and reason. */
export function Chip({ answer }: { answer: Answer }) {
  return (
    <div class={`chip tone-${answer.tone}`}>
      <dt>{answer.asks}</dt>
      <dd>{answer.word}</dd>
      {answer.why && (
        <dd class="why">
          <bdi>{unbroken(answer.why)}</bdi>
        </dd>
      )}
    </div>
  );
}

export function Chips({ evidence, claim }: { evidence: Answer; claim: Answer }) {
  return (
    <dl class="chips">
      <Chip answer={evidence} />
      <Chip answer={claim} />
    </dl>
  );
}

/** A small label for tables. */
export const Tag = ({ answer }: { answer: Answer }) => (
  <span class={`tag tone-${answer.tone}`}>{answer.word}</span>
);

export function Alerts({ alerts }: { alerts: Alert[] }) {
  if (alerts.length === 0) return null;
  return (
    <ul class="alerts">
      {alerts.map((alert) => (
        <li key={alert.title}>
          <b>{alert.title}.</b> <bdi>{alert.text}</bdi>
        </li>
      ))}
    </ul>
  );
}
