import type { Alert, Answer } from "../types";

/** One answer as a chip: its question, its word, and why. */
export function Chip({ label, answer, why = true }: { label: string; answer: Answer; why?: boolean }) {
  return (
    <div class={`chip tone-${answer.tone}`}>
      <dt>{label}</dt>
      <dd>{answer.word}</dd>
      {why && answer.why && (
        <dd class="why">
          <bdi>{answer.why}</bdi>
        </dd>
      )}
    </div>
  );
}

export function Chips({ evidence, claim }: { evidence: Answer; claim: Answer }) {
  return (
    <dl class="chips">
      <Chip label="Evidence" answer={evidence} />
      <Chip label="Claim" answer={claim} />
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
