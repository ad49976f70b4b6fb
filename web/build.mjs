// Bundles the pages into the Python package, or into the folder that is given, each in a folder of its own.
import { build } from "esbuild";

const folder = process.argv[2] ?? new URL("../src/causalrules", import.meta.url).pathname;
const pages = { report: "src/report.tsx", studio: "src/studio/studio.tsx" };
for (const [page, entry] of Object.entries(pages)) {
  await build({
    absWorkingDir: new URL(".", import.meta.url).pathname,
    entryPoints: { [page]: entry },
    outdir: `${folder}/${page}`,
    bundle: true,
    minify: true,
    charset: "ascii",
    format: "iife",
    target: "es2022",
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
  });
}
