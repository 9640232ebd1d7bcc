import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import t, { type Test } from 'tap';
import ts from 'typescript';
import { projectRoot } from '../src/core/root.ts';
import { testFileMsMax } from './timeouts.ts';

t.setTimeout(testFileMsMax);

/**
 * Reads the code and enforces the laws of the house, so that nobody has to remember them. The tables are data: a new
 * room or a new outside thing is a new line.
 */

/**
 * Module -> the modules that it may import. `module` allows all files of it, `module/file` one file, `type:module` only
 * its types.
 */
const importTable: Readonly<Record<string, readonly string[]>> = {
  core: [],
  schemas: ['core'],
  config: ['core'],
  egress: ['core', 'type:config'],
  eval: ['core'],
  storage: ['core', 'schemas'],
  text: ['core', 'index/addon'],
  models: ['core', 'egress', 'text'],
  parsing: ['core', 'schemas'],
  chunking: ['core'],
  index: ['core', 'storage', 'type:models'],
  ingest: [
    'core',
    'schemas',
    'storage',
    'index',
    'chunking/packed-chunks',
    'type:chunking',
    'type:models',
    'type:parsing',
  ],
  search: ['core', 'storage', 'index', 'text'],
  audit: ['core', 'schemas', 'storage'],
  admission: ['core', 'schemas', 'storage'],
  accounts: ['core', 'schemas', 'storage', 'audit', 'admission', 'egress'],
  billing: ['core', 'schemas', 'storage', 'audit', 'egress'],
  marketplaces: ['core', 'schemas', 'storage', 'audit', 'egress'],
  usage: ['core', 'schemas', 'storage'],
  auth: ['core', 'schemas', 'accounts'],
  requests: ['core', 'schemas'],
  services: [...['core', 'schemas', 'requests', 'storage', 'ingest', 'search', 'models', 'usage', 'audit']],
  http: ['core', 'schemas', 'requests', 'admission', 'auth', 'services'],
  // The account operations call their modules directly.
  'http/routes': ['accounts', 'type:billing', 'type:marketplaces'],
  // Commands that work on a data directory or on an account at Stripe without a server.
  cli: [
    ...['core', 'schemas', 'config', 'eval', 'egress', 'main', 'storage/installation-secrets'],
    ...['models/added-models', 'accounts/password', 'accounts/password-strength'],
    ...['billing/stripe-setup', 'billing/plans', 'billing/stripe'],
  ],
  // The dashboard checks a filter by the rules of the server while it is typed.
  web: ['type:core', 'type:schemas', 'type:config', 'search/filter'],
  main: ['config', 'app'],
  app: ['*'],
  workers: [
    ...['core', 'parsing', 'chunking', 'models', 'text'],
    ...['http/json-body', 'requests', 'egress/refuse-connections'],
  ],
  bench: [
    ...['core', 'eval', 'text', 'models', 'chunking', 'parsing', 'storage', 'index', 'ingest', 'auth'],
    ...['admission', 'accounts', 'audit', 'usage', 'models/train/onnx'],
  ],
  // The training recipes of the built-in models, next to their models.
  recipes: ['core', 'eval', 'text', 'models', 'search/fuse'],
  test: ['*'],
  'test/e2e': ['test'],
};

/** Packages that are a language rather than an outside thing; every other one lives in a single file. */
const sharedPackages: readonly string[] = ['msgpackr'];

/** Second implementations of a contract that only the contract's suite builds. */
const parallelFiles: readonly string[] = ['src/storage/memory-store.ts'];

/** Tables that only a page of the documentation is made from, by the test that compares them. */
const schemaTablesOfPages: readonly string[] = ['src/admission/limit-table.ts'];

