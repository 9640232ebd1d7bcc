import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../src/core/root.ts';
import t, { type Test } from './support/tap.ts';
import { typescript } from './support/typescript.ts';
import { longLines, longNativeFunctions, unbreakable, withoutComments } from './tidy/code-layout.ts';
import { callsFetch, importsConnections } from './tidy/connections.ts';
import { findForbiddenWords, forbiddenWords } from './tidy/forbidden-words.ts';
import { edges, folderOf, isEntry, mayImport, mentions } from './tidy/module-imports.ts';
import {
  bannedIdentifiers,
  bannedNames,
  bannedWords,
  columnsMax,
  fileLinesMax,
  functionLinesMax,
  generatedFiles,
  importTable,
  machineWords,
  outgoingApis,
  packageEntries,
  parallelFiles,
  reservedWords,
  schemaTablesOfPages,
  sharedPackages,
} from './tidy/rules.ts';
import { files, importsOf, lineOf, native, sources, target, visit } from './tidy/sources.ts';
import { testFileMsMax } from './timeouts.ts';

t.setTimeout(testFileMsMax);

/**
 * Enforces the rules of CONTRIBUTING.md that a program can check. The tables are data: a new module or package is a new
 * line.
 */

/** Fails with one line per violation. */
function clean(t: Test, violations: string[]): void {
  t.same([...new Set(violations)].sort(), []);
}

t.test('the test reads the project that contains it', async (t) => {
  t.ok(sources.some((file) => file.path === 'test/tidy.test.ts'));
  t.ok(sources.length > 50, `${sources.length} sources`);
  t.ok(edges.length > sources.length, `${edges.length} imports`);
});

t.test('the checks of imports find violations', async (t) => {
  const text = "import { a } from '../http/server.ts';\nimport type { b } from '../parsing/pages.ts';\n";
  const tree = typescript.createSourceFile('src/ingest/x.ts', text, typescript.ScriptTarget.ES2023, true);
  const found = importsOf({ path: 'src/ingest/x.ts', text, tree });
  t.same(
    found.map((edge) => [target(edge), edge.typeOnly]),
    [
      ['src/http/server.ts', false],
      ['src/parsing/pages.ts', true],
    ],
  );
  t.same(
    found.map((edge) => mayImport(edge, target(edge) ?? '')),
    [false, true],
  );
  t.notOk(mayImport({ from: 'test/e2e/a.ts', specifier: '', typeOnly: false }, 'src/core/ids.ts'));
  t.match(['', 'home', 'ada', 'x'].join('/'), machineWords);
  t.match(`// ${'TO' + 'DO'}: later`, bannedWords);
});

/** Scripts of `bin` that run in a process of their own, after the packages are installed. */
const afterInstallation = new Set(['bin/compile-typescript.js', 'bin/check-spelling.js']);

t.test('every module imports only what its row of the table allows', async (t) => {
  const violations: string[] = [];
  for (const edge of edges) {
    const to = target(edge);
    if (folderOf(edge.from) === 'bin') {
      if (afterInstallation.has(edge.from)) continue;
      if (!edge.specifier.startsWith('node:') && to?.startsWith('bin/') !== true) {
        violations.push(`${edge.from} imports ${edge.specifier}: a fresh clone has only Node.js`);
      }
    } else if (to !== null && !mayImport(edge, to)) {
      violations.push(`${edge.from} imports ${to}${edge.typeOnly ? ' (types)' : ''}`);
    }
  }
  clean(t, violations);
});

t.test('every folder of src is a module of the table', async (t) => {
  const folders = sources.filter((file) => file.path.startsWith('src/')).map((file) => folderOf(file.path));
  clean(
    t,
    folders.filter((folder) => importTable[folder] === undefined),
  );
});

t.test('every package is imported by one file only', async (t) => {
  const users = new Map<string, Set<string>>();
  for (const edge of edges) {
    const ours = /^(src|workers)\//.test(edge.from);
    if (!ours || edge.specifier.startsWith('.') || edge.specifier.startsWith('node:') || edge.typeOnly)
      continue;
    if (sharedPackages.includes(edge.specifier)) continue;
    // The entries of workers/ are written for Piscina: only there may a result be marked to move instead of be copied.
    if (edge.specifier === 'piscina' && edge.from.startsWith('workers/')) continue;
    const name = edge.specifier
      .split('/')
      .slice(0, edge.specifier.startsWith('@') ? 2 : 1)
      .join('/');
    users.set(name, (users.get(name) ?? new Set()).add(edge.from));
  }
  clean(
    t,
    [...users].filter(([, by]) => by.size > 1).map(([name, by]) => `${name}: ${[...by].sort().join(', ')}`),
  );
});

