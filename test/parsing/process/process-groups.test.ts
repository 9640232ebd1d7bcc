import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ParserChild } from '../../../src/parsing/process/parser-child.ts';
import { findOptionalTools } from '../../../src/parsing/tools/optional-tools.ts';
import { noSandbox, type Sandbox, wrapCommand } from '../../../src/parsing/tools/sandbox.ts';
import { prepareToolFolder } from '../../../src/parsing/tools/tool-runner.ts';
import t from '../../support/tap.ts';
import { testFileMsMax, waitUntil } from '../../timeouts.ts';

t.setTimeout(testFileMsMax);

const tools = findOptionalTools();
const launcherRounds = 60;
const launcherMsMax = 15;

/** Returns the ids of the living processes whose arguments contain a text. */
function findProcesses(text: string): number[] {
  return readdirSync('/proc').flatMap((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(text)
        ? [Number(name)]
        : [];
    } catch {
      return []; // the process has ended
    }
  });
}

t.test('a killed launcher fails the start of the parser and leaves no process', async (t) => {
  const folder = t.testdir({ orphan: '' });
  const [launcher, orphan] = [join(folder, 'launcher'), join(folder, 'orphan')];
  writeFileSync(launcher, `#!/bin/sh\ntail -f ${orphan} &\nkill -9 $$\n`, { mode: 0o755 });
  const sandbox: Sandbox = { ...noSandbox, launcher: [launcher] };
  const options = { entry: '', prlimit: null, sandbox, folders: [], workingFolder: folder };
  // The orphan holds the standard error of the launcher.
  await t.rejects(
    ParserChild.start(options, () => {}),
    /did not become ready: signal SIGKILL/,
  );
  await waitUntil('the end of the orphan', () => findProcesses(orphan).length === 0);
});

t.test(
  'the next start ends processes that killed launchers of bubblewrap left',
  { skip: tools.bwrap === null && 'needs bubblewrap' },
  async (t) => {
    const folder = t.testdir({});
    const left = join(folder, 'run');
    mkdirSync(left);
    const sandbox: Sandbox = { ...noSandbox, level: 'bubblewrap', launcher: [tools.bwrap ?? ''] };
    const command = { program: ['/bin/true'], folder: left, readable: [], userId: null };
    const [program = '', ...flags] = wrapCommand(sandbox, command);
    for (let round = 0; round < launcherRounds; round += 1) {
      const launcher = spawn(program, flags, { cwd: left, detached: true, stdio: 'ignore' });
      const exited = once(launcher, 'exit');
      await sleep(Math.random() * launcherMsMax);
      launcher.kill('SIGKILL');
      await exited;
    }
    t.comment(`${findProcesses(left).length} processes after ${launcherRounds} killed launchers`);
    await prepareToolFolder(folder);
    await waitUntil('the end of all processes', () => findProcesses(left).length === 0);
  },
);
