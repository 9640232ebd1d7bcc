import { join } from 'node:path';
import { describeSettings } from '../../src/config/describe.ts';
import { machineDefaults } from '../../src/config/machine.ts';
import { findNearestName } from '../../src/config/nearest-name.ts';
import { findSetting, flagName, settingNames, variableName } from '../../src/config/schema.ts';
import { loadSettings, type SettingSources } from '../../src/config/settings.ts';
import { describeAllowedValues, parseValue } from '../../src/config/value.ts';
import { AppError } from '../../src/core/app-error.ts';
import t from '../support/tap.ts';

const machine = { cores: 8, memoryBytes: 16e9 };

function sources(values: Partial<SettingSources> = {}): SettingSources {
  return { flags: {}, variables: {}, workingFolder: '/start', machine, ...values };
}

/** Error messages for these settings. */
function problems(values: Partial<SettingSources>): string[] {
  try {
    loadSettings(sources(values));
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid') return error.message.split('\n');
    throw error;
  }
  return [];
}

t.test('by default, an organization on the tier free can store 10,000 documents and 1 GB', async (t) => {
  const { settings } = loadSettings(sources());
  t.match(settings, { freeDocumentsMax: 10_000, freeStorageBytesMax: 1_000_000_000 });
});

t.test('without any setting the documented defaults apply', async (t) => {
  const { settings, origins, file } = loadSettings(sources());
  t.match(settings, {
    port: 8720,
    host: '127.0.0.1',
    data: '/start/data',
    baseUrl: null,
    trustProxy: false,
    http: 'auto',
    apiKey: null,
    adminKey: null,
    logLevel: 'info',
    logFormat: 'auto',
    uploadBytesMax: 200_000_000,
    reranker: null,
    freeBytesPerMinuteFast: 500_000,
    freeBytesPerMinuteSlow: 5_000_000,
    freeRerankRequestsPerMinute: 1_000,
    starterBytesPerMinuteFast: 2_500_000,
    teamsBytesPerMinuteSlow: 100_000_000,
    url: 'http://127.0.0.1:8720',
  });
  t.ok(Object.isFrozen(settings));
  t.same(new Set(Object.values(origins)), new Set(['default']));
  t.equal(file, null);
});

t.test(
  'flags override variables, variables override the file, and the file overrides defaults',
  async (t) => {
    const folder = t.testdir({
      'quarry.json': JSON.stringify({ port: 1, host: 'file', http: 'node', trustProxy: true }),
    });
    const { settings, origins, file } = loadSettings(
      sources({
        flags: { port: '3' },
        variables: { QUARRY_PORT: '2', QUARRY_HOST: 'variable', QUARRY_CONFIG: 'quarry.json' },
        workingFolder: folder,
      }),
    );
    t.match(settings, { port: 3, host: 'variable', http: 'node', trustProxy: true });
    t.match(origins, { port: 'flag', host: 'variable', http: 'file', trustProxy: 'file', data: 'default' });
    t.equal(file, join(folder, 'quarry.json'));
  },
);

t.test('every default is a value that the setting allows, on machines of any size', async (t) => {
  for (const size of [{ cores: 1, memoryBytes: 1 }, machine, { cores: 4096, memoryBytes: 4e12 }]) {
    const defaults: Record<string, unknown> = machineDefaults(size);
    for (const name of settingNames) {
      const value = name in defaults ? defaults[name] : findSetting(name).default;
      t.ok(parseValue(name, value).ok, `${name} = ${value}`);
    }
  }
});

t.test('reranked queries use all rerank threads, plus one that waits for the next free thread', async (t) => {
  const running = (variables: Record<string, string>) =>
    loadSettings(sources({ variables })).settings.rerankedQueriesRunningMax;
  t.equal(running({}), 3, 'of 8 cores');
  t.equal(running({ QUARRY_RERANK_THREADS: '5' }), 6);
  const both = { QUARRY_RERANK_THREADS: '5', QUARRY_RERANKED_QUERIES_RUNNING_MAX: '40' };
  t.equal(running(both), 40);
});

