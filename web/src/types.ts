// The result's JSON (docs/json.md) and its texts (report/view.py). Parts that were not computed are
// absent or null.

export type Maybe = number | null | undefined;

export interface Stratum {
  n: number;
  p_rule: Maybe;
  p_not_rule: Maybe;
  difference: Maybe;
  overlap: boolean;
}

export interface Measured {
  effect: Maybe;
  low?: Maybe;
  high?: Maybe;
}

export interface ControlStrength {
  control: string;
  strength: Maybe;
  gamma?: Maybe;
}

export interface Sensitivity {
  e_value: Maybe;
  e_value_limit: Maybe;
  gamma?: Maybe;
  gamma_limit?: Maybe;
  controls: ControlStrength[];
}

export interface Balance {
  control: string;
  before: Maybe;
  strata: Maybe;
  weighted?: Maybe;
}

/** An effect on held-out rows; it is of this rule if all blocks (splits) measured it or one like it. */
export interface HeldOut extends Measured {
  found: number;
  alike?: number | null;
  splits: number;
}

export interface RuleEvidence {
  honest?: HeldOut | null;
  doubly_robust?: Measured | null;
  sensitivity?: Sensitivity | null;
  balance?: Balance[] | null;
}

export interface Rule {
  effect: Maybe;
  interval: [Maybe, Maybe];
  marginal_effect: Maybe;
  at_least: Maybe;
  p_do_rule: Maybe;
  p_do_not_rule: Maybe;
  coverage: number;
  n_covered: number;
  p_value: Maybe;
  value: Maybe;
  strata: Stratum[];
  evidence?: RuleEvidence | null;
  identification?: { open_path?: string[] } | null;
  alone?: Measured | null;
}

export interface Result {
  question: { control?: string[] | string | null };
  rules: Rule[];
  n_rows: number;
  proof?: { optimal: boolean; stopped: string };
}

export type Tone = "good" | "caution" | "bad" | "none";

export interface Answer {
  word: string;
  tone: Tone;
  why: string;
  asks: string;
}

export interface Alert {
  title: string;
  text: string;
}

export interface Section {
  title: string;
  sentences: string[];
  headings: string[];
  rows: string[][];
  about: string;
}

export type Condition = [column: string, sign: string, value: string];

export interface NumberView {
  name: string;
  text: string;
  more: string;
  value: Maybe;
  ascending: boolean;
  in_table: boolean;
  in_card: boolean;
}

export interface RuleView {
  text: string;
  conditions: Condition[];
  evidence: Answer;
  claim: Answer;
  holds: string;
  fails: string;
  estimate: string;
  at_least: string;
  conservative: string;
  measured: string;
  unfound: boolean;
  sides: [holds: string, fails: string];
  mix: string;
  numbers: NumberView[];
  covered: string;
  stands_out: boolean;
  reading: string[];
  alerts: Alert[];
  strata: string[];
  strata_left: string;
  sections: Section[];
  code: [language: string, code: string][];
  control: string[];
  held_fixed: string;
  estimated: string;
  blocked: [from: string, arrow: string, to: string][];
}

export interface Rung {
  name: string;
  short: string;
  rule: string;
  level: string;
  value: number;
  step: string;
  change: Maybe;
  rows: string;
  few: boolean;
}

export interface Staircase {
  title: string;
  says: string;
  step: string;
  rungs: Rung[];
}

export interface GraphNode {
  name: string;
  label: string;
  role: string;
  x: number;
  y: number;
}

export interface GraphEdge {
  arrow: "->" | "<->" | "--";
  from: string;
  to: string;
  through: [number, number][];
  criteria: string[];
  harmful: boolean;
}

export interface Graph {
  width: number;
  height: number;
  nodes: GraphNode[];
  edges: GraphEdge[];
}

export interface View {
  title: string;
  outcome: string;
  source: string;
  table: string;
  noun: string;
  estimate: string;
  least: string;
  named: boolean;
  p: string;
  list: string;
  adds: string;
  ending: string;
  staircase: Staircase | null;
  kind: Kind;
  tone: Tone;
  lead: number | null;
  headline: [before: string, after: string];
  alerts: Alert[];
  meaning: string;
  proof: string;
  warning: string;
  ranking: string;
  rules_left: string;
  rules: RuleView[];
  sections: Section[];
  graph: Graph | null;
  asked: [name: string, value: string][];
  graph_says: string;
  assumed: string;
  assumptions: string[];
  command: string;
  call: string;
  versions: string;
}

// The kind of the outcome (language/kinds.py).
export interface Kind {
  unit: string;
  sign: string;
  scale: number;
  places: number | null;
  farthest: Maybe;
  highest: Maybe;
}

export interface Page {
  result: Result;
  view: View;
}
