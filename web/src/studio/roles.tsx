import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { Act, useSend } from "./acting";
import { Editor } from "./editor";
import { asText } from "./drawing";
import { send } from "./server";
import type { Fix, State } from "./state";

type Role = "actionable" | "control" | "context" | null;
const TRAYS: { role: Role; title: string; doc: string; key: string; verb: string }[] = [
  { role: "actionable", title: "Actionable", doc: "what could be brought about", key: "a", verb: "Make actionable" },
  { role: "control", title: "Controls", doc: "adjusted for", key: "c", verb: "Make control" },
  {
    role: "context",
    title: "Context",
    doc: "who: was there before, and nobody acts on it; may be a control too",
    key: "w",
    verb: "Make context",
  },
  { role: null, title: "Ignored", doc: "left out", key: "i", verb: "Ignore" },
];

function Pill(props: {
  name: string;
  tray: Role;
  tags: string[];
  chosen: boolean;
  onChoose: (alone: boolean) => void;
  onMove: (role: Role) => void;
  onMark: (what: string) => void;
}) {
  const { name, tags, chosen } = props;
  return (
    <button
      type="button"
      class="pill"
      draggable
      aria-pressed={chosen}
      onClick={(event) => props.onChoose(!(event.ctrlKey || event.metaKey || event.shiftKey))}
      onDragStart={(event) => {
        event.dataTransfer?.setData("text/x-column", name);
        event.dataTransfer?.setData("text/x-tray", String(props.tray));
        event.dataTransfer?.setData("text/plain", name);
      }}
      onKeyDown={(event) => {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const tray = TRAYS.find((each) => each.key === event.key.toLowerCase());
        if (tray) props.onMove(tray.role);
        else if (event.key.toLowerCase() === "r") props.onMark("randomised");
        else if (event.key.toLowerCase() === "k") props.onMark("categorical");
        else return;
        event.preventDefault();
      }}
    >
      <bdi>{name.length > 60 ? `${name.slice(0, 59)}…` : name}</bdi>
      {tags.map((tag) => (
        <span key={tag} class="tag">
          {tag}
        </span>
      ))}
    </button>
  );
}

