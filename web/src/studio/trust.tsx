import { useEffect, useState } from "preact/hooks";
import { Chips } from "../components/answers";
import { Evidence } from "../components/evidence";
import { RuleWords } from "../components/words";
import { known, number } from "../format";
import { useSend } from "./acting";
import { send } from "./server";
import type { State } from "./state";

function Checks({ state }: { state: State }) {
  const tell = useSend();
  const { job, rules } = state;
  const checking = job.kind === "check";
  const { done, total, step } = job.told;
  return (
    <section aria-labelledby="checks-title">
      <h2 id="checks-title">Checks</h2>
      {!rules.rows && <p class="muted small">This result was opened again, without its rows: search again to check it.</p>}
      <div class="line actions">
        <button type="button" class="button main-button" disabled={!rules.rows || checking} onClick={() => void tell("check", { what: "everything" })}>
          Run all checks
        </button>
        {checking && (
          <button type="button" class="button" onClick={() => void tell("stop")}>
            Stop
          </button>
        )}
      </div>
      {checking && (
        <div class="progress-line" role="status">
          <span>
            {job.title}
            {step ? `: ${step}` : ""} {total ? `(${done ?? 0} of ${total})` : ""}
          </span>
          <progress max={total ?? 1} value={total ? (done ?? 0) : undefined} aria-label={job.title} />
        </div>
      )}
      {job.error?.kind === "check" && (
        <p class="notice tone-caution" role="alert">
          <bdi>{job.error.error}</bdi>
        </p>
      )}
      <ul class="checks">
        {rules.checks.map(({ name, title, about }) => {
          const there = rules.checked.includes(name);
          return (
            <li key={name}>
              <button type="button" class="check" disabled={!rules.rows || checking} onClick={() => void tell("check", { what: name })}>
                <span class={`mark${there ? " there" : ""}`} aria-hidden="true">
                  {there ? "✓" : ""}
                </span>
                <span>
                  <b>{title}</b>
                  {there && <span class="hidden-text">, done</span>}
                  <small>{about}</small>
                </span>
              </button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

interface Robust {
  strengths: number[];
  left: number[];
  ends: number[];
  texts: string[];
  effect: number;
  gamma: number;
  gamma_limit: number;
  landmarks: { control: string; gamma: number }[];
  sentence: string;
}

/** How strong would a hidden confounder have to be? Measured controls are the benchmarks. */
function Slider({ place, version, noun }: { place: number; version: string; noun: string }) {
  const [found, keep] = useState<Robust | null>(null);
  const [why, explain] = useState("");
  const [at, move] = useState(0);
  useEffect(() => {
    keep(null);
    move(0);
    send<Robust>("robust", { place }).then(
      (robust) => {
        keep(robust);
        explain("");
      },
      (problem: Error) => explain(problem.message),
    );
  }, [place, version]);
  if (why) return <p class="muted">{why}</p>;
  if (!found) return null;
  const { strengths, left, ends, texts } = found;
  const most = Math.log(strengths[strengths.length - 1] ?? 2);
  const across = (gamma: number): string => `${Math.min(100, Math.max(0, (100 * Math.log(Math.max(gamma, 1))) / most))}%`;
  const sign = Math.sign(found.effect) || 1;
  const [now, end, strength] = [left[at] ?? 0, ends[at] ?? 0, strengths[at] ?? 1];
  const gone = sign * now <= 0;
  const doubtful = sign * end <= 0;
  const tone = gone ? "bad" : doubtful ? "caution" : "good";
  const words = gone
    ? `the ${noun} could be 0.`
    : `at least ${texts[at]} of the ${noun} are left${doubtful ? ", and the interval could reach 0." : "."}`;
  const stops: [string, number, string][] = [
    ["interval can reach 0", found.gamma_limit, "limit"],
    ["estimate can be 0", found.gamma, "gone"],
    ...found.landmarks.slice(0, 6).map((each): [string, number, string] => [each.control, each.gamma, "control"]),
  ];
  return (
    <section class="robust" aria-labelledby="robust-title">
      <h2 id="robust-title">How strong would a hidden confounder have to be?</h2>
      <div class="gamma">
        <input
          type="range"
          min={0}
          max={strengths.length - 1}
          value={at}
          aria-label="Strength of a hidden confounder (Γ)"
          aria-valuetext={`${number(strength, 2)} times`}
          onInput={(event) => move(Number(event.currentTarget.value))}
        />
        <div class="landmarks" aria-hidden="true">
          {stops
            .filter(([, gamma]) => known(gamma) && Math.log(gamma) <= most)
            .map(([name, gamma, kind]) => (
              <span key={`${kind}${name}`} class={`landmark ${kind}`} style={{ left: across(gamma) }} title={`${name}: ${number(gamma, 2)}`} />
            ))}
        </div>
      </div>
      <p class={`saying tone-${tone}`} aria-live="polite" id="robustness">
        If something unmeasured changed the odds of the rule <b>{number(strength, 2)} times</b>, given the controls, {words}
      </p>
      <ul class="stops">
        {stops.map(([name, gamma, kind]) => (
          <li key={`${kind}${name}`} class={kind}>
            <span class={`landmark ${kind}`} aria-hidden="true" />
            {kind === "control" ? (
              <>
                measured: <bdi>{name.slice(0, 60)}</bdi>
              </>
            ) : (
              name
            )}{" "}
            <b>Γ = {gamma >= 1000 ? "more than 1,000" : number(gamma, 2)}</b>
          </li>
        ))}
      </ul>
      {found.landmarks.length === 0 && <p class="muted small">There is no measured control to compare it with.</p>}
    </section>
  );
}

export function Trust({ state }: { state: State }) {
  const [place, choose] = useState(0);
  const { page, stale } = state.rules;
  if (!page || page.result.rules.length === 0) {
    return (
      <div class="step">
        <h1>Trust</h1>
        <p class="lead">
          There are no rules to check yet: <a href="#search">Search</a>.
        </p>
      </div>
    );
  }
  const chosen = Math.min(place, page.result.rules.length - 1);
  const [rule, said] = [page.result.rules[chosen], page.view.rules[chosen]];
  if (!rule || !said) return null;
  return (
    <div class="step">
      <h1>Trust</h1>
      {stale && <p class="notice tone-caution">These rules answer another question than the one asked now.</p>}
      <Checks state={state} />
      <section aria-labelledby="rule-title">
        <h2 id="rule-title">One rule</h2>
        <label class="inline">
          Rule
          <select class="field" value={chosen} onChange={(event) => choose(Number(event.currentTarget.value))}>
            {page.view.rules.map((each, number) => (
              <option key={each.text} value={number}>
                {number + 1}. {each.text.slice(0, 100)}
              </option>
            ))}
          </select>
        </label>
        <p class="chosen-rule">
          <RuleWords conditions={said.conditions} />: {said.held_fixed && "adds "}
          <b>{said.estimate}</b>
        </p>
        {said.held_fixed && <p class="muted small">{said.held_fixed}</p>}
        <Chips evidence={said.evidence} claim={said.claim} />
      </section>
      <Slider place={chosen} version={`${said.text}${said.estimate}`} noun={page.view.noun} />
      <Evidence rule={rule} said={said} />
    </div>
  );
}
