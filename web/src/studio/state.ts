// The studio's state as the server publishes it (causalrules/studio/views.py), section by section.
import type { Answer, Page, Tone } from "../types";

export interface Column {
  name: string;
  kind: string;
  ordered: boolean;
  n_missing: number;
  n_values: number;
  bars: number[];
  labels: string[];
  values: string[];
  remarks: string[];
  sentinel: string | null;
  left_out: string | null;
}

export interface TableSection {
  file: string | null;
  uploaded: boolean;
  n_rows: number;
  n_columns: number;
  streamed: boolean;
  columns: Column[];
  unusable: Record<string, string>;
  notes: string[];
  na_values: string[];
  error: string;
  workspace: string | null;
  unsaved: string;
  resumed: boolean;
}

export interface Question {
  letter: string;
  question: string;
  assumption: string;
  answer: string;
}

export interface QuestionSection {
  target: string | null;
  outcome: string | null;
  direction: string;
  level: string;
  error: string;
  actionable: string[];
  control: string[];
  context: string[];
  randomised: string[];
  categorical: string[];
  own_controls: boolean;
  options: Record<string, string>;
  questions: Question[];
}

export type Arrow = "->" | "<->" | "--";
export type Pair = [string, string];

export interface Drawing {
  nodes: string[];
  directed: Pair[];
  bidirected: Pair[];
  unknown: Pair[];
  latent: string[];
  places: Record<string, [number, number]>;
}

export interface Fix {
  text: string;
  roles: { name: string; role: string | null }[];
  edges: { arrow: Arrow; from: string; to: string; to_arrow: Arrow | null }[];
  add?: string;
}

export interface Problem {
  criterion: string;
  says: string;
  fixes: Fix[];
}

export interface Marked {
  arrow: string;
  from: string;
  to: string;
  criteria: string[];
  harmful: boolean;
}

export interface Verdict {
  status: "none" | "admissible" | "violated" | "unknown";
  tone: Tone;
  title: string;
  says: string[];
  problems: Problem[];
  marked: Marked[];
}

export interface Told {
  done?: number;
  total?: number;
  step?: string;
  seconds?: number;
  best?: number | null;
  bound?: number | null;
  gap?: number | null;
  nodes?: number;
  /** The rule that is searched for, of at most k. */
  rung?: number;
  k?: number;
  rules?: { value: number; text: string }[];
}

export interface Job {
  kind: string | null;
  title: string;
  stopping: boolean;
  seconds: number;
  told: Told;
  waiting: string | null;
  error: { kind: string; error: string } | null;
  points: [seconds: number, best: number | null, bound: number | null, step: number][];
}

export interface Check {
  name: string;
  title: string;
  about: string;
}

export interface RulesSection {
  page: Page | null;
  front: Page | null;
  edited: (Page & { error?: string }) | null;
  stale: boolean;
  rows: boolean;
  checks: Check[];
  checked: string[];
}

export interface Said {
  sentences: string[];
  tone: Tone;
  answers: Answer[];
  call: string;
  command: string;
}

export interface Option {
  name: string;
  few: boolean;
  doc: string;
  kind: "flag" | "column" | "text";
  words: string[];
  answers: { true: string; false: string };
  default: string;
}

export interface State {
  options: Option[];
  table: TableSection;
  question: QuestionSection;
  graph: { drawing: Drawing | null; verdict: Verdict };
  job: Job;
  rules: RulesSection;
  said: Said;
}

export interface Condition {
  column: string;
  operator: string;
  value: string;
}
