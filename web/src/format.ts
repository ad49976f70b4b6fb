// Numbers as in causalrules.text: a real minus sign, "5.4 %"; levels and differences by the kind of the outcome.
import type { Kind, Maybe } from "./types";

export const known = (value: Maybe): value is number => typeof value === "number" && Number.isFinite(value);

const minus = (text: string): string => text.replace("-", "−");

export function number(value: Maybe, places = 1): string {
  return known(value) ? minus(value.toFixed(places)) : "–";
}

export function percent(value: Maybe, places = 1): string {
  return known(value) ? `${number(100 * value, places)} %` : "–";
}

export function amount(value: Maybe): string {
  if (!known(value)) return "–";
  const digits = value === 0 ? 0 : Math.min(10, Math.max(0, 3 - Math.floor(Math.log10(Math.abs(value)))));
  return minus(value.toLocaleString("en-US", { maximumFractionDigits: digits }));
}

/** Keep a percentage on one line. */
export const unbroken = (text: string): string => text.replaceAll(" %", "\u00a0%");

export const count = (value: number): string => value.toLocaleString("en-US");

export function difference(value: Maybe, kind: Kind): string {
  const scaled = known(value) ? kind.scale * value : value;
  return kind.places === null ? amount(scaled) : number(scaled, kind.places);
}

export const level = (value: Maybe, kind: Kind): string => difference(value, kind) + (known(value) ? kind.sign : "");

export function interval(measured: { effect: Maybe; low?: Maybe; high?: Maybe }, kind: Kind): string {
  if (!known(measured.effect)) return "not measurable";
  const ends =
    known(measured.low) && known(measured.high)
      ? ` (${difference(measured.low, kind)} to ${difference(measured.high, kind)})`
      : "";
  return `${difference(measured.effect, kind)}${kind.unit && ` ${kind.unit}`}${ends}`;
}
