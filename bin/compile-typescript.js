// `node bin/compile-typescript.js FOLDER...` compiles TypeScript below the folders into dist. It only removes types:
// `npm run check` reports type errors. Unchanged outputs are not written, so that running tests never read a part of a file.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { build } from 'rolldown';
import { transformSync } from 'rolldown/utils';

/** Bundled, because every process of Quarry loads TypeBox and its 340 modules load ten times slower than one file. */
const bundledSource = join('src', 'schemas', 'typebox.ts');

const transformOptions = {
  target: 'es2023',
  sourcemap: true,
  typescript: { rewriteImportExtensions: 'rewrite', onlyRemoveTypeImports: true },
};

const folders = process.argv.slice(2);
const sources = folders.flatMap(listSources);
const errors = sources.filter((source) => source !== bundledSource).flatMap(compile);
for (const error of errors) process.stderr.write(`${error}\n`);
if (errors.length > 0) process.exit(1);
await bundle();
removeStaleOutputs();

function listSources(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.d.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !path.includes('node_modules'));
}

/** Returns syntax errors. */
function compile(source) {
  const output = outputOf(source);
  const { code, map, errors } = transformSync(source, readFileSync(source, 'utf8'), transformOptions);
  if (errors.length > 0)
    return errors.map(({ message, codeframe }) =>
      stripVTControlCharacters(`${source}: ${codeframe ?? message}`),
    );
  const sourceMap = { ...map, sources: [relative(dirname(output), source)], sourcesContent: undefined };
  writeIfChanged(output, `${code}//# sourceMappingURL=${basename(output)}.map\n`);
  writeIfChanged(`${output}.map`, JSON.stringify(sourceMap));
  return [];
}

async function bundle() {
  if (!existsSync(bundledSource)) return;
  await build({
    input: bundledSource,
    platform: 'node',
    logLevel: 'warn',
    output: { file: outputOf(bundledSource) },
  });
}

/** Removes compiled files without a source: tests and workers among them would still run. */
function removeStaleOutputs() {
  for (const folder of folders.filter((name) => existsSync(join('dist', name)))) {
    for (const entry of readdirSync(join('dist', folder), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || !/\.js(\.map)?$/.test(entry.name)) continue;
      const output = join(entry.parentPath, entry.name);
      const source = relative('dist', output).replace(/\.js(\.map)?$/, '.ts');
      if (!existsSync(source)) rmSync(output);
    }
  }
}

function outputOf(source) {
  return join('dist', source.replace(/\.ts$/, '.js'));
}

function writeIfChanged(path, content) {
  if (existsSync(path) && readFileSync(path, 'utf8') === content) return;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}
