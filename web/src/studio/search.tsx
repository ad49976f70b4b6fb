import { useEffect, useState } from "preact/hooks";
import { count, known, number } from "../format";
import { scale } from "../scale";
import { useSend } from "./acting";
import type { Job, Option, State } from "./state";

const HEIGHT = 150;
const LABELS: Record<string, string> = { k: "number of rules (k)", stepwise: "list" };

function Field({ option, state }: { option: Option; state: State }) {
  const tell = useSend();
  const given = state.question.options[option.name] ?? "";
  const [text, type] = useState(given);
  useEffect(() => type(given), [given]);
  const set = (value: string): void => void tell("option", { name: option.name, text: value === option.default ? "" : value });
  const id = `option-${option.name}`;
  const words = option.kind === "column" ? state.table.columns.map((column) => column.name) : option.words;
  const label = option.name.replaceAll("_", " ");
  return (
    <div class="option">
      <label for={id}>{LABELS[option.name] ?? label}</label>
      {option.kind === "flag" ? (
        <select
          id={id}
          class="field"
          disabled={option.name === "stepwise" && (state.question.options["estimator"] || "pooled") !== "pooled"}
          value={given || option.default}
          onChange={(event) => set(event.currentTarget.value)}
        >
          <option value="true">{option.answers.true}</option>
          <option value="false">{option.answers.false}</option>
        </select>
      ) : words.length > 0 ? (
        <select id={id} class="field" value={given || option.default} onChange={(event) => set(event.currentTarget.value)}>
          {option.default === "" && <option value="">none</option>}
          {words.map((word) => (
            <option key={word} value={word}>
              {word.slice(0, 80)}
            </option>
          ))}
        </select>
      ) : (
        <input
          id={id}
          class="field short-field"
          value={text}
          placeholder={option.default || "default"}
          aria-describedby={`${id}-doc`}
          onInput={(event) => type(event.currentTarget.value)}
          onChange={(event) => set(event.currentTarget.value)}
        />
      )}
      <p id={`${id}-doc`} class="muted small">
        {option.doc}
      </p>
    </div>
  );
}