t.test('every setting describes its meaning and its allowed values, and secrets are marked', async (t) => {
  for (const described of describeSettings(loadSettings(sources()))) {
    t.ok(described.meaning.length > 10, described.name);
    t.ok(described.allowed.length > 5, described.name);
    t.ok(/^QUARRY_[A-Z0-9_]+$/.test(described.variable));
  }
  t.equal(variableName('uploadBytesMax'), 'QUARRY_UPLOAD_BYTES_MAX');
  t.equal(flagName('uploadBytesMax'), '--upload-bytes-max');
  for (const name of settingNames.filter((each) => /(key|secret|hash)$/i.test(each)))
    t.equal(findSetting(name).secret, true, name);
  t.equal(findSetting('mailUrl').secret, true, 'the value may contain a password');
});

/** An invalid value for each type of setting, and its error message. */
const wrongValues: readonly (readonly [string, string, string])[] = [
  ['QUARRY_PORT', '70000', 'QUARRY_PORT is "70000"; expected a whole number from 0 to 65535.'],
  ['QUARRY_PORT', '-1', 'QUARRY_PORT is "-1"; expected a whole number from 0 to 65535.'],
  ['QUARRY_PORT', '80.5', 'QUARRY_PORT is "80.5"; expected a whole number from 0 to 65535.'],
  ['QUARRY_PORT', '0x50', 'QUARRY_PORT is "0x50"; expected a whole number from 0 to 65535.'],
  ['QUARRY_PORT', '1MB', 'QUARRY_PORT is "1MB"; expected a whole number from 0 to 65535.'],
  ['QUARRY_HTTP', 'express', 'QUARRY_HTTP is "express"; expected auto, uws or node.'],
  ['QUARRY_LOG_LEVEL', 'loud', 'QUARRY_LOG_LEVEL is "loud"; expected debug, info, warn, error or silent.'],
  ['QUARRY_TRUST_PROXY', 'yes', 'QUARRY_TRUST_PROXY is "yes"; expected true or false.'],
  [
    'QUARRY_BASE_URL',
    'example.com',
    'QUARRY_BASE_URL is "example.com"; expected an http:// or https:// URL without query or fragment.',
  ],
  [
    'QUARRY_BASE_URL',
    'https://a/?b',
    'QUARRY_BASE_URL is "https://a/?b"; expected an http:// or https:// URL without query or fragment.',
  ],
  [
    'QUARRY_API_KEY',
    'short',
    'QUARRY_API_KEY is a value of 5 characters (not shown); expected 16 to 256 printable ASCII characters without spaces.',
  ],
  [
    'QUARRY_ADMIN_KEY',
    'with a space in the middle',
    'QUARRY_ADMIN_KEY is a value of 26 characters (not shown); expected 16 to 256 printable ASCII characters without spaces.',
  ],
  [
    'QUARRY_UPLOAD_BYTES_MAX',
    '1XB',
    'QUARRY_UPLOAD_BYTES_MAX is "1XB"; expected a whole number from 1000 to 100000000000 (bytes); units such as 200MB or 200MiB are accepted.',
  ],
  [
    'QUARRY_PARSE_SECONDS_MAX',
    '0',
    'QUARRY_PARSE_SECONDS_MAX is "0"; expected a whole number from 1 to 86400 (seconds).',
  ],
  [
    'QUARRY_EMBEDDING_URL',
    'http://me:secret@models.test/v1',
    'QUARRY_EMBEDDING_URL is "http://me:secret@models.test/v1"; expected an http:// or https:// URL without user, query or fragment; several endpoints of the same service are separated by commas.',
  ],
  [
    'QUARRY_EMBED_THREADS',
    '0',
    'QUARRY_EMBED_THREADS is "0"; expected a whole number from 1 to 256 (threads).',
  ],
  ['QUARRY_ORGANIZATION', 'first', 'QUARRY_ORGANIZATION is "first"; expected a UUID.'],
];

for (const [variable, value, message] of wrongValues) {
  t.test(`${variable}=${value} fails with the allowed values`, async (t) => {
    t.same(problems({ variables: { [variable]: value } }), [message]);
  });
}

