// Numbers as in causalrules.text: a real minus sign, "5.4 %"; levels and differences by the kind of the outcome.
import type { Kind, Maybe } from "./types";

export const known = (value: Maybe): value is number => typeof value === "number" && Number.isFinite(value);

// No minus before zeros only.
const minus = (text: string): string => text.replace(/^-(?=[0.,]*$)/, "").replace("-", "−");

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

function scaled(value: Maybe, kind: Kind, places: number | null): string {
  const shown = known(value) ? kind.scale * value : value;
  return places === null ? amount(shown) : number(shown, places);
}

/** A difference: with one more decimal below 1, as all numbers of its column. */
export function difference(value: Maybe, kind: Kind, column: Maybe[] = [value]): string {
  if (kind.places === null) return scaled(value, kind, null);
  const below = 1 - 0.5 * 10 ** -kind.places;
  const isSmall = column.some((each) => known(each) && each !== 0 && Math.abs(each) * kind.scale < below);
  return scaled(value, kind, kind.places + Number(isSmall));
}

export const level = (value: Maybe, kind: Kind): string => scaled(value, kind, kind.places) + (known(value) ? kind.sign : "");

export function interval(measured: { effect: Maybe; low?: Maybe; high?: Maybe }, kind: Kind): string {
  if (!known(measured.effect)) return "not measurable";
  const ends =
    known(measured.low) && known(measured.high)
      ? ` (${[measured.low, measured.high].map((end) => difference(end, kind, [measured.effect])).join(" to ")})`
      : "";
  return `${difference(measured.effect, kind)}${kind.unit && ` ${kind.unit}`}${ends}`;
}
