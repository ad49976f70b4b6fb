// Causal graphs on the canvas: positions of variables, edges, and the graph as text.
import { Graph, layout } from "@dagrejs/dagre";
import type { Arrow, Drawing, Pair } from "./state";

export const HEIGHT = 34;
export const EMPTY: Drawing = { nodes: [], directed: [], bidirected: [], unknown: [], latent: [], places: {} };
export const LISTS = { "->": "directed", "<->": "bidirected", "--": "unknown" } as const;
const ARROWS: Arrow[] = ["->", "<->", "--"];

export interface Edge {
  arrow: Arrow;
  from: string;
  to: string;
}

export const labelOf = (name: string): string => (name.length > 24 ? `${name.slice(0, 23)}…` : name);
export const widthOf = (name: string): number => 30 + 7.6 * [...labelOf(name)].length;

export function edgesOf(drawing: Drawing): Edge[] {
  return ARROWS.flatMap((arrow) => drawing[LISTS[arrow]].map(([from, to]) => ({ arrow, from, to })));
}

export const same = (one: Edge, other: { arrow: string; from: string; to: string }): boolean =>
  one.arrow === other.arrow &&
  ((one.from === other.from && one.to === other.to) || (one.arrow !== "->" && one.from === other.to && one.to === other.from));

export function without(drawing: Drawing, edge: Edge): Drawing {
  const list = LISTS[edge.arrow];
  const kept = drawing[list].filter(([from, to]) => !same(edge, { arrow: edge.arrow, from, to }));
  return { ...drawing, [list]: kept };
}

/** The drawing with an edge; an edge of unknown direction replaces a known one, and vice versa. */
export function withEdge(drawing: Drawing, edge: Edge): Drawing {
  if (edge.from === edge.to) return drawing;
  const joins = ([from, to]: Pair): boolean =>
    (from === edge.from && to === edge.to) || (from === edge.to && to === edge.from);
  let next = without(drawing, edge);
  if (edge.arrow === "--") {
    next = { ...next, directed: next.directed.filter((pair) => !joins(pair)), bidirected: next.bidirected.filter((pair) => !joins(pair)) };
  } else {
    next = { ...next, unknown: next.unknown.filter((pair) => !joins(pair)) };
    if (edge.arrow === "->") next = { ...next, directed: next.directed.filter((pair) => !joins(pair)) };
  }
  const list = LISTS[edge.arrow];
  return { ...next, [list]: [...next[list], [edge.from, edge.to]] };
}

export function withoutNode(drawing: Drawing, name: string): Drawing {
  const apart = (pairs: Pair[]): Pair[] => pairs.filter((pair) => !pair.includes(name));
  const { [name]: _, ...places } = drawing.places;
  return {
    nodes: drawing.nodes.filter((each) => each !== name),
    directed: apart(drawing.directed),
    bidirected: apart(drawing.bidirected),
    unknown: apart(drawing.unknown),
    latent: drawing.latent.filter((each) => each !== name),
    places,
  };
}

/** The position of each variable: as placed by the user, or else in layers, causes to the left of effects.
 * Variables without edges are placed by their roles: `ranks` are controls, actionable columns and the outcome. */
export function placed(drawing: Drawing, ranks: string[][] = []): Map<string, [number, number]> {
  const known = new Map(Object.entries(drawing.places));
  if (drawing.nodes.every((name) => known.has(name))) return known;
  const graph = new Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 34, ranksep: 90, marginx: 24, marginy: 24 });
  graph.setDefaultEdgeLabel(() => ({}));
  drawing.nodes.forEach((name, place) => graph.setNode(String(place), { width: widthOf(name), height: HEIGHT }));
  const numbers = new Map(drawing.nodes.map((name, place) => [name, String(place)]));
  for (const { from, to } of edgesOf(drawing)) graph.setEdge(numbers.get(from) ?? "", numbers.get(to) ?? "");
  const joined = new Set(edgesOf(drawing).flatMap(({ from, to }) => [from, to]));
  ranks.forEach((names, rank) => {
    const next = ranks.slice(rank + 1).flat()[0];
    for (const name of names) {
      if (next !== undefined && !joined.has(name) && numbers.has(name) && numbers.has(next)) {
        graph.setEdge(numbers.get(name) ?? "", numbers.get(next) ?? "");
      }
    }
  });
  layout(graph);
  drawing.nodes.forEach((name, place) => {
    const at = graph.node(String(place)) as { x: number; y: number };
    if (!known.has(name)) known.set(name, [Math.round(at.x), Math.round(at.y)]);
  });
  return apart(drawing, known);
}

/** Move variables that the user has not placed off those that they would cover. */
function apart(drawing: Drawing, at: Map<string, [number, number]>): Map<string, [number, number]> {
  const settled: [number, number][] = Object.values(drawing.places);
  for (const name of drawing.nodes) {
    if (name in drawing.places) continue;
    const place = at.get(name);
    if (!place) continue;
    while (settled.some(([x, y]) => Math.abs(x - place[0]) < 110 && Math.abs(y - place[1]) < HEIGHT + 10)) place[1] += HEIGHT + 24;
    settled.push(place);
  }
  return at;
}

const quoted = (name: string): string => JSON.stringify(name);

export function asText(drawing: Drawing | null): string {
  if (!drawing || drawing.nodes.length === 0) return "";
  const nodes = drawing.nodes.map((name) => `${quoted(name)}${drawing.latent.includes(name) ? " [latent]" : ""}`);
  const edges = edgesOf(drawing).map(({ arrow, from, to }) => `${quoted(from)} ${arrow} ${quoted(to)}`);
  return ["dag {", ...nodes, ...edges, "}"].join("\n");
}
