import { useState } from "preact/hooks";

async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** Code with a button that copies it exactly. */
export function Code({ name, code }: { name: string; code: string }) {
  const [said, say] = useState("");
  const copy = async (): Promise<void> => {
    say((await copied(code)) ? "Copied" : "Select the text to copy it");
  };
  return (
    <div class="code">
      <div class="code-head">
        <span class="code-name">{name}</span>
        <span class="said" role="status">
          {said}
        </span>
        <button type="button" class="copy" onClick={copy} onBlur={() => say("")} aria-label={`Copy ${name}`}>
          Copy
        </button>
      </div>
      <pre tabIndex={0} role="group" aria-label={name}>{code}</pre>
    </div>
  );
}

/** Code in several languages, shown one at a time. */
export function Languages({ code }: { code: [string, string][] }) {
  const [chosen, choose] = useState(0);
  const shown = code[chosen];
  if (!shown) return null;
  return (
    <div class="languages">
      <div role="group" aria-label="Language" class="choices">
        {code.map(([name], place) => (
          <button key={name} type="button" aria-pressed={place === chosen} onClick={() => choose(place)}>
            {name}
          </button>
        ))}
      </div>
      <Code key={chosen} name={shown[0]} code={shown[1]} />
    </div>
  );
}
