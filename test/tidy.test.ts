import { readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import t, { type Test } from 'tap';
import ts from 'typescript';
import { projectRoot } from '../src/core/root.ts';
import { findForbiddenWords, forbiddenWords } from './tidy/forbidden-words.ts';
import {
  bannedIdentifiers,
  bannedNames,
  bannedWords,
  columnsMax,
  functionLinesMax,
  importTable,
  machineWords,
  outgoingApis,
  parallelFiles,
  reservedWords,
  schemaTablesOfPages,
  sharedPackages,
} from './tidy/rules.ts';
import {
  files,
  type ImportEdge,
  importsOf,
  importsOnlyTypes,
  lineOf,
  native,
  type SourceFile,
  sources,
  target,
  visit,
} from './tidy/sources.ts';
import { testFileMsMax } from './timeouts.ts';

t.setTimeout(testFileMsMax);

/**
 * Enforces the rules of CONTRIBUTING.md that a program can check. The tables are data: a new module or package is a new
 * line.
 */

/** Module of a file, as in `importTable`: "storage", "cli", "workers", "test". */
function folderOf(path: string): string {
  const [top = '', second = ''] = path.split('/');
  if (top === 'models') return 'recipes';
  if (top !== 'src') return top;
  return second.replace(/\.ts$/, '');
}

function allowedFor(path: string): readonly string[] {
  if (path.startsWith('test/e2e/')) return importTable['test/e2e'] ?? [];
  const extra = /^src\/http\/(routes|account)/.test(path) ? (importTable['http/routes'] ?? []) : [];
  return [...(importTable[folderOf(path)] ?? []), ...extra];
}

function mayImport(edge: ImportEdge, to: string): boolean {
  const folder = folderOf(to);
  if (folder === folderOf(edge.from)) return true;
  if (folder === 'workers') return false;
  const file = to.replace(/^src\//, '').replace(/\.ts$/, '');
  return allowedFor(edge.from).some((entry) => {
    if (entry === '*' || entry === folder || entry === file) return true;
    return edge.typeOnly && entry === `type:${folder}`;
  });
}

const edges = sources.flatMap(importsOf);

/** Fails with one line per violation. */
function clean(t: Test, violations: string[]): void {
  t.same([...new Set(violations)].sort(), []);
}

t.test('the test reads the project that contains it', async (t) => {
  t.ok(sources.some((file) => file.path === 'test/tidy.test.ts'));
  t.ok(sources.length > 50, `${sources.length} sources`);
  t.ok(edges.length > sources.length, `${edges.length} imports`);
});

t.test('the checks find violations', async (t) => {
  const text = "import { a } from '../http/server.ts';\nimport type { b } from '../parsing/pages.ts';\n";
  const tree = ts.createSourceFile('src/ingest/x.ts', text, ts.ScriptTarget.ES2023, true);
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

t.test('every module imports only what its row of the table allows', async (t) => {
  const violations: string[] = [];
  for (const edge of edges) {
    const to = target(edge);
    if (folderOf(edge.from) === 'bin') {
      // Runs in its own process after the packages are installed.
      if (edge.from === 'bin/compile-typescript.js') continue;
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

/** Whether a file imports a value that can open connections. */
function importsConnections(file: SourceFile): boolean {
  let found = false;
  visit(file.tree, (node) => {
    const isImport = ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier);
    if (!isImport || !outgoingApis.modules.test((node.moduleSpecifier as ts.StringLiteral).text)) return;
    if (importsOnlyTypes(node.importClause)) return;
    const names = node.importClause?.namedBindings;
    const isHarmless =
      names !== undefined &&
      ts.isNamedImports(names) &&
      names.elements.every(
        ({ isTypeOnly, name, propertyName }) =>
          isTypeOnly || outgoingApis.harmless.has((propertyName ?? name).text),
      );
    if (!isHarmless) found = true;
  });
  return found;
}

/** Whether a file calls the global `fetch` instead of a parameter. */
function callsFetch(file: SourceFile): boolean {
  let [isGlobal, isGiven] = [false, false];
  visit(file.tree, (node) => {
    if (
      ts.isPropertyAccessExpression(node) &&
      /^globalThis\.(fetch|WebSocket)$/.test(node.getText(file.tree))
    )
      isGlobal = true;
    if ((ts.isBindingElement(node) || ts.isParameter(node)) && node.name.getText(file.tree) === 'fetch')
      isGiven = true;
    if (ts.isCallExpression(node) && node.expression.getText(file.tree) === 'fetch') isGlobal ||= !isGiven;
    if (ts.isNewExpression(node) && node.expression.getText(file.tree) === 'WebSocket') isGlobal = true;
  });
  return isGlobal;
}

/** Text with comments replaced by spaces. */
function withoutComments(file: SourceFile): string {
  let code = file.text;
  visit(file.tree, (node) => {
    const ranges = [
      ...(ts.getLeadingCommentRanges(file.text, node.pos) ?? []),
      ...(ts.getTrailingCommentRanges(file.text, node.end) ?? []),
    ];
    for (const { pos, end } of ranges) {
      code = code.slice(0, pos) + code.slice(pos, end).replace(/[^\n]/g, ' ') + code.slice(end);
    }
  });
  return code;
}

t.test('no file only re-exports', async (t) => {
  const violations = sources.filter((file) => {
    const statements = file.tree.statements.filter((statement) => !ts.isImportDeclaration(statement));
    const passedOn = statements.filter((statement) => ts.isExportDeclaration(statement));
    const all = passedOn.some(
      (statement) => ts.isExportDeclaration(statement) && statement.exportClause === undefined,
    );
    return all || (statements.length > 0 && passedOn.length === statements.length);
  });
  clean(
    t,
    violations.map((file) => `${file.path} is a barrel`),
  );
});

/** Files that are started from outside the code: by the launcher, by Piscina, by hand. */
function isEntry(path: string): boolean {
  return (
    /^(workers|bin)\//.test(path) ||
    ['src/cli/main.ts', 'web/src/main.tsx', 'web/vite.config.js'].includes(path) ||
    /^bench\/[^/]+$/.test(path) ||
    /^models\//.test(path)
  );
}

t.test('every source is reachable from an entry that is no test', async (t) => {
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

/** Files that a file imports, or starts by a relative URL: new URL('./child.js', import.meta.url). */
function mentions(file: SourceFile): string[] {
  const found = importsOf(file)
    .map((edge) => target(edge))
    .filter((to) => to !== null);
  visit(file.tree, (node) => {
    if (!ts.isStringLiteralLike(node) || !/^\.{1,2}\/.*\.(js|ts)$/.test(node.text)) return;
    found.push(relative('.', join(dirname(file.path), node.text.replace(/\.js$/, '.ts'))));
  });
  return found;
}

t.test(`no line is longer than ${columnsMax} columns, unless a string crosses the edge`, async (t) => {
  const violations: string[] = [];
  for (const file of sources) {
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

function longLines(text: string): number[] {
  return text.split('\n').flatMap((line, index) => ([...line].length > columnsMax ? [index + 1] : []));
}

/** Start and end of every text and pattern. */
function unbreakable(file: SourceFile): [number, number][] {
  const ranges: [number, number][] = [];
  visit(file.tree, (node) => {
    if (
      ts.isStringLiteralLike(node) ||
      ts.isTemplateExpression(node) ||
      ts.isRegularExpressionLiteral(node)
    ) {
      ranges.push([node.getStart(), node.end + 2]);
    }
  });
  return ranges;
}

t.test(`no function is longer than ${functionLinesMax} lines`, async (t) => {
  const violations: string[] = [];
  for (const file of sources.filter((source) => !source.path.startsWith('test/'))) {
    visit(file.tree, (node) => {
      if (!ts.isFunctionLike(node) || !('body' in node) || node.body === undefined) return;
      const lines = lineOf(file, node.end) - lineOf(file, node.getStart()) + 1;
      if (lines > functionLinesMax)
        violations.push(`${file.path}:${lineOf(file, node.getStart())} has ${lines} lines`);
    });
  }
  for (const path of native) violations.push(...longNativeFunctions(path));
  clean(t, violations);
});

/** A function starts with an unindented line that ends in "{" and ends with an unindented "}". */
function longNativeFunctions(path: string): string[] {
  const violations: string[] = [];
  let start: number | null = null;
  readFileSync(join(projectRoot, path), 'utf8')
    .split('\n')
    .forEach((line, index) => {
      if (/^\w.*[^=]\s*\{$/.test(line) && !/^(namespace|class|struct|enum|union|extern)\b/.test(line))
        start = index;
      if (!line.startsWith('}') || start === null) return;
      const lines = index - start + 1;
      if (lines > functionLinesMax) violations.push(`${path}:${start + 1} has ${lines} lines`);
      start = null;
    });
  return violations;
}

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
      if (!ts.isVariableDeclaration(node) && !ts.isParameter(node) && !ts.isFunctionDeclaration(node)) return;
      const name = node.name !== undefined && ts.isIdentifier(node.name) ? node.name.text : '';
      if (bannedIdentifiers.has(name))
        violations.push(`${file.path}:${lineOf(file, node.getStart())} abbreviates: ${name}`);
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

/** Tables of replaced words, measured reports, and the history of releases. */
const filesWithAnyWords =
  /^(test\/tidy\/forbidden-words\.ts|docs\/glossary\.md|bench\/results\/.*|CHANGELOG\.md)$/;

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