t.test(
  'environment variables, time, randomness and the native engine are used in one place each',
  async (t) => {
    const violations: string[] = [];
    for (const file of sources.filter((source) => /^(src|workers|web)\//.test(source.path))) {
      const code = withoutComments(file);
      for (const reserved of reservedWords) {
        if (!reserved.where.test(file.path) && reserved.words.test(code))
          violations.push(`${file.path}: ${reserved.rule}`);
      }
    }
    clean(t, violations);
  },
);

t.test('outgoing connections are opened by one module', async (t) => {
  const violations = sources
    .filter(({ path }) => /^(src|workers)\//.test(path) && !outgoingApis.where.test(path))
    .filter((file) => importsConnections(file) || callsFetch(file))
    .map(({ path }) => `${path}: ${outgoingApis.rule}`);
  clean(t, violations);
});

t.test('one file imports tap, which the build bundles', async (t) => {
  const users = new Set(edges.filter(({ specifier }) => specifier === 'tap').map(({ from }) => from));
  t.strictSame([...users], ['test/support/tap.ts']);
});

t.test('no file only re-exports', async (t) => {
  const modules = sources.filter(({ path }) => !packageEntries.includes(path));
  const violations = modules.filter((file) => {
    const statements = file.tree.statements.filter((statement) => !typescript.isImportDeclaration(statement));
    const passedOn = statements.filter((statement) => typescript.isExportDeclaration(statement));
    const all = passedOn.some(
      (statement) => typescript.isExportDeclaration(statement) && statement.exportClause === undefined,
    );
    return all || (statements.length > 0 && passedOn.length === statements.length);
  });
  clean(
    t,
    violations.map((file) => `${file.path} is a barrel`),
  );
});

t.test('every source is reachable from an entry that is not a test', async (t) => {
  const reached = new Set<string>();
  const waiting = sources.map((file) => file.path).filter(isEntry);
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (reached.has(path)) continue;
    reached.add(path);
    const file = sources.find((source) => source.path === path);
    if (file !== undefined) waiting.push(...mentions(file));
  }
  const alive = (path: string) =>
    reached.has(path) || [...parallelFiles, ...schemaTablesOfPages].includes(path) || path.endsWith('.d.ts');
  const dead = sources.filter((file) => /^(src|bench|web)\//.test(file.path) && !alive(file.path));
  clean(
    t,
    dead.map((file) => file.path),
  );
});

t.test(`no line is longer than ${columnsMax} columns, unless a string crosses the edge`, async (t) => {
  const violations: string[] = [];
  for (const file of sources.filter(({ path }) => !generatedFiles.test(path))) {
    const long = longLines(file.text);
    if (long.length === 0) continue;
    const texts = unbreakable(file);
    const starts = file.tree.getLineStarts();
    for (const line of long) {
      const edge = (starts[line - 1] ?? 0) + columnsMax;
      if (!texts.some(([start, end]) => start < edge && edge <= end)) violations.push(`${file.path}:${line}`);
    }
  }
  for (const path of native) {
    const text = readFileSync(join(projectRoot, path), 'utf8');
    const lines = text.split('\n');
    violations.push(
      ...longLines(text)
        .filter((line) => !/"[^"]{20,}/.test(lines[line - 1] ?? ''))
        .map((line) => `${path}:${line}`),
    );
  }
  clean(t, violations);
});

t.test(`no function is longer than ${functionLinesMax} lines`, async (t) => {
  const violations: string[] = [];
  for (const file of sources) {
    visit(file.tree, (node) => {
      if (!typescript.isFunctionLike(node) || !('body' in node) || node.body === undefined) return;
      const lines = lineOf(file, node.end) - lineOf(file, node.getStart()) + 1;
      if (lines > functionLinesMax)
        violations.push(`${file.path}:${lineOf(file, node.getStart())} has ${lines} lines`);
    });
  }
  for (const path of native) violations.push(...longNativeFunctions(path));
  clean(t, violations);
});

t.test(`no source file is longer than ${fileLinesMax} lines`, async (t) => {
  const files = [...sources.map((file) => file.path), ...native].filter((path) => !generatedFiles.test(path));
  const lengths = files.map((path) => ({
    path,
    lines: readFileSync(join(projectRoot, path), 'utf8').split('\n').length - 1,
  }));
  const long = lengths.filter(({ lines }) => lines > fileLinesMax);
  clean(
    t,
    long.map(({ path, lines }) => `${path} has ${lines} lines`),
  );
});

t.test('no unfinished work, no vague file name, no abbreviation', async (t) => {
  const violations: string[] = [];
  for (const path of [...sources.map((file) => file.path), ...native]) {
    const parts = path.replace(/\.\w+$/, '').split('/');
    if (parts.some((part) => bannedNames.has(part)) || parts.at(-1) === 'index')
      violations.push(`${path} needs a specific name`);
    if (bannedWords.test(readFileSync(join(projectRoot, path), 'utf8')))
      violations.push(`${path} is unfinished`);
  }
  for (const file of sources) {
    visit(file.tree, (node) => {
      if (
        !typescript.isVariableDeclaration(node) &&
        !typescript.isParameter(node) &&
        !typescript.isFunctionDeclaration(node)
      )
        return;
      const name = node.name !== undefined && typescript.isIdentifier(node.name) ? node.name.text : '';
      if (bannedIdentifiers.has(name))
        violations.push(`${file.path}:${lineOf(file, node.getStart())} abbreviates: ${name}`);
    });
  }
  clean(t, violations);
});

t.test('no two exported types have the same name', async (t) => {
  const filesByName = new Map<string, string[]>();
  // A program uses few packages, whose types follow the names of their frameworks and of the API.
  for (const { path, tree } of sources.filter((file) => !file.path.startsWith('packages/'))) {
    for (const statement of tree.statements) {
      const isType =
        typescript.isInterfaceDeclaration(statement) ||
        typescript.isTypeAliasDeclaration(statement) ||
        typescript.isClassDeclaration(statement);
      const isExported =
        isType &&
        statement.modifiers?.some(({ kind }) => kind === typescript.SyntaxKind.ExportKeyword) === true;
      if (!isExported || statement.name === undefined) continue;
      const { text } = statement.name;
      filesByName.set(text, [...(filesByName.get(text) ?? []), path]);
    }
  }
  clean(
    t,
    [...filesByName]
      .filter(([, paths]) => new Set(paths).size > 1)
      .map(([name, paths]) => `${name}: ${paths.join(', ')}`),
  );
});

t.test('no object literal is spread into another, which only packs lines', async (t) => {
  const violations: string[] = [];
  for (const file of sources) {
    visit(file.tree, (node) => {
      if (typescript.isSpreadAssignment(node) && typescript.isObjectLiteralExpression(node.expression))
        violations.push(`${file.path}:${lineOf(file, node.getStart())}`);
    });
  }
  clean(t, violations);
});

t.test('file names are kebab-case, and snake_case in C++', async (t) => {
  const wrong = [
    ...sources
      .map((file) => file.path)
      .filter(
        (path) =>
          // n8n finds the class of a file by its name.
          !/^packages\/n8n\/(nodes|credentials)\//.test(path) &&
          !/^([a-z0-9]+(-[a-z0-9]+)*\/)*[a-z0-9]+(-[a-z0-9]+)*(\.(test|slow|d|config))?\.(tsx?|js)$/.test(
            path,
          ),
      ),
    ...native.filter((path) => !/^([a-z0-9_]+\/)*[a-z0-9_]+\.(cc|h)$/.test(path)),
  ];
  clean(t, wrong);
});

t.test('no file contains a path of a machine or a private registry', async (t) => {
  const violations: string[] = [];
  for (const path of files) {
    if (statSync(join(projectRoot, path)).size > 4_000_000) continue;
    const bytes = readFileSync(join(projectRoot, path));
    if (bytes.subarray(0, 8_000).includes(0)) continue;
    bytes
      .toString('utf8')
      .split('\n')
      .forEach((line, index) => {
        if (machineWords.test(line))
          violations.push(`${path}:${index + 1}: ${machineWords.exec(line)?.[0].trim()}`);
      });
  }
  clean(t, violations);
});

/** Tables of replaced words, measured reports, the history of releases, and texts in other languages. */
const filesWithAnyWords =
  /^(test\/tidy\/forbidden-words\.ts|docs\/glossary\.md|bench\/results\/.*|CHANGELOG\.md|web\/src\/texts\/(?!en)..\/.*)$/;

t.test('no file contains words that the glossary replaces', async (t) => {
  const checked = files.filter(
    (path) => /\.(tsx?|m?js|cc|h|md|css|html|yml)$/.test(path) && !filesWithAnyWords.test(path),
  );
  const violations = checked.flatMap((path) =>
    findForbiddenWords(path, readFileSync(join(projectRoot, path), 'utf8')).map(
      ({ line, word, instead }) => `${path}:${line}: "${word}"; use: ${instead}`,
    ),
  );
  clean(t, violations);
});

t.test('forbidden words are found in names, texts and across lines', async (t) => {
  const word = (text: string) => findForbiddenWords('src/x.ts', text).map((violation) => violation.word);
  const sample = 'switch' + 'board';
  t.same(word(`const my${sample[0]?.toUpperCase()}${sample.slice(1)} = 1;`), [sample]);
  t.same(word(`${sample.toUpperCase()}_SIZE`), [sample]);
  t.same(word(` * it is to\n * be ${'ha' + 'd'}`), [['is to be', 'had'].join(' ')]);
  t.same(word(`class ${'Cro' + 'wds'}Only {}`).length, 1);
  t.ok(forbiddenWords.length > 30);
});