/** Bound and best value over time, step by step: a step ends where they meet. */
function Convergence({ job }: { job: Job }) {
  const points = job.points;
  const last = points[points.length - 1];
  if (!last || !points.some(([, , , step], place) => place > 0 && step === points[place - 1]?.[3])) return null;
  const x = scale(points.map(([seconds]) => seconds), [0], 5);
  const tops = points.map(([, , bound]) => bound).filter(known);
  const y = scale([...points.map(([, best]) => best), ...tops], [0], 4);
  const across = (seconds: number): number => (600 * (seconds - x.low)) / (x.high - x.low || 1);
  const down = (value: number): number => HEIGHT - 6 - ((HEIGHT - 14) * (value - y.low)) / (y.high - y.low || 1);
  const path = (values: [number, number | null, number][]): string => {
    let written = "";
    let before: number | null = null;
    for (const [seconds, value, step] of values) {
      if (!known(value)) continue;
      written += before !== step ? `M${across(seconds)} ${down(value)}` : `H${across(seconds)}V${down(value)}`;
      before = step;
    }
    return written;
  };
  const starts = points.filter(([, , , step], place) => place > 0 && step !== points[place - 1]?.[3]);
  return (
    <figure class="convergence">
      <svg viewBox={`0 0 600 ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label="Bound and best value over time">
        {y.ticks.map((tick) => (
          <line key={tick} class={tick === 0 ? "zero" : "grid"} x1="0" x2="600" y1={down(tick)} y2={down(tick)} />
        ))}
        {starts.map(([seconds, , , step]) => (
          <line key={step} class="step-line" x1={across(seconds)} x2={across(seconds)} y1="0" y2={HEIGHT} />
        ))}
        <path class="bound-line" d={path(points.map(([seconds, , bound, step]) => [seconds, bound, step]))} />
        <path class="best-line" d={path(points.map(([seconds, best, , step]) => [seconds, best, step]))} />
      </svg>
      <figcaption class="key">
        <span class="bound-key">no rule can exceed this</span>
        <span class="best-key">best rule so far</span>
        {starts.length > 0 && <span class="step-key">the next rule</span>}
        <span>{number(last[0], 1)} s</span>
      </figcaption>
    </figure>
  );
}

function Live({ job }: { job: Job }) {
  const { told } = job;
  const rules = told.rules ?? [];
  const [rung, k] = [told.rung ?? 1, told.k ?? 1];
  const searching = k > 1 ? `Searching for rule ${rung} of at most ${k}` : "Searching";
  return (
    <section class="panel live" aria-labelledby="live-title">
      <h2 id="live-title">{job.stopping ? "Stopping…" : searching}</h2>
      <dl class="numbers">
        <div>
          <dt>time</dt>
          <dd id="live-seconds">{number(told.seconds ?? job.seconds, 1)} s</dd>
        </div>
        <div>
          <dt>best value</dt>
          <dd>{known(told.best) ? number(told.best, 4) : "–"}</dd>
        </div>
        <div>
          <dt>bound</dt>
          <dd>{known(told.bound) ? number(told.bound, 4) : "–"}</dd>
        </div>
        <div>
          <dt>gap</dt>
          <dd>{known(told.bound) && known(told.best) ? number(Math.max(0, told.bound - told.best), 4) : "–"}</dd>
        </div>
        <div>
          <dt>nodes</dt>
          <dd>{count(told.nodes ?? 0)}</dd>
        </div>
      </dl>
      <Convergence job={job} />
      {rules.length > 0 && (
        <ol class="so-far" aria-label="Rules so far">
          {rules.map((rule, place) => (
            <li key={rule.text}>
              <bdi>{rule.text}</bdi>{" "}
              <span class="muted">
                {number(rule.value, 4)}
                {k > 1 && place >= rung - 1 && ", best so far"}
              </span>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

export function Search({ state }: { state: State }) {
  const tell = useSend();
  const { job, question, rules, options } = state;
  if (question.target === null) {
    return (
      <div class="step">
        <h1>Search</h1>
        <p class="lead">
          Pick the outcome first, in <a href="#data">Data</a>.
        </p>
      </div>
    );
  }
  const running = job.kind === "search";
  const asked = (name: string): string => question.options[name] ?? options.find((each) => each.name === name)?.default ?? "";
  const [length, stepwise] = [asked("max_length"), asked("stepwise") === "true"];
  const verdict = state.graph.verdict;
  return (
    <div class="step">
      <h1>Search</h1>
      <p class="lead">
        All rules of {length ? `up to ${length}` : "any number of"} conditions on {question.actionable.length} columns. The
        search is exact: when it ends, no better rule exists{stepwise && " at any step"}.
      </p>
      <div class="options">{options.filter((each) => each.few).map((each) => <Field key={each.name} option={each} state={state} />)}</div>
      <details class="fold">
        <summary>More options</summary>
        <div class="options">{options.filter((each) => !each.few).map((each) => <Field key={each.name} option={each} state={state} />)}</div>
      </details>
      {verdict.status === "violated" && verdict.tone === "bad" && (
        <p class="notice tone-caution">
          The graph does not allow these roles: what is found are associations. <a href="#roles">See why</a>
        </p>
      )}
      <div class="line actions">
        {!running && (
          <button type="button" class="button main-button" disabled={!!question.error} onClick={() => void tell("search")}>
            Search
          </button>
        )}
        {running && (
          <>
            <button type="button" class="button main-button" disabled={job.stopping} onClick={() => void tell("stop")}>
              Stop and keep the best
            </button>
            <button type="button" class="button" onClick={() => void tell("search", { replacing: false })}>
              Search again after this
            </button>
            <button type="button" class="button" onClick={() => void tell("search", { replacing: true })}>
              Replace it
            </button>
          </>
        )}
        {!running && job.kind && <span class="muted">{job.title}: the search will wait for it.</span>}
      </div>
      {question.error && (
        <p class="problem" role="status">
          <bdi>{question.error}</bdi>
        </p>
      )}
      {job.waiting && (
        <p class="notice tone-none" role="status">
          Waiting: <bdi>{job.waiting}</bdi>{" "}
          <button type="button" class="plain" onClick={() => void tell("skip")}>
            Take it back
          </button>
        </p>
      )}
      {job.error && job.error.kind === "search" && (
        <p class="notice tone-bad" role="alert">
          <bdi>{job.error.error}</bdi>
        </p>
      )}
      {running && <Live job={job} />}
      {!running && rules.page && (
        <section class="panel">
          <h2>{rules.stale ? "The last result answers another question" : rules.page.view.proof}</h2>
          <p>
            {rules.page.view.table}. {rules.page.view.rules_left}
          </p>
          {rules.page.view.ending && (
            <p>
              <bdi>{rules.page.view.ending}</bdi>
            </p>
          )}
          {rules.page.view.warning && (
            <p>
              <bdi>{rules.page.view.warning}</bdi>
            </p>
          )}
          <Convergence job={job} />
          <p>
            <a class="button main-button" href="#rules">
              Next: rules
            </a>
          </p>
        </section>
      )}
    </div>
  );
}
