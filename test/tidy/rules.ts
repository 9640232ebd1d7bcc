/**
 * Module -> the modules that it may import. `module` allows all files of it, `module/file` one file, `type:module` only
 * its types.
 */
export const importTable: Readonly<Record<string, readonly string[]>> = {
  core: [],
  schemas: ['core'],
  config: ['core'],
  egress: ['core', 'type:config'],
  eval: ['core'],
  storage: ['core', 'schemas'],
  backup: ['core', 'storage'],
  text: ['core', 'index/addon', 'index/native-text'],
  tracing: ['core', 'egress'],
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
    'chunking/store-chunks',
    'type:chunking',
    'type:models',
    'type:parsing',
    'type:tracing',
  ],
  sources: ['core', 'schemas', 'storage', 'ingest', 'egress', 'backup/backup-schedule'],
  webhooks: ['core', 'schemas', 'storage', 'egress', 'audit', 'services'],
  search: ['core', 'storage', 'index', 'text'],
  audit: ['core', 'schemas', 'storage'],
  admission: ['core', 'schemas', 'storage', 'parsing/limits'],
  accounts: ['core', 'schemas', 'storage', 'audit', 'admission', 'egress'],
  billing: ['core', 'schemas', 'storage', 'audit', 'egress'],
  marketplaces: ['core', 'schemas', 'storage', 'audit', 'egress'],
  usage: ['core', 'schemas', 'storage'],
  auth: ['core', 'schemas', 'accounts'],
  requests: ['core', 'schemas'],
  services: [
    ...['core', 'schemas', 'requests', 'storage', 'ingest', 'search', 'models', 'usage', 'audit'],
    'sources',
    'type:accounts',
    'type:backup',
  ],
  mcp: ['core', 'schemas'],
  http: [
    ...['core', 'schemas', 'mcp', 'requests', 'admission', 'auth', 'services', 'index/addon', 'type:tracing'],
    'type:webhooks',
    // Search of the documentation.
    ...['text/fold', 'text/languages'],
  ],
  // The account operations call their modules directly.
  'http/routes': ['accounts', 'type:billing', 'type:marketplaces'],
  // Commands that work on a data directory or on an account in Stripe without a server.
  cli: [
    ...['core', 'schemas', 'config', 'eval', 'egress', 'main', 'mcp', 'storage/installation-secrets'],
    // Backups of a data directory that no server uses, and restores.
    'app/backup-commands',
    // Imports into PostgreSQL.
    'app/cluster-commands',
    // Checks of the machine and the data directory.
    'app/diagnostics/diagnose',
    'app/diagnostics/check-upgrade',
    'app/diagnostics/check-models',
    ...[
      'models/added-models',
      'models/choose-graph',
      'models/service-presets',
      'type:models',
      'accounts/password',
      'accounts/password-strength',
    ],
    ...['billing/stripe-setup', 'billing/plans', 'billing/stripe'],
  ],
  // The dashboard checks a filter by the rules of the server while it is typed, and shortens results like the CLI.
  web: [
    'type:core',
    'type:schemas',
    'type:config',
    'core/duration-histogram',
    'core/excerpt',
    'core/file-types',
    'core/good-match',
    'core/server-sent-events',
    'core/text-blocks',
    'search/filter',
  ],
  // They use only the public API.
  packages: [],
  main: ['core', 'config', 'app'],
  app: ['*'],
  workers: [
    ...['core', 'parsing', 'chunking', 'models', 'text'],
    ...[
      'http/json-body',
      'requests',
      'storage/chunks',
      'egress/deny-connections',
      'accounts/password-strength',
      'sources/web/extract-main-content',
    ],
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

/** Packages that several files may import. */
export const sharedPackages: readonly string[] = ['msgpackr', '@aws-sdk/client-s3', 'htmlparser2', 'pg'];

/** Second implementations of a contract, constructed only by its suite. */
export const parallelFiles: readonly string[] = ['src/storage/memory-store.ts'];

/** Tables from which tests generate a page of the documentation. */
export const schemaTablesOfPages: readonly string[] = [
  'src/admission/limits-page.ts',
  'src/admission/limit-row.ts',
  'src/admission/limit-table.ts',
  'src/admission/account-limit-table.ts',
  'src/admission/change-limit-table.ts',
  'src/admission/field-limit-table.ts',
  'src/admission/connection-limit-table.ts',
  'src/admission/parse-limit-table.ts',
  'src/admission/query-limit-table.ts',
  'src/admission/source-limit-table.ts',
  'src/admission/webhook-limit-table.ts',
];

/** Interfaces that only one place may use; all other code receives them as parameters. */
export const reservedWords: readonly {
  readonly words: RegExp;
  readonly where: RegExp;
  readonly rule: string;
}[] = [
  {
    words: /\bprocess\.env\b(?!\.\w+ = )/,
    // The dashboard and the documentation show it inside of code that people copy.
    where: /^(src\/config\/|(web\/src\/pages|src\/http\/docs)\/code-samples\.ts$)/,
    rule: 'only src/config reads environment variables',
  },
  {
    words: /\bDate\.now\(|\bnew Date\(\)/,
    where: /^(src\/core|web\/src\/browser)\/clock\.ts$/,
    rule: 'time arrives as a parameter',
  },
  { words: /\bMath\.random\(/, where: /^src\/core\/ids\.ts$/, rule: 'randomness arrives as a parameter' },
  { words: /quarry\.node\b/, where: /^src\/index\/addon\.ts$/, rule: 'one file loads the native engine' },
];

/**
 * Interfaces that open outgoing connections. Servers only listen, the command line connects to its configured server or to
 * the hub of models, and the watchdog of a parser reads an inherited pipe.
 */
export const outgoingApis = {
  modules: /^(node:)?(http|https|http2|net|tls|dns|dns\/promises|dgram)$|^undici(\/|$)/,
  /** Names of these modules that open no connection. */
  harmless: new Set(['createServer', 'Server', 'isIP', 'isIPv4', 'isIPv6', 'STATUS_CODES']),
  where:
    /^src\/(egress\/|cli\/(api-client|transfer\/service-client|hub\/hub-client)\.ts$|parsing\/process\/watchdog\.ts$)/,
  rule: 'only src/egress opens outgoing connections',
};

/** Written by `test/packages/generated-client.test.ts`. */
export const generatedFiles = /^packages\/client\/src\/generated\//;

/** Entries of published packages, which export what their users import. */
export const packageEntries: readonly string[] = ['packages/client/src/client.ts'];

/** Code is formatted to 110 columns; comments and tables in them may be longer. */
export const columnsMax = 125;
export const functionLinesMax = 70;
export const fileLinesMax = 400;
export const bannedWords = new RegExp(
  `\\b(${['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X', 'HA' + 'CK'].join('|')})\\b`,
);
export const bannedNames = new Set([
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
export const bannedIdentifiers = new Set(
  'req res ctx cfg opts cb fn str arr obj val idx tmp mgr buf evt'.split(' '),
);
/** Paths of a machine and private registries, which no file may contain. */
export const machineWords = new RegExp(
  [
    `(^|[\\s"'\`(=:])/(${['home', 'root', 'Users', 'work', 'mnt'].join('|')})/\\w`,
    `^\\s*(?:@[\\w-]+:)?registry\\s*=\\s*\\S+`,
    `"resolved": "https?://(?!registry\\.npmjs\\.org/)`,
    `https?://[\\w.:-]*(?:artifactory|nexus|verdaccio|proxy)[\\w.:-]*/`,
  ].join('|'),
);
