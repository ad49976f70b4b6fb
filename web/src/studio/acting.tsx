import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { send } from "./server";

/** Waits for work and shows its error, if any; returns whether it was done. */
export type Acting = (work: Promise<unknown>) => Promise<boolean>;

export const Act = createContext<Acting>(() => Promise.resolve(false));

/** Returns a function that sends a command and shows its error. */
export function useSend(): (name: string, body?: Record<string, unknown>) => Promise<boolean> {
  const act = useContext(Act);
  return (name, body) => act(send(name, body));
}