/** What only one place may touch, because everybody else is handed it. */
const reservedWords: readonly { readonly words: RegExp; readonly where: RegExp; readonly law: string }[] = [
  {
    words: /\bprocess\.env\b(?!\.\w+ = )/,
    // The dashboard shows it inside of code that people copy.
    where: /^(src\/config\/|web\/src\/pages\/code-samples\.ts$)/,
    law: 'src/config is the only reader of variables',
  },
  {
    words: /\bDate\.now\(|\bnew Date\(\)/,
    where: /^(src\/core|web\/src\/browser)\/clock\.ts$/,
    law: 'time arrives as an argument',
  },
  { words: /\bMath\.random\(/, where: /^src\/core\/ids\.ts$/, law: 'chance arrives as an argument' },
  { words: /quarry\.node\b/, where: /^src\/index\/addon\.ts$/, law: 'one file loads the native engine' },
];

/**
 * What can open a connection to elsewhere. Servers only listen, the command line talks to the server that it is told, and
 * the watchdog of a parser reads a pipe that it has inherited.
 */
const outgoingApis = {
  modules: /^(node:)?(http|https|http2|net|tls|dns|dns\/promises|dgram)$|^undici(\/|$)/,
  /** Names of these modules that connect to nothing. */
  harmless: new Set(['createServer', 'isIP', 'isIPv4', 'isIPv6', 'STATUS_CODES']),
  where: /^src\/(egress\/|cli\/api-client\.ts$|parsing\/process\/watchdog\.ts$)/,
  law: 'only src/egress opens outgoing connections',
};

/** Code is formatted to 110; a comment or a table in one may reach a little further. */
const columnsMax = 125;
const functionLinesMax = 70;
const bannedWords = new RegExp(`\\b(${['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X', 'HA' + 'CK'].join('|')})\\b`);
const bannedNames = new Set([
  'utils',
  'util',
  'common',
  'helpers',
  'helper',
  'types',
  'lib',
  'misc',
  'shared',
]);
const bannedIdentifiers = new Set(
  'req res ctx cfg opts cb fn str arr obj val idx tmp mgr buf evt'.split(' '),
);
/** Machines and registries have names of their own; no file of the project knows one. */
const machineWords = new RegExp(
  [
    `(^|[\\s"'\`(=:])/(${['home', 'root', 'Users', 'work', 'mnt'].join('|')})/\\w`,
    `^\\s*(?:@[\\w-]+:)?registry\\s*=\\s*\\S+`,
    `"resolved": "https?://(?!registry\\.npmjs\\.org/)`,
    `https?://[\\w.:-]*(?:artifactory|nexus|verdaccio|proxy)[\\w.:-]*/`,
  ].join('|'),
);

interface SourceFile {
  /** Relative to the root, with slashes. */
  readonly path: string;
  readonly text: string;
  readonly tree: ts.SourceFile;
}

interface ImportEdge {
  readonly from: string;
  readonly specifier: string;
  /** True when nothing remains of it at run time. */
  readonly typeOnly: boolean;
}

/** Where code lives; everything else is data, text or configuration. */
const codeFolders = ['src', 'workers', 'bench', 'test', 'models', 'bin', 'web'];
const skipped = /^(node_modules|build|data|dist(-.*)?|\.git|\.tap|shared|\.cache|\.peers|latest)$/;

function filesUnder(folder: string): string[] {
  return readdirSync(join(projectRoot, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (skipped.test(entry.name)) return [];
    if (entry.isDirectory()) return filesUnder(path);
    return entry.isFile() ? [path] : [];
  });
}

const files = filesUnder('');
const sources: SourceFile[] = files
  .filter((path) => /\.(tsx?|js)$/.test(path) && codeFolders.includes(path.split('/')[0] ?? ''))
  .map((path) => {
    const text = readFileSync(join(projectRoot, path), 'utf8');
    return { path, text, tree: ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true) };
  });
const native = files.filter((path) => /^native\/.*\.(cc|h)$/.test(path));

function visit(node: ts.Node, each: (node: ts.Node) => void): void {
  each(node);
  ts.forEachChild(node, (child) => visit(child, each));
}

function lineOf(file: SourceFile, position: number): number {
  return file.tree.getLineAndCharacterOfPosition(position).line + 1;
}

/** Static imports, re-exports, `import()` and `import('x').Type`. */
function importsOf(file: SourceFile): ImportEdge[] {
  const edges: ImportEdge[] = [];
  const add = (specifier: ts.Node | undefined, typeOnly: boolean) => {
    if (specifier !== undefined && ts.isStringLiteral(specifier)) {
      edges.push({ from: file.path, specifier: specifier.text, typeOnly });
    }
  };
  visit(file.tree, (node) => {
    if (ts.isImportDeclaration(node)) add(node.moduleSpecifier, importsOnlyTypes(node.importClause));
    if (ts.isExportDeclaration(node)) add(node.moduleSpecifier, node.isTypeOnly);
    if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) add(node.argument.literal, true);
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
      add(node.arguments[0], false);
  });
  return edges;
}

