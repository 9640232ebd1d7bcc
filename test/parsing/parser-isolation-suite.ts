import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemRandom } from '../../src/core/ids.ts';
import { isFailedOutcome } from '../../src/parsing/process/parse-task.ts';
import { sandboxUserIds } from '../../src/parsing/sandbox-users.ts';
import { findOptionalTools } from '../../src/parsing/tools/optional-tools.ts';
import { noSandbox, type Sandbox } from '../../src/parsing/tools/sandbox.ts';
import { listSandboxCandidates, probeSandbox } from '../../src/parsing/tools/sandbox-probe.ts';
import t from '../support/tap.ts';
import { waitUntil } from '../timeouts.ts';
import { utf8 } from './byte-fixtures.ts';
import {
  alivePids,
  checkProcessesEnded,
  createHost,
  entryFiles,
  isGone,
  pagesOf,
  prlimit,
  startedPids,
  writeFile,
} from './parser-host-fixtures.ts';
import { sandboxUsersUnavailable } from './sandbox-users-unavailable.ts';

const sandboxes: readonly Sandbox[] = [noSandbox, ...listSandboxCandidates(findOptionalTools())];
for (const sandbox of sandboxes) {
  t.test(`level ${sandbox.level}: a compromised process reaches neither files nor programs`, async (t) => {
    const data = mkdtempSync(join(tmpdir(), 'quarry-parser-'));
    t.teardown(() => rmSync(data, { recursive: true, force: true }));
    const [secretFile, otherBlob] = [join(data, 'secrets.json'), join(data, 'other-blob')];
    writeFileSync(secretFile, 'secret', { mode: 0o600 });
    writeFileSync(otherBlob, 'the document of another organization', { mode: 0o600 });
    const probe = await probeSandbox(sandbox, {
      tools: findOptionalTools(),
      dataFolder: data,
      folderOf: () => tmpdir(),
      codeFile: entryFiles.parser,
      createUniqueName: () => systemRandom.uuid(),
    });
    if (sandbox !== noSandbox && typeof probe === 'string') {
      t.comment(`this host does not offer the level ${sandbox.level}: ${probe}`);
      return;
    }
    const listener = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
    t.teardown(() => listener.close());
    await once(listener, 'listening');
    const { port } = listener.address() as AddressInfo;
    const host = createHost(t, entryFiles.intruder, prlimit, sandbox);
    const path = JSON.stringify({ secretFile, otherBlob, data, port, serverPid: process.pid });
    const outcome = await host.parse({ kind: 'parse', file: writeFile(utf8('its own words')), path });
    const warnings = isFailedOutcome(outcome) ? [outcome.failure.message] : outcome.warnings;
    t.match(warnings, [
      'read what it was sent: its own words',
      /^read secrets\.json: E/,
      /^read another document: E/,
      /^list the data: E/,
      /^read the memory of the server: E/,
      /^read elsewhere: E/,
      /^write: E/,
      /^start a program: E/,
      /^environment: $/,
    ]);
    const isSilent = ['bubblewrap', 'namespaces', 'user+network', 'network'].includes(sandbox.level);
    t.match(warnings.at(-1), isSilent ? /^connect: E/ : /^connect: allowed/);
  });
}

t.test('no process parses documents of two organizations', async (t) => {
  const host = createHost(t, entryFiles.parser);
  const before = startedPids.length;
  const parse = async (organizationId: string, text: string) =>
    pagesOf(await host.parse({ kind: 'parse', file: writeFile(utf8(text)), organizationId }));
  for (const [organizationId, text] of [
    ['a', 'one'],
    ['a', 'two'],
    ['b', 'three'],
    ['b', 'four'],
    ['a', 'five'],
  ] as const)
    t.same(await parse(organizationId, text), [text]);
  // Three changes of the organization need one process each; the fourth waits for the next organization.
  t.equal(startedPids.length - before, 4);
  await host.close();
  for (const pid of startedPids.slice(before)) t.ok(await isGone(pid));
});

t.test(
  'level user: concurrent parser processes never share a user',
  { skip: sandboxUsersUnavailable(findOptionalTools().setpriv) },
  async (t) => {
    const sandbox = listSandboxCandidates(findOptionalTools()).find(({ level }) => level === 'user');
    if (sandbox === undefined) throw new Error('root with setpriv offers the level user');
    const userOf = (pid: number) => /^Uid:\t(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    const before = new Set(alivePids);
    const hosts = [1, 2].map(() => createHost(t, entryFiles.parser, prlimit, sandbox));
    // At its second organization, a host starts a spare process for the next one beside the running process.
    for (const organizationId of ['a', 'b'])
      await Promise.all(
        hosts.map((host, i) =>
          host.parse({
            kind: 'parse',
            file: writeFile(utf8('words')),
            organizationId: `${organizationId}${i}`,
          }),
        ),
      );
    const news = () => [...alivePids].filter((pid) => !before.has(pid));
    const users = () => news().map((pid) => Number(userOf(pid)));
    // A process starts as root and changes its user before it runs any code of the parser.
    await waitUntil(
      'four processes, two of each host, without root',
      () => users().length === 4 && users().every((user) => user >= sandboxUserIds.first),
    );
    t.equal(new Set(users()).size, 4, users().join(' '));
  },
);

t.test('every started process has ended', (t) => checkProcessesEnded(t, 3));
