// Talks to the server of this page: commands, downloads, and the stream of what changes.
import type { State } from "./state";

const token = new URLSearchParams(location.search).get("token") ?? "";
const headers = { "x-studio-token": token };

/** Send a command; an error of the package is an Error with its message. */
export async function send<T = Record<string, never>>(name: string, body: Record<string, unknown> = {}): Promise<T> {
  const answer = await fetch(`api/${name}`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return understood<T>(answer);
}

export async function upload(file: File): Promise<void> {
  const answer = await fetch(`api/upload?name=${encodeURIComponent(file.name)}`, { method: "PUT", headers, body: file });
  await understood(answer);
}

async function understood<T>(answer: Response): Promise<T> {
  const found = (await answer.json()) as T & { error?: string };
  if (found.error) throw new Error(found.error);
  return found;
}

/** Download an export. */
export async function take(what: string): Promise<void> {
  const answer = await fetch(`api/take/${what}`, { headers });
  const named = /filename="([^"]*)"/.exec(answer.headers.get("content-disposition") ?? "");
  if (!named) {
    await understood(answer);
    return;
  }
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = named[1] ?? what;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const RETRY = 1000;

/** Follow the state indefinitely: first all of it, then changes; after a disconnection, all of it again. */
export async function follow(changed: (sections: Partial<State>) => void, connected: (is: boolean) => void): Promise<void> {
  for (;;) {
    try {
      const answer = await fetch("api/stream", { headers });
      if (answer.ok && answer.body) {
        connected(true);
        await lines(answer.body, (line) => changed(JSON.parse(line) as Partial<State>));
      }
    } catch {
      // The server has ended, or the computer slept: try again.
    }
    connected(false);
    await new Promise((done) => setTimeout(done, RETRY));
  }
}

async function lines(body: ReadableStream<Uint8Array>, heard: (line: string) => void): Promise<void> {
  const reader = body.pipeThrough(new TextDecoderStream() as unknown as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) if (part) heard(part);
  }
}
