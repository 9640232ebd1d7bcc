import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemRandom } from '../../src/core/ids.ts';
import {
  isFailedOutcome,
  type ParsedDocument,
  type ParseOutcome,
} from '../../src/parsing/process/parse-task.ts';
import { ParserHost } from '../../src/parsing/process/parser-host.ts';
import { findOptionalTools } from '../../src/parsing/tools/optional-tools.ts';
import { detectIsolation } from '../../src/parsing/tools/sandbox-probe.ts';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';

/** Hosts of parser processes, and a record of the processes that they start. */

t.setTimeout(testFileMsMax);

/** Compiled module at a path relative to this folder. */
export const moduleAt = (path: string) => fileURLToPath(new URL(path, import.meta.url));
export const entryFiles = {
  parser: moduleAt('../../workers/parser-process.js'),
  hostile: moduleAt('./processes/faulty-parser-process.js'),
  intruder: moduleAt('./processes/malicious-parser-process.js'),
};
export const { prlimit } = findOptionalTools();

export const folder = t.testdir({});
let files = 0;
export function writeFile(bytes: Uint8Array): string {
  files += 1;
  const file = join(folder, `blob-${files}`);
  writeFileSync(file, bytes);
  return file;
}

/** Running processes of all hosts of this suite. */
export const alivePids = new Set<number>();
/** Every process that a host of this suite has started, in order. */
export const startedPids: number[] = [];

/** Sandbox that a server on this host would use for its parser processes. */
const { sandbox: strongestSandbox } = await detectIsolation('preferred', {
  tools: findOptionalTools(),
  dataFolder: folder,
  folderOf: () => tmpdir(),
  codeFile: entryFiles.parser,
  createUniqueName: () => systemRandom.uuid(),
});

export function createHost(
  t: TestTeardown,
  entry: string,
  tool: string | null = prlimit,
  sandbox = strongestSandbox,
): ParserHost {
  const host = new ParserHost({
    entry,
    prlimit: tool,
    sandbox,
    onProcess: (event, pid) => {
      if (event === 'started') {
        alivePids.add(pid);
        startedPids.push(pid);
      } else alivePids.delete(pid);
    },
  });
  t.teardown(() => host.close());
  return host;
}
type TestTeardown = { teardown(action: () => unknown): void };

export function pagesOf(outcome: ParseOutcome): ParsedDocument['pages'] {
  if (isFailedOutcome(outcome)) throw new Error(`${outcome.failure.code}: ${outcome.failure.message}`);
  return outcome.pages;
}

/** Waits until the process has ended or is a zombie, which depends on the kernel. */
export async function isGone(pid: number): Promise<boolean> {
  const isDead = () => {
    const state = existsSync(`/proc/${pid}/stat`)
      ? readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.[0]
      : 'X';
    return state === 'X' || state === 'Z';
  };
  await waitUntil(`the end of process ${pid}`, isDead, 50);
  return true;
}

/** Checks that more than `startedMin` processes of this suite have started, and that all of them have ended. */
export async function checkProcessesEnded(t: Test, startedMin: number): Promise<void> {
  t.ok(startedPids.length > startedMin);
  for (const pid of alivePids) t.ok(await isGone(pid), String(pid));
}
