import type { ComponentChildren } from "preact";
import type { Section } from "../types";

export function Table({ headings, rows }: { headings: string[]; rows: string[][] }) {
  return (
    <div class="wide" tabIndex={0} role="group" aria-label={headings.join(", ")}>
      <table class="data">
        <thead>
          <tr>
            {headings.map((heading) => (
              <th key={heading} scope="col">
                {heading}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, place) => (
            <tr key={place}>
              {row.map((cell, column) => (
                <td key={column}>
                  <bdi>{cell}</bdi>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface Props {
  section: Section;
  table?: boolean;
  children?: ComponentChildren;
}

/** Sentences and a table; a figure may come between them, or replace the table. */
export function Words({ section, table = true, children }: Props) {
  return (
    <>
      {section.sentences.length === 1 ? (
        <p>
          <bdi>{section.sentences[0]}</bdi>
        </p>
      ) : (
        section.sentences.length > 0 && (
          <ul>
            {section.sentences.map((sentence) => (
              <li key={sentence}>
                <bdi>{sentence}</bdi>
              </li>
            ))}
          </ul>
        )
      )}
      {children}
      {table && section.rows.length > 0 && <Table headings={section.headings} rows={section.rows} />}
    </>
  );
}
