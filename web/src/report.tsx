import { options, render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Code } from "./components/code";
import { Contents } from "./components/contents";
import { Graph, GraphKey } from "./components/graph";
import { Hero } from "./components/hero";
import { Rules } from "./components/rules";
import { Words } from "./components/sections";
import type { Page } from "./types";
import "./report.css";

// Everything opened for printing must be rendered before the event returns.
options.debounceRendering = (draw) => draw();

const placeOf = (hash: string): number | null => {
  const found = /^#rule-(\d+)$/.exec(hash);
  return found ? Number(found[1]) - 1 : null;
};

function Report({ page }: { page: Page }) {
  const { result, view } = page;
  const control = result.question.control ?? [];
  const controlled = control.length > 0;
  const [open, setOpen] = useState<Set<number>>(() => {
    const place = placeOf(location.hash);
    return new Set(place === null ? [] : [place]);
  });
  const [printing, print] = useState(false);
  useEffect(() => {
    const paper = matchMedia("print");
    const changed = (): void => print(paper.matches);
    const [before, after] = [() => print(true), () => print(false)];
    paper.addEventListener("change", changed);
    addEventListener("beforeprint", before);
    addEventListener("afterprint", after);
    return () => {
      paper.removeEventListener("change", changed);
      removeEventListener("beforeprint", before);
      removeEventListener("afterprint", after);
    };
  }, []);
  const toggle = (place: number, wanted?: boolean): void => {
    setOpen((before) => {
      const after = new Set(before);
      if (wanted ?? !before.has(place)) after.add(place);
      else after.delete(place);
      return after;
    });
  };
  const nothing = view.lead === null;
  const title = view.list;
  const entries: [string, string][] = [
    ["finding", nothing ? "Result" : "Finding"],
    ["rules", title],
    ...view.sections.map((section, place): [string, string] => [`section-${place}`, section.title]),
    ...(view.graph ? [["graph", "Causal graph"] as [string, string]] : []),
    ["question", "Question"],
    ["assumptions", "Assumptions"],
    ["reproduce", "Reproduce"],
  ];
  return (
    <div class="frame">
      <Contents entries={entries} />
      <main>
        <Hero view={view} rules={result.rules} />
        <section id="rules" class={nothing ? "nothing" : undefined}>
          <h2>{title}</h2>
          {view.adds && <p>{view.adds}</p>}
          {[view.meaning, [view.ranking, view.proof, view.rules_left].join(" ")].map(
            (sentences) => (
              <p key={sentences} class="muted">
                {sentences}
              </p>
            ),
          )}
          {view.rules.length > 0 && (
            <Rules page={page} controlled={controlled} open={open} onToggle={toggle} printing={printing} />
          )}
        </section>
        {view.sections.map((section, place) => (
          <section key={section.title} id={`section-${place}`}>
            <h2>{section.title}</h2>
            <Words section={section} />
          </section>
        ))}
        {view.graph && (
          <section id="graph">
            <h2>Causal graph</h2>
            <GraphKey drawing={view.graph} />
            <Graph drawing={view.graph} />
          </section>
        )}
        <section id="question">
          <h2>Question</h2>
          <dl class="asked">
            {view.asked.map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>
                  <bdi>{value}</bdi>
                </dd>
              </div>
            ))}
          </dl>
        </section>
        <section id="assumptions">
          <h2>Assumptions</h2>
          <p>{view.graph_says}</p>
          <p>{view.assumed}</p>
          <ul>
            {view.assumptions.map((sentence) => (
              <li key={sentence}>
                <bdi>{sentence}</bdi>
              </li>
            ))}
          </ul>
        </section>
        <section id="reproduce">
          <h2>Reproduce</h2>
          <Code name="Command line" code={view.command} />
          <Code name="Python" code={view.call} />
          <p class="muted">{view.versions}</p>
        </section>
      </main>
    </div>
  );
}

const place = document.getElementById("page");
const data = document.getElementById("data")?.textContent;
if (place && data) {
  place.replaceChildren();
  place.className = "";
  render(<Report page={JSON.parse(data) as Page} />, place);
}
