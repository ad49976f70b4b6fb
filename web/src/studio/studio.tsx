import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Chip } from "../components/answers";
import { Code } from "../components/code";
import { count, unbroken } from "../format";
import { Act } from "./acting";
import { Exports } from "./exports";
import { Data } from "./data";
import { Roles } from "./roles";
import { RulesStep } from "./rules";
import { Search } from "./search";
import { follow, upload } from "./server";
import type { State } from "./state";
import { Trust } from "./trust";
import "../report.css";
import "./studio.css";

const STEPS = ["data", "roles", "search", "rules", "trust", "export"] as const;
type Step = (typeof STEPS)[number];
const TITLES: Record<Step, string> = {
  data: "Data",
  roles: "Roles and graph",
  search: "Search",
  rules: "Rules",
  trust: "Trust",
  export: "Export",
};

const isStep = (name: string): name is Step => (STEPS as readonly string[]).includes(name);
const stepOf = (hash: string): Step | null => {
  const name = hash.slice(1);
  return isStep(name) ? name : null;
};

/** A step's status in few words; a mark says whether it needs the user. */
function standing(step: Step, state: State): [mark: "done" | "now" | "open" | "alert", words: string] {
  const { table, question, graph, job, rules } = state;
  switch (step) {
    case "data":
      if (table.error) return ["alert", "cannot be read"];
      if (job.kind === "read" && table.n_rows === 0) return ["now", "reading…"];
      if (table.n_rows === 0) return ["open", "no table yet"];
      if (question.target === null) return ["now", "pick the outcome"];
      return question.error ? ["alert", "see the outcome"] : ["done", `${count(table.n_rows)} rows`];
    case "roles":
      if (question.target === null) return ["open", ""];
      if (graph.verdict.status === "violated") return [graph.verdict.tone === "bad" ? "alert" : "done", "not admissible"];
      if (graph.verdict.status === "unknown") return ["alert", "graph leaves it open"];
      return [
        question.actionable.length > 0 ? "done" : "alert",
        `${question.actionable.length} actionable, ${question.control.length} control${question.context.length > 0 ? `, ${question.context.length} context` : ""}${graph.verdict.status === "admissible" ? ", identified" : ""}`,
      ];
    case "search":
      if (job.kind === "search") return ["now", `running, ${Math.round(job.seconds)} s`];
      if (!rules.page) return ["open", ""];
      if (rules.stale) return ["alert", "question changed"];
      return rules.page.result.proof?.optimal ? ["done", "finished"] : ["alert", "stopped early"];
    case "rules": {
      const n = rules.page?.result.rules.length ?? 0;
      return rules.page ? ["done", n === 1 ? "1 rule" : `${n} rules`] : ["open", ""];
    }
    case "trust":
      if (job.kind === "check") return ["now", "checking…"];
      if (!rules.page) return ["open", ""];
      return rules.checked.length > 0 ? ["done", `${rules.checked.length} check${rules.checked.length > 1 ? "s" : ""}`] : ["open", "not checked yet"];
    case "export":
      return ["open", ""];
  }
}

function Rail({ state, current }: { state: State; current: Step }) {
  return (
    <nav class="rail" aria-label="Steps">
      <p class="brand">
        causalrules <b>studio</b>
      </p>
      <ol>
        {STEPS.map((step, place) => {
          const [mark, words] = standing(step, state);
          return (
            <li key={step}>
              <a href={`#${step}`} class={`mark-${mark}`} aria-current={step === current ? "step" : undefined}>
                <span class="number" aria-hidden="true">
                  {mark === "done" ? "✓" : mark === "alert" ? "!" : place + 1}
                </span>
                <span>
                  {TITLES[step]}
                  <small>{words}</small>
                </span>
              </a>
            </li>
          );
        })}
      </ol>
      {state.table.workspace && (
        <p class="saved">
          {state.table.unsaved ? (
            <span class="tone-bad tag">not saved</span>
          ) : (
            <>
              Saved in <bdi>{state.table.workspace.split(/[\\/]/).pop()}</bdi>
            </>
          )}
        </p>
      )}
    </nav>
  );
}