function Trays({ state }: { state: State }) {
  const tell = useSend();
  const { question, table } = state;
  const [chosen, choose] = useState<string[]>([]);
  const [over, hover] = useState<Role | undefined>(undefined);
  const refocus = useRef<string | null>(null);
  const taken = new Set([...question.actionable, ...question.control, ...question.context]);
  const names = table.columns.map((column) => column.name);
  const ignored = names.filter((name) => !taken.has(name) && name !== question.target);
  const held = chosen.filter((name) => names.includes(name) && name !== question.target);
  const listed: Record<string, string[]> = {
    actionable: question.actionable,
    control: question.control,
    context: question.context,
    null: ignored,
  };
  // A column that is a control and context loses one of both when it is ignored from a tray.
  const move = (moved: string[], role: Role, from: Role = null): void => {
    if (moved.length === 0) return;
    refocus.current = moved[0] ?? null;
    choose([]);
    void tell("roles", { changes: moved.map((name) => ({ name, role, from })) });
  };
  const mark = (marked: string[], what: string): void => {
    const known = what === "randomised" ? question.randomised : question.categorical;
    void tell("mark", { names: marked, what, on: !marked.every((name) => known.includes(name)) });
  };
  useEffect(() => {
    if (refocus.current === null) return;
    const moved = [...document.querySelectorAll<HTMLElement>(".pill")].find((each) => each.dataset["name"] === refocus.current);
    refocus.current = null;
    moved?.focus();
  });
  return (
    <section aria-labelledby="trays-title">
      <h2 id="trays-title">Roles</h2>
      <p class="muted small">
        Drag columns between the trays, or choose some and move them. With a column focused, the keys A, C, W (who) and I
        move it, R marks it as randomised, K as codes.
      </p>
      <div class="line tools-line">
        {TRAYS.map((tray) => (
          <button key={tray.title} type="button" class="button" disabled={held.length === 0} onClick={() => move(held, tray.role)}>
            {tray.verb}
          </button>
        ))}
        <button type="button" class="button" disabled={!held.some((name) => question.actionable.includes(name))} onClick={() => mark(held, "randomised")}>
          Randomised
        </button>
        <button type="button" class="button" disabled={held.length === 0} onClick={() => mark(held, "categorical")}>
          Codes, not quantities
        </button>
        <span class="muted small" aria-live="polite">
          {held.length > 0 ? `${held.length} chosen` : ""}
        </span>
      </div>
      <div class="trays">
        <div class="tray outcome-tray">
          <h3>Outcome</h3>
          <div class="pills">
            <a class="pill" href="#data">
              <bdi>{question.target}</bdi>
            </a>
          </div>
          {question.level && (
            <p class="small">
              <bdi>{question.level}</bdi>
            </p>
          )}
        </div>
        {TRAYS.map((tray) => (
          <div
            key={tray.title}
            class={`tray role-tray-${tray.role ?? "ignored"}${over === tray.role ? " over" : ""}`}
            onDragOver={(event) => {
              if (!event.dataTransfer?.types.includes("text/x-column")) return;
              event.preventDefault();
              hover(tray.role);
            }}
            onDragLeave={() => hover(undefined)}
            onDrop={(event) => {
              const name = event.dataTransfer?.getData("text/x-column");
              const from = TRAYS.find((each) => String(each.role) === event.dataTransfer?.getData("text/x-tray"))?.role ?? null;
              hover(undefined);
              if (!name) return;
              event.preventDefault();
              move(held.includes(name) ? held : [name], tray.role, from);
            }}
          >
            <h3>
              {tray.title} <span class="muted">{(listed[String(tray.role)] ?? []).length}</span>
            </h3>
            <p class="muted small">{tray.doc}</p>
            <div class="pills" role="group" aria-label={tray.title}>
              {(listed[String(tray.role)] ?? []).map((name) => (
                <span key={name} ref={(at) => at?.firstElementChild?.setAttribute("data-name", name)}>
                  <Pill
                    name={name}
                    tray={tray.role}
                    tags={[
                      ...(question.randomised.includes(name) ? ["randomised"] : []),
                      ...(question.categorical.includes(name) ? ["codes"] : []),
                    ]}
                    chosen={held.includes(name)}
                    onChoose={(alone) =>
                      choose(held.includes(name) ? held.filter((each) => each !== name) : alone ? [name] : [...held, name])
                    }
                    onMove={(role) => move(held.includes(name) ? held : [name], role, tray.role)}
                    onMark={(what) => mark([name], what)}
                  />
                </span>
              ))}
            </div>
          </div>
        ))}
      </div>
      <p>
        <label>
          <input
            type="checkbox"
            checked={question.own_controls}
            onChange={(event) => void tell("own_controls", { on: event.currentTarget.checked })}
          />{" "}
          Let each rule have controls of its own, chosen by the graph
        </label>
      </p>
      {question.error && (
        <p class="problem" role="status">
          <bdi>{question.error}</bdi>
        </p>
      )}
    </section>
  );
}

export function VerdictPanel({ state }: { state: State }) {
  const tell = useSend();
  const { verdict } = state.graph;
  const apply = (fix: Fix): void => void tell("remedy", { roles: fix.roles, edges: fix.edges, add: fix.add ?? null });
  return (
    <section class={`verdict tone-${verdict.tone}`} id="verdict" aria-live="polite" data-status={verdict.status}>
      <h3>{verdict.title}</h3>
      {verdict.says.map((line) => (
        <p key={line}>
          <bdi>{line}</bdi>
        </p>
      ))}
      {verdict.problems.map((problem, place) => (
        <div key={place} class="found-problem">
          <p>
            <b>({problem.criterion})</b> <bdi>{problem.says}</bdi>
          </p>
          <div class="line">
            {problem.fixes.map((fix, number) => (
              <button key={number} type="button" class="button" onClick={() => apply(fix)}>
                <bdi>{fix.text}</bdi>
              </button>
            ))}
          </div>
        </div>
      ))}
    </section>
  );
}

interface Suggestion {
  actionable: string[];
  control: string[];
  optional: string[];
  says: string[];
}

