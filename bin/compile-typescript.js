// `node bin/compile-typescript.js FOLDER...` compiles TypeScript below the folders into dist. It only removes types:
// `npm run check` reports type errors. Unchanged outputs are not written, so that running tests never read a part of a file.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { build } from 'rolldown';
import { transformSync } from 'rolldown/utils';

/** Packages of the server that consist of JavaScript alone, with those that they import. */
const serverPackages = [
  'commander',
  '@fastify/busboy',
  'croner',
  'csv-parse',
  'typebox',
  'stripe',
  'jose',
  'openid-client',
  'oauth4webapi',
  'otpauth',
  '@noble/hashes',
  'htmlparser2',
  'dom-serializer',
  'domelementtype',
  'domhandler',
  'domutils',
  'entities',
  'prom-client',
  '@opentelemetry/api',
  'tdigest',
  'bintrees',
  'find-my-way',
  'fast-deep-equal',
  'fast-querystring',
  'fast-decode-uri-component',
  'safe-regex2',
  'ret',
  '@huggingface/tokenizers',
  'async-mutex',
  'tslib',
];

/** The same of the parser process. `@hyzyla/pdfium` locates its engine relative to its own module. */
const parserPackages = [
  'htmlparser2',
  'domelementtype',
  'domhandler',
  'dom-serializer',
  'domutils',
  'entities',
  'postal-mime',
  'file-type',
  'strtok3',
  'token-types',
  '@tokenizer/inflate',
  '@tokenizer/token',
  '@borewit/text-codec',
  'uint8array-extras',
  'ieee754',
  'debug',
  'ms',
];

/**
 * Compiled with the modules that they import into one file each: the source, and the packages that are included. The 340
 * modules of TypeBox load ten times slower than one file, and a server whose modules are bundled starts with a quarter less
 * CPU time; with the other packages in the list, with another tenth less (bench case `startup`). The 190 modules of the
 * parser process took .2 of the .42 s of CPU of its start, which now takes .23 s. A test file without work takes .12 instead
 * of .23 s of CPU with tap in one file. Other packages are not included: some of them locate their files
 * relative to their own modules.
 */
const bundles = [
  { source: join('src', 'schemas', 'typebox.ts'), packages: matchPackages(['typebox']), sourcemap: true },
  { source: join('src', 'cli', 'main.ts'), packages: matchPackages(serverPackages), sourcemap: true },
  { source: join('workers', 'parser-process.ts'), packages: matchPackages(parserPackages), sourcemap: true },
  {
    source: join('test', 'support', 'tap.ts'),
    packages: /^(?!node:)/,
    // Node.js would read the map with each test file.
    sourcemap: false,
    // tap omits the files of this folder from the stacks that it prints.
    output: join('node_modules', '@tapjs', 'tap.js'),
  },
];
/** Folder below dist. */
const chunkFolder = 'chunks';

const transformOptions = {
  target: 'es2023',
  sourcemap: true,
  typescript: { rewriteImportExtensions: 'rewrite', onlyRemoveTypeImports: true },
};

const folders = process.argv.slice(2);
const sources = folders.flatMap(listSources);
const errors = sources.flatMap(compile);
for (const error of errors) process.stderr.write(`${error}\n`);
if (errors.length > 0) process.exit(1);
const bundled = [];
for (const options of bundles.filter(({ source }) => sources.includes(source)))
  bundled.push(...(await bundle(options)));
removeStaleOutputs();

function matchPackages(names) {
  return new RegExp(`^(?:${names.join('|')})(?:/|$)`);
}

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
  if (bundles.some((each) => each.source === source)) return [];
  const sourceMap = { ...map, sources: [relative(dirname(output), source)], sourcesContent: undefined };
  writeIfChanged(output, `${code}//# sourceMappingURL=${basename(output)}.map\n`);
  writeIfChanged(`${output}.map`, JSON.stringify(sourceMap));
  return [];
}

async function bundle({ source, packages, sourcemap, output: place = relative('dist', outputOf(source)) }) {
  const { output: files } = await build({
    input: source,
    platform: 'node',
    logLevel: 'warn',
    // Nothing is removed: Rolldown assumes that a call such as decodeURIComponent(text) has no effect, but it can throw.
    treeshake: false,
    external: (id) => !/^[./]/.test(id) && !packages.test(id),
    transform: { target: 'es2023' },
    write: false,
    output: {
      dir: 'dist',
      entryFileNames: place,
      // Modules that are imported on demand, so that a command does not load the packages of the server.
      chunkFileNames: join(chunkFolder, '[name]-[hash].js'),
      sourcemap,
      minify: false,
    },
  });
  for (const file of files)
    writeIfChanged(join('dist', file.fileName), file.type === 'chunk' ? file.code : file.source);
  if (join('dist', place) !== outputOf(source)) {
    const specifier = relative(dirname(outputOf(source)), join('dist', place));
    writeIfChanged(
      outputOf(source),
      `export * from '${specifier}';\nexport { default } from '${specifier}';\n`,
    );
  }
  return files.map((file) => join('dist', file.fileName));
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
  const chunks = join('dist', chunkFolder);
  if (!existsSync(chunks)) return;
  for (const name of readdirSync(chunks)) {
    if (!bundled.includes(join(chunks, name))) rmSync(join(chunks, name));
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
