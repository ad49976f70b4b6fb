import { useEffect, useRef, useState } from "preact/hooks";
import { useSend } from "./acting";
import { EMPTY, HEIGHT, edgesOf, labelOf, placed, same, widthOf, withEdge, without, withoutNode } from "./drawing";
import type { Edge } from "./drawing";
import type { Arrow, Drawing, Marked, State } from "./state";

type Mode = Arrow | "move";
const MODES: [Mode, string, string][] = [
  ["->", "Arrow →", "cause"],
  ["<->", "Hidden cause ↔", "hidden"],
  ["--", "Unknown —", "unknown"],
  ["move", "Move", "move"],
];
const VERBS: Record<Arrow, string> = { "->": "causes", "<->": "shares a hidden common cause with", "--": "is connected, in an unknown way, with" };
const SIGNS: Record<Arrow, string> = { "->": "→", "<->": "↔", "--": "—" };
const MOST_AT_ONCE = 60;
const UNDOS = 50;
const LEAST_HEIGHT = 250;

type Chosen = { node: string } | { edge: Edge } | null;
interface Pointer {
  from: string;
  x: number;
  y: number;
  moved: boolean;
}

const roleOf = (name: string, state: State, drawing: Drawing): string => {
  if (name === state.question.target) return "target";
  if (state.question.actionable.includes(name)) return "actionable";
  if (state.question.control.includes(name)) return "control";
  if (state.question.context.includes(name)) return "context";
  return drawing.latent.includes(name) ? "latent" : "no-role";
};

/** The point where the line between the centres of two boxes leaves the first. */
function border(name: string, [x, y]: [number, number], [tx, ty]: [number, number]): [number, number] {
  const [dx, dy] = [tx - x, ty - y];
  const [w, h] = [widthOf(name) / 2 + 3, HEIGHT / 2 + 3];
  const share = Math.min(dx === 0 ? Infinity : w / Math.abs(dx), dy === 0 ? Infinity : h / Math.abs(dy), 1);
  return [x + dx * share, y + dy * share];
}

function EdgeLine(props: {
  edge: Edge;
  at: Map<string, [number, number]>;
  mark: Marked | undefined;
  chosen: boolean;
  onChoose: () => void;
  onDelete: () => void;
}) {
  const { edge, at, mark, chosen } = props;
  const [from, to] = [at.get(edge.from), at.get(edge.to)];
  if (!from || !to) return null;
  const [start, end] = [border(edge.from, from, to), border(edge.to, to, from)];
  const [mx, my] = [(start[0] + end[0]) / 2, (start[1] + end[1]) / 2];
  const length = Math.hypot(end[0] - start[0], end[1] - start[1]) || 1;
  const bend = edge.arrow === "<->" ? Math.min(46, length / 3) : 0;
  const [cx, cy] = [mx + (bend * (end[1] - start[1])) / length, my - (bend * (end[0] - start[0])) / length];
  const path = `M${start[0]} ${start[1]}Q${cx} ${cy} ${end[0]} ${end[1]}`;
  const head = (tip: [number, number], away: [number, number]): string => {
    const angle = Math.atan2(tip[1] - away[1], tip[0] - away[0]);
    const [a, b] = [angle + 2.7, angle - 2.7];
    return `M${tip[0]} ${tip[1]}L${tip[0] + 10 * Math.cos(a)} ${tip[1] + 10 * Math.sin(a)}L${tip[0] + 10 * Math.cos(b)} ${tip[1] + 10 * Math.sin(b)}Z`;
  };
  const kind = { "->": "cause", "<->": "confounded", "--": "unknown" }[edge.arrow];
  const violates = mark ? ` violates${mark.harmful ? " harmful" : ""}` : "";
  const says = mark ? `; violates ${mark.criteria.join(", ")}` : "";
  return (
    <g
      class={`edge ${kind}${violates}${chosen ? " chosen" : ""}`}
      role="button"
      tabindex={0}
      data-edge={`${edge.from} ${edge.arrow} ${edge.to}`}
      aria-label={`${edge.from} ${VERBS[edge.arrow]} ${edge.to}${says}`}
      aria-pressed={chosen}
      onClick={props.onChoose}
      onKeyDown={(event) => {
        if (event.key === "Delete" || event.key === "Backspace") props.onDelete();
        else if (event.key === "Enter" || event.key === " ") props.onChoose();
        else return;
        event.preventDefault();
      }}
    >
      <path class="hit" d={path} />
      <path class="line" d={path} />
      {edge.arrow !== "--" && <path class="head" d={head(end, [cx, cy])} />}
      {edge.arrow === "<->" && <path class="head" d={head(start, [cx, cy])} />}
      {mark && (
        <text x={cx + (14 * (end[1] - start[1])) / length} y={cy + 5 - (14 * (end[0] - start[0])) / length} text-anchor="middle">
          {mark.criteria.join(", ")}
        </text>
      )}
    </g>
  );
}

