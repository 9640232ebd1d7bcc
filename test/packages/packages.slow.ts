import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { projectRoot } from '../../src/core/root.ts';
import { codeBlocks } from '../docs/code-blocks.ts';
import { runProgram } from '../docs/run-program.ts';
import { operatorKey, TestServer } from '../e2e/server.ts';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';

/**
 * Installs the frameworks in a copy of `packages`, builds and packs all packages, and runs the test and the examples of each
 * against a real server.
 */

t.setTimeout(testFileMsMax);
const server = await TestServer.start(t);
const variables = { QUARRY_URL: server.url, QUARRY_API_KEY: operatorKey };
// Outside of the project, whose packages would hide a missing dependency.
const folder = mkdtempSync(join(tmpdir(), 'quarry-packages-'));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));
const copy = join(folder, 'packages');
cpSync(join(projectRoot, 'packages'), copy, {
  recursive: true,
  filter: (source) => !/^(node_modules|dist(-.*)?)$/.test(basename(source)),
});
const { workspaces } = JSON.parse(readFileSync(join(copy, 'package.json'), 'utf8')) as {
  workspaces: readonly string[];
};
const npm = (...words: string[]) => runProgram(['npm', ...words, '--no-audit', '--no-fund'], {}, copy);

await t.test('the packages can be installed and built', async (t) => {
  // No package needs its install scripts: the frameworks are JavaScript.
  const installed = await npm('ci', '--ignore-scripts');
  t.equal(installed.code, 0, installed.output);
  const built = await npm('run', 'build');
  t.equal(built.code, 0, built.output);
});
if (!t.passing()) t.bailout('the other tests need the built packages');

t.test('each package contains its code, types and documentation, and no sources and tests', async (t) => {
  const { code, output } = await npm('pack', '--dry-run', '--json', '--ignore-scripts', '--workspaces');
  t.equal(code, 0, output);
  const packed = JSON.parse(output.slice(output.indexOf('['))) as {
    readonly name: string;
    readonly files: readonly { readonly path: string }[];
  }[];
  t.equal(packed.length, workspaces.length);
  for (const { name, files } of packed) {
    const paths = files.map(({ path }) => path);
    t.ok(paths.includes('README.md') && paths.includes('LICENSE'), `${name}: ${paths.join(' ')}`);
    t.ok(paths.some((path) => /^dist\/.*\.js$/.test(path)));
    t.notOk(
      paths.some((path) => /^(?:src|test)\/|(?<!\.d)\.ts$/.test(path)),
      name,
    );
  }
});

for (const name of readdirSync(join(copy, 'dist-test')).filter((file) => file.endsWith('.test.js'))) {
  t.test(`${name} passes`, async (t) => {
    const { code, output } = await runProgram(
      [process.execPath, join(copy, 'dist-test', name)],
      variables,
      copy,
    );
    t.equal(code, 0, output);
    t.match(output, /^# pass [1-9]/m, 'it has tests');
  });
}

for (const workspace of workspaces) {
  t.test(`the examples of ${workspace}/README.md run`, async (t) => {
    const home = join(copy, workspace);
    const blocks = codeBlocks(readFileSync(join(home, 'README.md'), 'utf8'));
    for (const { language, line, skipReason, text } of blocks) {
      // The workflow of n8n in JSON is run by its test.
      if (skipReason !== null || language === 'json') continue;
      t.equal(language, 'js');
      const file = join(home, `line-${line}.mjs`);
      writeFileSync(file, text.replaceAll('http://127.0.0.1:8720', server.url));
      const { code, output } = await runProgram([process.execPath, file], variables, home);
      t.equal(code, 0, `line ${line}: ${output}`);
      t.notMatch(output, /^\[\]$/m, `line ${line}: no printed list is empty`);
    }
  });
}