/** The current findings, and the code for the same question. */
function Beside({ state, code }: { state: State; code: boolean }) {
  const { said } = state;
  const claim = said.answers[said.answers.length - 1];
  const evidence = said.answers.length > 1 ? said.answers[0] : undefined;
  return (
    <aside class="beside" aria-label="What can be said now">
      <section class={`saying tone-${said.tone}`}>
        <h2>What can be said now</h2>
        <div aria-live="polite" id="sentence">
          {said.sentences.map((sentence, place) => (
            <p key={place} class={place === 0 ? "strongest" : undefined}>
              <bdi>{unbroken(sentence)}</bdi>
            </p>
          ))}
        </div>
        {claim && (
          <dl class="chips">
            {evidence && <Chip answer={evidence} />}
            <Chip answer={claim} />
          </dl>
        )}
      </section>
      {code && said.call && (
        <section class="same">
          <h2>The same in code</h2>
          <Code name="Python" code={said.call} />
          <Code name="Command line" code={said.command} />
        </section>
      )}
    </aside>
  );
}

function Studio() {
  const [state, set] = useState<Partial<State>>({});
  const [connected, connect] = useState(true);
  const [step, go] = useState<Step>(stepOf(location.hash) ?? "data");
  const [error, fail] = useState("");
  const [dropping, drop] = useState(false);

  useEffect(() => {
    void follow((sections) => set((before) => ({ ...before, ...sections })), connect);
    const moved = (): void => {
      const found = stepOf(location.hash);
      if (!found) return;
      go(found);
      fail("");
    };
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  useEffect(() => {
    document.title = `${TITLES[step]} – causalrules studio`;
    document.querySelector("main")?.scrollTo?.(0, 0);
  }, [step]);

  const act = async (work: Promise<unknown>): Promise<boolean> => {
    try {
      await work;
      fail("");
      return true;
    } catch (problem) {
      fail(problem instanceof Error ? problem.message : String(problem));
      return false;
    }
  };

  if (!state.said) {
    return <p class="starting">{connected ? "Starting…" : "The studio does not answer."}</p>;
  }
  const whole = state as State;
  return (
    <Act.Provider value={act}>
      <div
        class={`studio${dropping ? " dropping" : ""}`}
        onDragOver={(event) => {
          if (!event.dataTransfer?.types.includes("Files")) return;
          event.preventDefault();
          drop(true);
        }}
        onDragLeave={() => drop(false)}
        onDrop={(event) => {
          const file = event.dataTransfer?.files[0];
          drop(false);
          if (!file) return;
          event.preventDefault();
          void act(upload(file)).then((done) => {
            if (done) location.hash = "#data";
          });
        }}
      >
        <Rail state={whole} current={step} />
        <main id="main" tabIndex={-1}>
          {!connected && (
            <p class="notice tone-bad" role="status">
              The studio does not answer. Nothing is lost: the workspace is on disk. Start it again with causalrules
              studio.
            </p>
          )}
          {step === "data" && <Data state={whole} />}
          {step === "roles" && <Roles state={whole} />}
          {step === "search" && <Search state={whole} />}
          {step === "rules" && <RulesStep state={whole} />}
          {step === "trust" && <Trust state={whole} />}
          {step === "export" && <Exports state={whole} />}
        </main>
        <Beside state={whole} code={step !== "export"} />
        <div class="toasts" role="alert">
          {error && (
            <p class="notice tone-bad">
              <bdi>{error}</bdi>
              <button type="button" class="plain" onClick={() => fail("")} aria-label="Dismiss">
                ×
              </button>
            </p>
          )}
        </div>
      </div>
    </Act.Provider>
  );
}

const place = document.getElementById("studio");
if (place) {
  place.replaceChildren();
  render(<Studio />, place);
}