t.test('an invalid secret is not part of the error message', async (t) => {
  t.notOk(
    problems({ variables: { QUARRY_API_KEY: 'pässword-pässword' } })
      .join()
      .includes('ssword'),
  );
});

t.test('all problems are reported together, each by the name of its source', async (t) => {
  const folder = t.testdir({ 'q.json': '{"port": "x", "prot": 1, "http": 7}' });
  const found = problems({
    flags: { host: '', config: 'q.json' },
    variables: { QUARRY_UPLOADS_BYTES_MAX: '1' },
    workingFolder: folder,
  });
  const file = join(folder, 'q.json');
  t.same(found, [
    'QUARRY_UPLOADS_BYTES_MAX is not a setting. Did you mean QUARRY_UPLOAD_BYTES_MAX? Run `quarry config` for a list of all settings.',
    `"prot" in ${file} is not a setting. Did you mean "port"? Run \`quarry config\` for a list of all settings.`,
    `"port" in ${file} is "x"; expected a whole number from 0 to 65535.`,
    '--host is ""; expected a non-empty string.',
    `"http" in ${file} is 7; expected auto, uws or node.`,
  ]);
});

t.test('a settings file that is missing, not JSON or not an object is rejected with its path', async (t) => {
  const folder = t.testdir({ 'text.json': 'port = 1', 'list.json': '[]' });
  const load = (config: string) => problems({ flags: { config }, workingFolder: folder });
  t.match(load('none.json'), [/^The settings file .*none\.json cannot be read: ENOENT/]);
  t.match(load('text.json'), [/^The settings file .*text\.json is not JSON: /]);
  t.match(load('list.json'), [/^The settings file .*list\.json must contain one JSON object/]);
});

t.test('conflicting settings are rejected', async (t) => {
  t.same(problems({ variables: { QUARRY_PARSE_SECONDS_MAX: '10' } }), [
    'QUARRY_PARSE_STALL_SECONDS is 20; it must be at most QUARRY_PARSE_SECONDS_MAX, which is 10.',
  ]);
  const key = 'one-key-for-everything';
  t.match(problems({ variables: { QUARRY_API_KEY: key, QUARRY_ADMIN_KEY: key } }), [
    /^QUARRY_ADMIN_KEY must differ from QUARRY_API_KEY \(not shown\)/,
  ]);
  t.same(problems({ variables: { QUARRY_API_KEY: key, QUARRY_ADMIN_KEY: `${key}!` } }), []);
  t.same(problems({ variables: { QUARRY_FREE_BYTES_PER_MINUTE_SLOW: '10' } }), [
    'QUARRY_FREE_BYTES_PER_MINUTE_SLOW is 10; it must be at least QUARRY_FREE_BYTES_PER_MINUTE_FAST, which is 500000.',
  ]);
});

t.test('empty variables count as absent, and variables of other programs are ignored', async (t) => {
  const { settings, origins } = loadSettings(
    sources({ variables: { QUARRY_API_KEY: '', QUARRY_PORT: '', PATH: 'x', QUARRYMAN: 'y' } }),
  );
  t.equal(settings.port, 8720);
  t.equal(origins.apiKey, 'default');
});

t.test('bytes accept units, switches need no value, and trailing slashes of URLs are removed', async (t) => {
  const { settings } = loadSettings(
    sources({
      flags: { trustProxy: true, uploadBytesMax: '1.5 GB' },
      variables: {
        QUARRY_DISK_RESERVE_BYTES: '2GiB',
        QUARRY_BASE_URL: 'https://search.example.com/q/',
        QUARRY_DATA: '/srv/q',
      },
    }),
  );
  t.match(settings, {
    trustProxy: true,
    uploadBytesMax: 1_500_000_000,
    diskReserveBytes: 2 ** 31,
    baseUrl: 'https://search.example.com/q',
    data: '/srv/q',
  });
});

t.test('a similar name is suggested only within a small edit distance', async (t) => {
  t.equal(findNearestName('prot', ['port', 'host']), 'port');
  t.equal(findNearestName('something-else', ['port', 'host']), null);
  t.equal(describeAllowedValues('port'), 'a whole number from 0 to 65535');
});
