import type { Graph as Drawing, GraphEdge, GraphNode } from "../types";

const ACROSS = 150;
const DOWN = 50;
const HEIGHT = 28;

const widthOf = (node: GraphNode): number => 18 + 7.2 * node.label.length;

type Blocked = [from: string, arrow: string, to: string][];

interface GraphProps {
  drawing: Drawing;
  columns?: string[];
  control?: string[];
  blocked?: Blocked;
}

/** A causal graph with its roles; a rule's columns are filled; its controls and the paths that they block are highlighted. */
export function Graph({ drawing, columns = [], control = [], blocked = [] }: GraphProps) {
  const isBlocked = (edge: GraphEdge): boolean =>
    blocked.some(
      ([from, arrow, to]) =>
        arrow === edge.arrow &&
        ((from === edge.from && to === edge.to) || (arrow !== "->" && from === edge.to && to === edge.from)),
    );
  const nodes = new Map(drawing.nodes.map((node) => [node.name, node]));
  const widest = Math.max(...drawing.nodes.map(widthOf), 60);
  const across = Math.max(ACROSS, widest + 46);
  const x = (value: number): number => widest / 2 + 8 + across * value;
  const y = (value: number): number => HEIGHT / 2 + 12 + DOWN * value;
  const width = x(drawing.width) + widest / 2 + 8;
  const height = y(drawing.height) + HEIGHT / 2 + 12;
  const said = drawing.edges.map((edge) => `${edge.from} ${edge.arrow} ${edge.to}`).join(", ");
  return (
    <svg
      class="graph"
      viewBox={`0 0 ${width} ${height}`}
      style={{ maxWidth: `${width}px` }}
      role="img"
      aria-label={`Causal graph: ${said}`.slice(0, 2000)}
    >
      {drawing.edges.map((edge, place) => (
        <Edge key={place} edge={edge} nodes={nodes} x={x} y={y} blocked={isBlocked(edge)} />
      ))}
      {drawing.nodes.map((node) => (
        <g
          key={node.name}
          class={`node role-${node.role.replace(" ", "-")}${columns.includes(node.name) ? " in-rule" : ""}${control.includes(node.name) ? " held" : ""}`}
        >
          <rect
            x={x(node.x) - widthOf(node) / 2}
            y={y(node.y) - HEIGHT / 2}
            width={widthOf(node)}
            height={HEIGHT}
            rx={node.role === "actionable" || node.role === "no role" ? 3 : HEIGHT / 2}
          />
          <text x={x(node.x)} y={y(node.y) + 4.5} text-anchor="middle">
            {node.label}
          </text>
        </g>
      ))}
    </svg>
  );
}

interface EdgeProps {
  edge: GraphEdge;
  nodes: Map<string, GraphNode>;
  x: (value: number) => number;
  y: (value: number) => number;
  blocked: boolean;
}

function Edge({ edge, nodes, x, y, blocked }: EdgeProps) {
  const from = nodes.get(edge.from);
  const to = nodes.get(edge.to);
  if (!from || !to) return null;
  const forwards = to.x >= from.x;
  const side = forwards ? 1 : -1;
  const points: [number, number][] = [
    [x(from.x) + (side * widthOf(from)) / 2, y(from.y)],
    ...edge.through.map(([across, down]): [number, number] => [x(across), y(down)]),
    [x(to.x) - (side * widthOf(to)) / 2 - (edge.arrow === "--" ? 0 : side * 2), y(to.y)],
  ];
  const bulge = edge.arrow === "<->" && edge.through.length === 0 ? 16 : 0;
  let path = `M${points[0]?.join(" ")}`;
  points.slice(1).forEach(([across, down], place) => {
    const [before, above] = points[place] ?? [across, down];
    const middle = (before + across) / 2;
    path += `C${middle} ${above - bulge} ${middle} ${down - bulge} ${across} ${down}`;
  });
  const head = ([across, down]: [number, number], towards: number): string =>
    `M${across - 8 * towards} ${down - 4.5}L${across} ${down}L${across - 8 * towards} ${down + 4.5}Z`;
  const [first, last] = [points[0], points[points.length - 1]];
  const [second] = points.slice(1);
  const looks = `edge ${{ "->": "cause", "<->": "confounded", "--": "unknown" }[edge.arrow]}${edge.criteria.length ? " violates" : ""}${edge.harmful ? " harmful" : ""}${blocked ? " blocked" : ""}`;
  return (
    <g class={looks}>
      <path class="line" d={path} />
      {edge.arrow !== "--" && last && <path class="head" d={head(last, side)} />}
      {edge.arrow === "<->" && first && <path class="head" d={head(first, -side)} />}
      {edge.criteria.length > 0 && first && second && (
        <text x={(first[0] + second[0]) / 2} y={(first[1] + second[1]) / 2 - 4} text-anchor="middle">
          {edge.criteria.join(", ")}
        </text>
      )}
    </g>
  );
}

/** The highlighted parts of one rule's graph, in words. */
export function RuleKey({ control, blocked }: { control: string[]; blocked: Blocked }) {
  return (
    <p class="key">
      Filled: the rule’s columns.
      {control.length > 0 && " Thick outline: what it is adjusted for."}
      {blocked.length > 0 && " Long dashes: spurious paths that this blocks."}
    </p>
  );
}

export function GraphKey({ drawing }: { drawing: Drawing }) {
  const roles = ["actionable", "control", "context", "target", "no role", "latent"];
  const present = roles.filter((role) => drawing.nodes.some((node) => node.role === role));
  return (
    <p class="key">
      {present.map((role) => (
        <span key={role}>
          <svg width="24" height="14" class="graph" aria-hidden="true">
            <g class={`node role-${role.replace(" ", "-")}`}>
              <rect x="1.5" y="1.5" width="21" height="11" rx={role === "actionable" || role === "no role" ? 2 : 5.5} />
            </g>
          </svg>
          {role}
        </span>
      ))}
      {drawing.edges.some((edge) => edge.criteria.length > 0) && <span>letters: violated criteria</span>}
    </p>
  );
}