/** A canvas for drawing a causal graph; by mouse, touch or keyboard. */
export function Editor({ state }: { state: State }) {
  const tell = useSend();
  const saved = state.graph.drawing;
  const drawing = saved ?? EMPTY;
  const [mode, setMode] = useState<Mode>("->");
  const [chosen, choose] = useState<Chosen>(null);
  const [source, setSource] = useState<string | null>(null);
  const [pointer, point] = useState<Pointer | null>(null);
  const [undos, remember] = useState<Drawing[]>([]);
  const [hidden, nameHidden] = useState("");
  const canvas = useRef<SVGSVGElement>(null);
  const { target, actionable, control, context } = state.question;
  const before = [...new Set([...control, ...context])];
  const at = placed(drawing, [before, actionable, target ? [target] : []]);
  if (pointer?.moved && mode === "move") at.set(pointer.from, [pointer.x, pointer.y]);
  const columns = state.table.columns.map((column) => column.name);
  const roles = [...(target ? [target] : []), ...actionable, ...before];

  // Variables keep their positions when an edge is added.
  const set = (next: Drawing, places: Drawing["places"] = Object.fromEntries(at)): void => {
    remember([drawing, ...undos].slice(0, UNDOS));
    choose(null);
    setSource(null);
    const kept = Object.fromEntries(Object.entries(places).filter(([name]) => next.nodes.includes(name)));
    void tell("graph", { drawing: { ...next, places: kept } });
  };
  const add = (names: string[]): void => set({ ...drawing, nodes: [...drawing.nodes, ...names.filter((name) => !drawing.nodes.includes(name))] });
  const join = (from: string, to: string): void => {
    if (mode !== "move") set(withEdge(drawing, { arrow: mode, from, to }));
  };
  useEffect(() => {
    if (chosen && "node" in chosen && !drawing.nodes.includes(chosen.node)) choose(null);
  });

  if (drawing.nodes.length === 0) {
    return (
      <div class="panel no-graph">
        <p>Draw what you know about causes: it decides whether a rule may be called an effect.</p>
        <div class="line">
          <button type="button" class="button main-button" onClick={() => add(roles.slice(0, MOST_AT_ONCE))}>
            Draw a graph
          </button>
          {undos[0] && (
            <button
              type="button"
              class="button"
              onClick={() => {
                void tell("graph", { drawing: undos[0] });
                remember(undos.slice(1));
              }}
            >
              Undo
            </button>
          )}
        </div>
      </div>
    );
  }

  const points = [...at.values()];
  const widest = Math.max(...drawing.nodes.map(widthOf));
  const left = Math.min(0, ...points.map(([x]) => x - widest / 2 - 12));
  const right = Math.max(640, ...points.map(([x]) => x + widest / 2 + 12));
  const [highest, lowest] = [Math.min(...points.map(([, y]) => y)), Math.max(...points.map(([, y]) => y))];
  // Room to draw in, with the graph in the centre.
  const room = Math.max(50, (LEAST_HEIGHT - (lowest - highest)) / 2);
  const [top, bottom] = [highest - room, lowest + room];
  const where = (event: PointerEvent): [number, number] => {
    const matrix = canvas.current?.getScreenCTM();
    if (!matrix) return [0, 0];
    const found = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
    return [Math.round(found.x), Math.round(found.y)];
  };
  const under = ([x, y]: [number, number]): string | undefined =>
    [...drawing.nodes].reverse().find((name) => {
      const [nx, ny] = at.get(name) ?? [0, 0];
      return Math.abs(x - nx) <= widthOf(name) / 2 + 4 && Math.abs(y - ny) <= HEIGHT / 2 + 4;
    });
  const press = (name: string): void => {
    if (source !== null && source !== name && mode !== "move") join(source, name);
    else if (source === name) setSource(null);
    else {
      setSource(mode === "move" ? null : name);
      choose({ node: name });
    }
  };
  const nudge = (name: string, dx: number, dy: number): void => {
    const [x, y] = at.get(name) ?? [0, 0];
    void tell("graph", { drawing: { ...drawing, places: { ...drawing.places, [name]: [x + dx, y + dy] } } });
  };
  const absent = columns.filter((name) => !drawing.nodes.includes(name));
  const absentRoles = roles.filter((name) => !drawing.nodes.includes(name));

  return (
    <div class="editor">
      <div class="line tools-line" role="toolbar" aria-label="Graph">
        <span class="choices" role="group" aria-label="Draw">
          {MODES.map(([each, words]) => (
            <button key={each} type="button" aria-pressed={mode === each} onClick={() => setMode(each)}>
              {words}
            </button>
          ))}
        </span>
        <button type="button" class="button" onClick={() => set(drawing, {})}>
          Lay out
        </button>
        <button
          type="button"
          class="button"
          disabled={undos.length === 0}
          onClick={() => {
            void tell("graph", { drawing: undos[0] });
            remember(undos.slice(1));
          }}
        >
          Undo
        </button>
        <button type="button" class="button" onClick={() => set(EMPTY)}>
          Clear
        </button>
      </div>
      <svg
        ref={canvas}
        class={`canvas mode-${MODES.find(([each]) => each === mode)?.[2]}`}
        viewBox={`${left} ${top} ${right - left} ${bottom - top}`}
        style={{ maxHeight: "34rem", aspectRatio: `${right - left} / ${bottom - top}` }}
        role="group"
        aria-label="Causal graph"
        onPointerDown={(event) => {
          const from = under(where(event));
          if (from === undefined) {
            if (!(event.target instanceof Element && event.target.closest(".edge"))) {
              choose(null);
              setSource(null);
            }
            return;
          }
          event.preventDefault();
          canvas.current?.setPointerCapture(event.pointerId);
          const [x, y] = where(event);
          point({ from, x, y, moved: false });
        }}
        onPointerMove={(event) => {
          if (!pointer) return;
          const [x, y] = where(event);
          point({ ...pointer, x, y, moved: pointer.moved || Math.hypot(x - pointer.x, y - pointer.y) > 4 });
        }}
        onPointerUp={(event) => {
          if (!pointer) return;
          const [x, y] = where(event);
          const to = under([x, y]);
          if (!pointer.moved || (mode !== "move" && to === pointer.from)) {
            press(pointer.from);
            canvas.current?.querySelector<SVGGElement>(`[data-number="${drawing.nodes.indexOf(pointer.from)}"]`)?.focus();
          } else if (mode === "move") {
            void tell("graph", { drawing: { ...drawing, places: { ...Object.fromEntries(at), [pointer.from]: [x, y] } } });
          } else if (to !== undefined) join(pointer.from, to);
          point(null);
        }}
        onPointerCancel={() => point(null)}
      >
        {edgesOf(drawing).map((edge) => (
          <EdgeLine
            key={`${edge.from}\u0000${edge.arrow}\u0000${edge.to}`}
            edge={edge}
            at={at}
            mark={state.graph.verdict.marked.find((each) => same(edge, each))}
            chosen={chosen !== null && "edge" in chosen && same(chosen.edge, edge)}
            onChoose={() => choose({ edge })}
            onDelete={() => set(without(drawing, edge))}
          />
        ))}
        {pointer?.moved && mode !== "move" && (
          <line class="drawn" x1={at.get(pointer.from)?.[0]} y1={at.get(pointer.from)?.[1]} x2={pointer.x} y2={pointer.y} />
        )}
        {drawing.nodes.map((name, number) => {
          const [x, y] = at.get(name) ?? [0, 0];
          const role = roleOf(name, state, drawing);
          return (
            <g
              key={name}
              class={`node role-${role}${source === name ? " from" : ""}`}
              role="button"
              tabindex={0}
              data-node={name}
              data-number={number}
              aria-label={`${name.slice(0, 200)}, ${role.replace("-", " ")}${source === name ? ", drawing from here" : ""}`}
              aria-pressed={source === name}
              onKeyDown={(event) => {
                const step = { ArrowLeft: [-12, 0], ArrowRight: [12, 0], ArrowUp: [0, -12], ArrowDown: [0, 12] }[event.key];
                if (event.key === "Enter" || event.key === " ") press(name);
                else if (event.key === "Escape") setSource(null);
                else if (event.key === "Delete" || event.key === "Backspace") set(withoutNode(drawing, name));
                else if (step) nudge(name, step[0] ?? 0, step[1] ?? 0);
                else return;
                event.preventDefault();
              }}
            >
              <rect
                x={x - widthOf(name) / 2}
                y={y - HEIGHT / 2}
                width={widthOf(name)}
                height={HEIGHT}
                rx={role === "actionable" || role === "no-role" ? 5 : HEIGHT / 2}
              />
              <text x={x} y={y + 5} text-anchor="middle">
                {labelOf(name)}
              </text>
            </g>
          );
        })}
      </svg>
      <div class="line under-canvas" aria-live="polite">
        {chosen && "edge" in chosen ? (
          <>
            <span>
              <bdi>{labelOf(chosen.edge.from)}</bdi> {SIGNS[chosen.edge.arrow]} <bdi>{labelOf(chosen.edge.to)}</bdi>
            </span>
            {chosen.edge.arrow === "->" && (
              <button type="button" class="button" onClick={() => set(withEdge(drawing, { arrow: "->", from: chosen.edge.to, to: chosen.edge.from }))}>
                Reverse
              </button>
            )}
            {(Object.keys(SIGNS) as Arrow[])
              .filter((arrow) => arrow !== chosen.edge.arrow)
              .map((arrow) => (
                <button key={arrow} type="button" class="button" onClick={() => set(withEdge(without(drawing, chosen.edge), { ...chosen.edge, arrow }))}>
                  Make it {SIGNS[arrow]}
                </button>
              ))}
            <button type="button" class="button" onClick={() => set(without(drawing, chosen.edge))}>
              Delete
            </button>
          </>
        ) : chosen ? (
          <>
            <span>
              <bdi>{labelOf(chosen.node)}</bdi>
              {source === chosen.node ? ": now click what it points to" : ""}
            </span>
            {!columns.includes(chosen.node) ? null : (
              <button
                type="button"
                class="button"
                onClick={() => {
                  const latent = drawing.latent.includes(chosen.node)
                    ? drawing.latent.filter((each) => each !== chosen.node)
                    : [...drawing.latent, chosen.node];
                  set({ ...drawing, latent });
                }}
              >
                {drawing.latent.includes(chosen.node) ? "It is observed" : "Treat as unobserved"}
              </button>
            )}
            <button type="button" class="button" onClick={() => set(withoutNode(drawing, chosen.node))}>
              Remove from the graph
            </button>
          </>
        ) : (
          <span class="muted small">
            Drag from one variable to another to draw; or focus one, press Enter, and again on the other. Click an edge
            to change it. Delete removes.
          </span>
        )}
      </div>
      <div class="line adding">
        {absentRoles.length > 0 && (
          <button type="button" class="button" onClick={() => add(absentRoles.slice(0, MOST_AT_ONCE))}>
            Add the columns with a role ({absentRoles.length})
          </button>
        )}
        {absent.length > 0 && (
          <select
            class="field"
            aria-label="Add a column"
            value=""
            onChange={(event) => {
              if (event.currentTarget.value) add([event.currentTarget.value]);
            }}
          >
            <option value="">Add a column…</option>
            {absent.slice(0, 500).map((name) => (
              <option key={name} value={name}>
                {name.slice(0, 80)}
              </option>
            ))}
          </select>
        )}
        <form
          class="line"
          onSubmit={(event) => {
            event.preventDefault();
            const name = hidden.trim();
            if (!name) return;
            nameHidden("");
            set({ ...drawing, nodes: [...drawing.nodes, name], latent: columns.includes(name) ? drawing.latent : [...drawing.latent, name] });
          }}
        >
          <input class="field" placeholder="an unobserved variable" aria-label="Name of an unobserved variable" value={hidden} onInput={(event) => nameHidden(event.currentTarget.value)} />
          <button type="submit" class="button">
            Add
          </button>
        </form>
      </div>
    </div>
  );
}
