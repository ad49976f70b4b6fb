import { useContext } from "preact/hooks";
import { Code } from "../components/code";
import { Act } from "./acting";
import { take } from "./server";
import type { State } from "./state";

const FILES: [what: string, title: string, doc: string, needs: "rules" | "graph" | "question" | "nothing"][] = [
  ["report", "Report", "one HTML file that needs no network", "rules"],
  ["json", "JSON", "all numbers, to be read again by RuleSet.from_json", "rules"],
  ["sql", "SQL", "a condition for WHERE, rule by rule", "rules"],
  ["markdown", "Markdown", "a table for notes and issues", "rules"],
  ["python", "Python", "the call that asks the same", "question"],
  ["notebook", "Notebook", "the same call, ready for Jupyter", "question"],
  ["dagitty", "Graph, dagitty", "for dagitty.net and R", "graph"],
  ["dot", "Graph, DOT", "for Graphviz", "graph"],
  ["workspace", "Workspace", "all of this in one file that opens again", "nothing"],
];

export function Exports({ state }: { state: State }) {
  const act = useContext(Act);
  const { rules, graph, said, table, question } = state;
  const there = {
    rules: rules.page !== null,
    graph: (graph.drawing?.nodes.length ?? 0) > 0,
    question: question.target !== null,
    nothing: table.file !== null,
  };
  return (
    <div class="step">
      <h1>Export</h1>
      {rules.stale && <p class="notice tone-caution">The rules answer another question than the one asked now.</p>}
      <ul class="files">
        {FILES.map(([what, title, doc, needs]) => (
          <li key={what}>
            <button type="button" class="check" disabled={!there[needs]} onClick={() => void act(take(what))}>
              <span class="mark" aria-hidden="true">
                ↓
              </span>
              <span>
                <b>{title}</b>
                <small>{doc}</small>
              </span>
            </button>
          </li>
        ))}
      </ul>
      {table.workspace && (
        <p class="muted small">
          The workspace is saved after every change in <bdi>{table.workspace}</bdi>.{" "}
          {table.uploaded && "The uploaded table itself is removed when the studio ends: keep your own copy."}
        </p>
      )}
      {table.unsaved && (
        <p class="problem">
          <bdi>{table.unsaved}</bdi>
        </p>
      )}
      {said.call && (
        <section>
          <h2>The same in code</h2>
          <Code name="Python" code={said.call} />
          <Code name="Command line" code={said.command} />
        </section>
      )}
    </div>
  );
}
