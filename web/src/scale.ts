// Linear scales in percent of a figure's width, so that figures fit any screen without their text shrinking.
import { known } from "./format";
import type { Maybe } from "./types";

export interface Scale {
  low: number;
  high: number;
  at: (value: number) => string;
  ticks: number[];
}

const MARGIN = 3;

export function scale(values: Maybe[], include: number[] = [0], about = 4): Scale {
  const all = [...values.filter(known), ...include];
  let low = Math.min(...all);
  let high = Math.max(...all);
  if (!(high > low)) [low, high] = [low - 0.5, low + 0.5];
  const share = (value: number): number => (Math.min(Math.max(value, low), high) - low) / (high - low);
  const at = (value: number): string => `${(MARGIN + (100 - 2 * MARGIN) * share(value)).toFixed(2)}%`;
  return { low, high, at, ticks: ticks(low, high, about) };
}

function ticks(low: number, high: number, about: number): number[] {
  const rough = (high - low) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  const found: number[] = [];
  for (let tick = Math.ceil(low / step); tick * step <= high + 1e-12; tick += 1) found.push(tick * step);
  return found;
}