function importsOnlyTypes(clause: ts.ImportClause | undefined): boolean {
  if (clause === undefined) return false;
  if (clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return true;
  const names = clause.namedBindings;
  return clause.name === undefined &&
    names !== undefined &&
    ts.isNamedImports(names) &&
    names.elements.length > 0
    ? names.elements.every((element) => element.isTypeOnly)
    : false;
}

/** Where a relative import leads, from the root, or null for a package. */
function target(edge: ImportEdge): string | null {
  if (!edge.specifier.startsWith('.')) return null;
  return relative('.', join(dirname(edge.from), edge.specifier)).replaceAll('\\', '/');
}

/** The room of a file: "store", "cli", "app", "workers", "test"; "" for a place that is none. */
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

/** Fails with one line per offence, so that the report says where to look. */
function clean(t: Test, violations: string[]): void {
  t.same([...new Set(violations)].sort(), []);
}

t.test('this test reads the project it lives in', async (t) => {
  t.ok(sources.some((file) => file.path === 'test/tidy.test.ts'));
  t.ok(sources.length > 50, `${sources.length} sources`);
  t.ok(edges.length > sources.length, `${edges.length} imports`);
});

t.test('the checks find what they look for', async (t) => {
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

t.test('every room imports only what its row of the table allows', async (t) => {
  const violations: string[] = [];
  for (const edge of edges) {
    const to = target(edge);
    if (folderOf(edge.from) === 'bin') {
      if (edge.from === 'bin/compile-typescript.js') continue;
      if (!edge.specifier.startsWith('node:') && to?.startsWith('bin/') !== true) {
        violations.push(`${edge.from} imports ${edge.specifier}: on a fresh clone there is only Node`);
      }
    } else if (to !== null && !mayImport(edge, to)) {
      violations.push(`${edge.from} imports ${to}${edge.typeOnly ? ' (types)' : ''}`);
    }
  }
  clean(t, violations);
});

t.test('every folder of src is a room of the table', async (t) => {
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

t.test('variables, time, chance and the native engine are touched in one place each', async (t) => {
  const violations: string[] = [];
  for (const file of sources.filter((source) => /^(src|workers|web)\//.test(source.path))) {
    const code = withoutComments(file);
    for (const reserved of reservedWords) {
      if (!reserved.where.test(file.path) && reserved.words.test(code))
        violations.push(`${file.path}: ${reserved.law}`);
    }
  }
  clean(t, violations);
});

t.test('outgoing connections are opened by one module', async (t) => {
  const violations = sources
    .filter(({ path }) => /^(src|workers)\//.test(path) && !outgoingApis.where.test(path))
    .filter((file) => importsConnections(file) || callsFetch(file))
    .map(({ path }) => `${path}: ${outgoingApis.law}`);
  clean(t, violations);
});

/** Whether a file imports, as a value, what connects. */
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

/** Whether a file calls the global `fetch`, rather than one that it is given. */
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

/** The text with comments blanked out, positions kept. */
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

t.test('no file only passes on what others export', async (t) => {
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

/** Files that something outside the code starts: the launcher, Piscina, a person. */
function isEntry(path: string): boolean {
  return (
    /^(workers|bin)\//.test(path) ||
    ['src/cli/main.ts', 'web/src/main.tsx', 'web/vite.config.js'].includes(path) ||
    /^bench\/[^/]+$/.test(path) ||
    /^models\//.test(path)
  );
}

t.test('every source is reached from an entry that is no test', async (t) => {
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

/** Files that a file imports, or starts by a relative address: new URL('./child.js', import.meta.url). */
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

t.test(
  `no line is longer than ${columnsMax} columns, unless a text that cannot be broken reaches over the edge`,
  async (t) => {
    const violations: string[] = [];
    for (const file of sources) {
      const long = longLines(file.text);
      if (long.length === 0) continue;
      const texts = unbreakable(file);
      const starts = file.tree.getLineStarts();
      for (const line of long) {
        const edge = (starts[line - 1] ?? 0) + columnsMax;
        if (!texts.some(([start, end]) => start < edge && edge <= end))
          violations.push(`${file.path}:${line}`);
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
  },
);

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

/** A function starts at the left edge with a line that ends in "{" and ends with a "}" at the left edge. */
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

t.test('no unfinished work, no nameless drawer, no abbreviation', async (t) => {
  const violations: string[] = [];
  for (const path of [...sources.map((file) => file.path), ...native]) {
    const parts = path.replace(/\.\w+$/, '').split('/');
    if (parts.some((part) => bannedNames.has(part)) || parts.at(-1) === 'index')
      violations.push(`${path} needs a name of its own`);
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

t.test('file names say their language: kebab-case, and snake_case in C++', async (t) => {
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

t.test('no file knows a machine or a private registry', async (t) => {
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
