// `npm run check:spelling`: the findings of cspell in half of its CPU time. cspell looks up common words again in each file.
// Here the distinct words of all files with the same settings form one document. cspell then checks only the files with a
// word that is unknown without its context: it is misspelled, or part of a URL or of something else that cspell ignores.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, extname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { CheckFailed, run } from 'cspell/app';
import { loadConfig, spellCheckDocument, Text } from 'cspell-lib';

const root = fileURLToPath(new URL('..', import.meta.url));
const configFile = `${root}cspell.json`;
/** cspell ignores longer words that look like base64, so their files are checked by cspell. */
const wordLengthMax = 39;
/** Checked in lines of several words, 50,000 words take a sixth less CPU time than in lines of one. */
const wordsPerLine = 20;
/** As in cspell.json; without them, the letter of an escape would be the first one of a word. */
const escapes = /\\[nrt]|\\u/g;
/** Comments that change the settings of cspell for a file. */
const directive = /\bc?spell(?:-?checker)?::?/i;

/** Paths of the files that cspell.json names, relative to the root. */
function listFiles({ files, ignorePaths }) {
  const patterns = [
    ...files.map((pattern) => `:(glob)${pattern}`),
    ...ignorePaths.map((pattern) => `:(exclude${pattern.includes('/') ? ',glob' : ''})${pattern}`),
  ];
  const flags = ['-z', '--cached', '--others', '--exclude-standard', '--deduplicate'];
  const output = execFileSync('git', ['ls-files', ...flags, '--', ...patterns], {
    cwd: root,
    encoding: 'utf8',
  });
  return output.split('\0').filter((path) => path !== '' && existsSync(root + path));
}

/** Groups files by a path with the same settings, which depend on the extension and on the `overrides` of cspell.json. */
function groupBySettings(paths, { overrides }) {
  if (overrides.length !== 1 || overrides[0].filename !== 'test/**') {
    throw new Error('The overrides of cspell.json have changed: adapt groupBySettings.');
  }
  const groups = new Map();
  for (const path of paths) {
    const name = `${path.startsWith('test/') ? 'test/' : ''}words${extname(path) || `/${basename(path)}`}`;
    groups.set(name, [...(groups.get(name) ?? []), path]);
  }
  return groups;
}

/** Returns the distinct words of a file, as cspell splits a text before it looks for parts of identifiers. */
function readWords(path) {
  const text = readFileSync(root + path, 'utf8').replaceAll(escapes, ' ');
  const words = new Set();
  for (const word of Text.extractPossibleWordsFromTextOffset({ text, offset: 0 })) words.add(word.text);
  return { words, hasDirective: directive.test(text) };
}

/** Returns those of `words` that are unknown in a file at the path `name`. */
async function findUnknownWords(words, name, settings) {
  const lines = [];
  for (let at = 0; at < words.length; at += wordsPerLine)
    lines.push(words.slice(at, at + wordsPerLine).join(' '));
  const document = { uri: pathToFileURL(root + name).href, text: lines.join('\n') };
  const { issues, errors } = await spellCheckDocument(document, { noConfigSearch: true }, settings);
  if (errors?.length > 0) throw errors[0];
  return new Set(
    issues.map(({ offset, line }) => {
      const at = offset - line.offset;
      return `${/\S*$/.exec(line.text.slice(0, at))[0]}${/^\S*/.exec(line.text.slice(at))[0]}`;
    }),
  );
}

/** Returns the files of a group that need a check with their context. */
async function findSuspects(paths, name, settings) {
  const files = paths.map((path) => ({ path, ...readWords(path) }));
  const words = new Set(
    files.flatMap((file) => [...file.words]).filter((word) => word.length <= wordLengthMax),
  );
  const unknown = await findUnknownWords([...words], name, settings);
  return files
    .filter(
      (file) => file.hasDirective || [...file.words].some((word) => unknown.has(word) || !words.has(word)),
    )
    .map((file) => file.path);
}

const config = JSON.parse(readFileSync(configFile, 'utf8'));
const settings = {
  ...(await loadConfig(pathToFileURL(configFile).href)),
  // Patterns may span several words of a file.
  ignoreRegExpList: [],
  maxNumberOfProblems: Number.MAX_SAFE_INTEGER,
  maxDuplicateProblems: Number.MAX_SAFE_INTEGER,
};
const suspects = [];
for (const [name, paths] of groupBySettings(listFiles(config), config)) {
  suspects.push(...(await findSuspects(paths, name, settings)));
}
try {
  const options = [
    '--no-progress',
    '--no-summary',
    '--no-must-find-files',
    `--root=${root}`,
    `--config=${configFile}`,
  ];
  if (suspects.length > 0)
    await run(undefined, [...process.argv.slice(0, 2), 'lint', ...options, ...suspects]);
} catch (error) {
  if (!(error instanceof CheckFailed)) throw error;
  process.exitCode = error.exitCode;
}
