import { useContext, useEffect, useState } from "preact/hooks";
import { count, percent } from "../format";
import { Act, useSend } from "./acting";
import { upload } from "./server";
import type { Column, State } from "./state";

const MOST_CARDS = 48;
const HEIGHT = 44;

function Open({ state }: { state: State }) {
  const act = useContext(Act);
  const tell = useSend();
  const [path, type] = useState(state.table.file ?? "");
  return (
    <form
      class="open"
      onSubmit={(event) => {
        event.preventDefault();
        void tell("open", { path });
      }}
    >
      <label for="path">CSV, TSV or Parquet file, or a workspace (.studio.json)</label>
      <div class="line">
        <input id="path" class="field wide-field" value={path} spellcheck={false} onInput={(event) => type(event.currentTarget.value)} />
        <button type="submit" class="button main-button">
          Open
        </button>
        <label class="button file-button">
          Choose a file…
          <input
            type="file"
            aria-label="Choose a file"
            accept=".csv,.tsv,.txt,.parquet,.gz,.json"
            onChange={(event) => {
              const file = event.currentTarget.files?.[0];
              if (file) void act(upload(file));
            }}
          />
        </label>
      </div>
      <p class="muted small">Or drop a file anywhere on this page. It is read on this computer only.</p>
    </form>
  );
}

const share = (value: number): string => (value < 0.005 ? "under 1 %" : percent(value, 0));

function Bars({ column }: { column: Column }) {
  const most = Math.max(...column.bars, 1);
  const width = 100 / Math.max(column.bars.length, 1);
  return (
    <svg class="histogram" width="100%" height={HEIGHT} preserveAspectRatio="none" aria-hidden="true">
      {column.bars.map((rows, place) => {
        const height = rows > 0 ? Math.max(1.5, (HEIGHT * rows) / most) : 0;
        return (
          <rect key={place} x={`${place * width + 0.08 * width}%`} width={`${0.84 * width}%`} y={HEIGHT - height} height={height} rx="1" />
        );
      })}
    </svg>
  );
}

function ColumnCard({ column, rows, chosen }: { column: Column; rows: number; chosen: boolean }) {
  const tell = useSend();
  const [first, last] = [column.labels[0], column.labels[column.labels.length - 1]];
  return (
    <button
      type="button"
      class="column"
      aria-pressed={chosen}
      onClick={() => void tell("outcome", { target: chosen ? null : column.name })}
    >
      <span class="column-name">
        <bdi>{column.name}</bdi>
        {chosen && <span class="tag tone-good">outcome</span>}
      </span>
      <span class="column-facts">
        {column.kind} · {count(column.n_values)} value{column.n_values === 1 ? "" : "s"}
        {column.n_missing > 0 && <> · {share(column.n_missing / Math.max(rows, 1))} missing</>}
      </span>
      <Bars column={column} />
      <span class="column-ends">
        <bdi>{first}</bdi>
        {column.labels.length > 1 && <bdi>{last}</bdi>}
      </span>
      {column.remarks.map((remark) => (
        <span key={remark} class="remark">
          <bdi>{remark}</bdi>
        </span>
      ))}
    </button>
  );
}

const SIGNS: [string, string][] = [
  [">=", "at least"],
  ["<=", "at most"],
  ["=", "equal to"],
];

