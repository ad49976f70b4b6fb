// Bundles the pages into the Python package, or into the folder that is given.
import { build } from "esbuild";

const folder = process.argv[2] ?? new URL("../src/causalrules/report", import.meta.url).pathname;
await build({
  absWorkingDir: new URL(".", import.meta.url).pathname,
  entryPoints: ["src/report.tsx"],
  outdir: folder,
  bundle: true,
  minify: true,
  charset: "ascii",
  format: "iife",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
});