function Suggest({ state }: { state: State }) {
  const act = useContext(Act);
  const tell = useSend();
  const [found, keep] = useState<Suggestion | null>(null);
  const drawing = state.graph.drawing;
  useEffect(() => keep(null), [JSON.stringify([drawing?.directed, drawing?.bidirected, drawing?.unknown, state.question.target])]);
  if (!drawing || drawing.nodes.length === 0) return null;
  const use = (): void => {
    if (!found) return;
    const wanted = new Map<string, Role>();
    for (const name of [...state.question.actionable, ...state.question.control]) wanted.set(name, null);
    for (const name of found.actionable) wanted.set(name, "actionable");
    for (const name of found.control) wanted.set(name, "control");
    void tell("roles", { changes: [...wanted].map(([name, role]) => ({ name, role })) });
    keep(null);
  };
  return (
    <div class="suggest">
      <button type="button" class="button" onClick={() => void act(send<Suggestion>("suggest").then(keep))}>
        Suggest roles
      </button>
      {found && (
        <div role="status">
          {found.says.map((line) => (
            <p key={line} class="small">
              <bdi>{line}</bdi>
            </p>
          ))}
          {found.actionable.length > 0 && (
            <button type="button" class="button main-button" onClick={use}>
              Use these roles
            </button>
          )}
        </div>
      )}
    </div>
  );
}

function AsText({ state }: { state: State }) {
  const tell = useSend();
  const written = asText(state.graph.drawing);
  const [text, type] = useState(written);
  const [dirty, touch] = useState(false);
  useEffect(() => {
    if (!dirty) type(written);
  }, [written]);
  return (
    <details class="fold">
      <summary>As text: paste or copy dagitty, DOT or plain edges</summary>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void tell("graph_text", { text }).then((done) => {
            if (done) touch(false);
          });
        }}
      >
        <label for="graph-text" class="hidden-text">
          Graph as text
        </label>
        <textarea
          id="graph-text"
          class="field"
          rows={7}
          spellcheck={false}
          placeholder="size -> treatment -> success; size -> success"
          value={text}
          onInput={(event) => {
            type(event.currentTarget.value);
            touch(true);
          }}
        />
        <div class="line">
          <button type="submit" class="button">
            Read the graph
          </button>
        </div>
      </form>
    </details>
  );
}

function Questions({ state }: { state: State }) {
  const tell = useSend();
  const { questions } = state.question;
  if (questions.length === 0) return null;
  return (
    <section class="questions" aria-labelledby="questions-title">
      <h3 id="questions-title">Without a graph: {questions.length} plain questions</h3>
      <p class="muted small">Acting on a rule assumes a yes to each. Nothing checks the answers; they are kept with the workspace.</p>
      {questions.map((each) => (
        <fieldset key={each.letter}>
          <legend>
            ({each.letter}) <bdi>{each.question}</bdi>
          </legend>
          {["yes", "no", "unsure"].map((answer) => (
            <label key={answer}>
              <input
                type="radio"
                name={`question-${each.letter}`}
                checked={each.answer === answer}
                onChange={() => void tell("answer", { letter: each.letter, answer })}
              />{" "}
              {answer}
            </label>
          ))}
        </fieldset>
      ))}
    </section>
  );
}

export function Roles({ state }: { state: State }) {
  if (state.question.target === null) {
    return (
      <div class="step">
        <h1>Roles and graph</h1>
        <p class="lead">
          Pick the outcome first, in <a href="#data">Data</a>.
        </p>
      </div>
    );
  }
  const drawn = (state.graph.drawing?.nodes.length ?? 0) > 0;
  return (
    <div class="step">
      <h1>Roles and graph</h1>
      <Trays state={state} />
      <section aria-labelledby="graph-title">
        <h2 id="graph-title">Causal graph</h2>
        <Editor state={state} />
        <VerdictPanel state={state} />
        <div class="folds">
          <Suggest state={state} />
          <AsText state={state} />
        </div>
        {!drawn && <Questions state={state} />}
      </section>
      <p>
        <a class="button main-button" href="#search">
          Next: search
        </a>
      </p>
    </div>
  );
}