/** The outcome: a value, a threshold or the mean of the target; and whether to increase or decrease it. */
function Outcome({ state, column }: { state: State; column: Column }) {
  const tell = useSend();
  const { question } = state;
  const numeric = column.kind === "number" && column.n_values > 2;
  const found = /^(>=|<=|=)\s*(.*)$/.exec(question.outcome ?? "");
  const [sign, setSign] = useState(found?.[1] ?? ">=");
  const [value, setValue] = useState(found?.[2] ?? "");
  const mean = numeric && question.outcome === null;
  const set = (outcome: string | null, direction = question.direction): void =>
    void tell("outcome", { target: column.name, outcome, direction });
  const threshold = (nextSign: string, nextValue: string): void => {
    setSign(nextSign);
    setValue(nextValue);
    if (nextValue.trim()) set(`${nextSign} ${nextValue.trim()}`);
  };
  const middle = column.labels[Math.floor(column.labels.length / 2)] ?? "";
  return (
    <section class="panel outcome" aria-labelledby="outcome-title">
      <h2 id="outcome-title">
        Outcome: <bdi>{column.name}</bdi>
      </h2>
      <div class="line">
        <select
          class="field"
          aria-label="Raise or lower"
          value={question.direction}
          onChange={(event) => set(question.outcome, event.currentTarget.value)}
        >
          <option value="increase">Raise</option>
          <option value="decrease">Lower</option>
        </select>
        {numeric && (
          <span role="radiogroup" aria-label="What counts" class="radios">
            <label>
              <input type="radio" name="counts" checked={mean} onChange={() => set(null)} /> its mean
            </label>
            <label>
              <input
                type="radio"
                name="counts"
                checked={!mean}
                onChange={() => threshold(sign, value || (column.values.length > 0 ? (column.values[0] ?? "") : middle))}
              />{" "}
              how often it is
            </label>
          </span>
        )}
        {numeric && !mean && (
          <>
            <select class="field" aria-label="Comparison" value={sign} onChange={(event) => threshold(event.currentTarget.value, value)}>
              {SIGNS.map(([written, words]) => (
                <option key={written} value={written}>
                  {words}
                </option>
              ))}
            </select>
            <input
              class="field short-field"
              aria-label="Threshold"
              value={value}
              onChange={(event) => threshold(sign, event.currentTarget.value)}
            />
          </>
        )}
        {!numeric && (
          <label class="inline">
            how often it is
            <select
              class="field"
              aria-label="Desired value"
              value={question.outcome ?? (column.values.includes("1") ? "1" : column.values.includes("True") ? "True" : "")}
              onChange={(event) => set(event.currentTarget.value || null)}
            >
              <option value="">choose a value</option>
              {column.values.map((each) => (
                <option key={each} value={each}>
                  {each.slice(0, 80)}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      {question.level && (
        <p class="level">
          <bdi>{question.level}</bdi>
        </p>
      )}
      {question.error && (
        <p class="problem" role="status">
          <bdi>{question.error}</bdi>
        </p>
      )}
      <p>
        <a class="button main-button" href="#roles">
          Next: roles and graph
        </a>
      </p>
    </section>
  );
}

function Missing({ state }: { state: State }) {
  const tell = useSend();
  const known = state.table.na_values;
  const [texts, type] = useState(known.join(", "));
  useEffect(() => type(known.join(", ")), [known.join(", ")]);
  const suspects = state.table.columns.filter((column) => column.sentinel !== null);
  return (
    <details class="fold">
      <summary>Missing values{known.length > 0 ? `: ${known.join(", ")}` : ""}</summary>
      <form
        class="line"
        onSubmit={(event) => {
          event.preventDefault();
          void tell("missing", { values: texts.split(",").map((each) => each.trim()).filter(Boolean) });
        }}
      >
        <label class="inline">
          Texts that mean missing, separated by commas
          <input class="field" value={texts} onInput={(event) => type(event.currentTarget.value)} />
        </label>
        <button class="button" type="submit">
          Read again
        </button>
        {suspects.slice(0, 3).map((column) => (
          <button
            key={column.name}
            class="button"
            type="button"
            onClick={() => void tell("missing", { values: [...known, column.sentinel ?? ""] })}
          >
            {column.sentinel} means missing
          </button>
        ))}
      </form>
    </details>
  );
}

export function Data({ state }: { state: State }) {
  const { table, question, job } = state;
  const tell = useSend();
  const [sure, sureOf] = useState(false);
  const [wanted, want] = useState("");
  const [most, show] = useState(MOST_CARDS);
  const target = table.columns.find((column) => column.name === question.target);
  const found = table.columns.filter((column) => column.name.toLowerCase().includes(wanted.trim().toLowerCase()));
  const reading = job.kind === "read";
  const opened = table.n_rows > 0;
  return (
    <div class="step">
      <h1>Data</h1>
      {!opened && <p class="lead">Open a table: one row a case, one column a thing that was observed.</p>}
      {opened ? (
        <>
          <p class="lead">
            <b>
              <bdi>{table.file?.split(/[\\/]/).pop()}</bdi>
            </b>{" "}
            {count(table.n_rows)} rows, {count(table.n_columns)} columns
            {table.streamed && ", read from the file as needed"}.
            {table.resumed && " Opened again as you left it."}
          </p>
          <div class="folds">
            <details class="fold">
              <summary>Open another</summary>
              <Open state={state} />
            </details>
            <Missing state={state} />
            {table.notes.length > 0 && (
              <details class="fold">
                <summary>Notes on reading ({table.notes.length})</summary>
                <ul>
                  {table.notes.map((note) => (
                    <li key={note}>
                      <bdi>{note}</bdi>
                    </li>
                  ))}
                </ul>
              </details>
            )}
            {question.target !== null && (
              <button
                type="button"
                class="plain"
                onBlur={() => sureOf(false)}
                onClick={() => {
                  if (sure) void tell("forget");
                  sureOf(!sure);
                }}
              >
                {sure ? "Really forget roles, graph and rules?" : "Clear everything"}
              </button>
            )}
          </div>
        </>
      ) : (
        <Open state={state} />
      )}
      {reading && (
        <p class="working" role="status">
          {job.title}
          {job.told.total ? `: ${job.told.done ?? 0} of ${job.told.total} columns` : "…"}
        </p>
      )}
      {table.error && (
        <p class="notice tone-bad" role="alert">
          <bdi>{table.error}</bdi>
        </p>
      )}
      {target && <Outcome key={target.name} state={state} column={target} />}
      {opened && (
        <section aria-labelledby="columns-title">
          <h2 id="columns-title">{target ? "Columns" : "Which column is the outcome?"}</h2>
          {table.columns.length > 12 && (
            <p>
              <input
                type="search"
                class="field"
                placeholder="Filter columns"
                aria-label="Filter columns"
                value={wanted}
                onInput={(event) => want(event.currentTarget.value)}
              />
            </p>
          )}
          <div class="columns">
            {found.slice(0, most).map((column) => (
              <ColumnCard key={column.name} column={column} rows={table.n_rows} chosen={column.name === question.target} />
            ))}
          </div>
          {found.length > most && (
            <button type="button" class="button" onClick={() => show(most + 200)}>
              Show more ({count(found.length - most)})
            </button>
          )}
          {Object.keys(table.unusable).length > 0 && (
            <p class="muted small">
              Cannot be used: <bdi>{Object.entries(table.unusable).map(([name, why]) => `${name} (${why})`).slice(0, 20).join("; ")}</bdi>
            </p>
          )}
        </section>
      )}
    </div>
  );
}
