import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runQuarry } from '../cli/quarry.ts';
import t from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import { joinSharedServer } from './shared-server.ts';

/** First commands of a new user: the sample collection, and the dashboard without a password. */

t.setTimeout(testFileMsMax);

const { server, key } = await joinSharedServer();
const variables = { QUARRY_URL: server.url, QUARRY_DATA: server.data, QUARRY_API_KEY: key };

/** Text that the first result of a question contains. */
const answers: Readonly<Record<string, RegExp>> = {
  'How long do refunds take?': /paid within fourteen days after the goods came back/,
  'How many days of holiday do I have?': /twenty-eight days of paid holiday/,
  'My laptop was stolen. What should I do?': /Report a lost or stolen laptop/,
  'May I work from another country?': /another country is possible for up to twenty days/,
};

t.test('the sample is added, and its questions find their answers', async (t) => {
  const added = await runQuarry(['sample'], { variables });
  t.equal(added.code, 0, added.err);
  const printed = [...added.out.matchAll(/quarry search --collection "sample" "(.*)"/g)].map(
    (each) => each[1],
  );
  t.same(printed, Object.keys(answers));
  for (const question of Object.keys(answers)) {
    const { out } = await runQuarry(['search', '-c', 'sample', '-k', '1', '--full', question], { variables });
    t.match(out.replace(/\s+/g, ' '), answers[question], question);
  }
  const again = await runQuarry(['sample', '--json'], { variables });
  t.match(JSON.parse(again.out), { unchanged: 8 });
});

t.test('open starts the browser with a link that signs in, or prints it', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'quarry-open-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const [browser, opened] = [join(folder, 'browser'), join(folder, 'opened')];
  writeFileSync(browser, `#!/bin/sh\nprintf %s "$1" > '${opened}.part' && mv '${opened}.part' '${opened}'\n`);
  chmodSync(browser, 0o755);
  const withBrowser = await runQuarry(['open'], { variables: { ...variables, BROWSER: browser } });
  t.match(withBrowser, { code: 0, out: /opens in your browser/ });
  t.notMatch(withBrowser.out, /token=/);
  await waitUntil('the browser is started', () => readFileIfExists(opened) !== null);
  const link = readFileIfExists(opened) ?? '';
  const signedIn = await fetch(link, { headers: { accept: 'application/json' } });
  t.equal(signedIn.status, 200);
  for (const [args, BROWSER] of [
    [['open', '--print'], browser],
    [['open'], join(folder, 'missing')],
  ] as const) {
    const printed = await runQuarry(args, { variables: { ...variables, BROWSER } });
    t.match(printed, { code: 0, out: /^http:\S+verify\?token=\S+\n$/, err: /works once/ });
  }
});

function readFileIfExists(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
