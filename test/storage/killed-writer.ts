import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { TestRandom } from './test-random.ts';

/** Resolves with all lines printed by the child, once it has ended. */
export function linesOf(child: ChildProcess): Promise<string[]> {
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  // The kill may truncate the last line: only lines with a newline count.
  return new Promise((resolve) => child.on('close', () => resolve(text.split('\n').slice(0, -1))));
}

const script = fileURLToPath(new URL('./store-child.js', import.meta.url));

/** Starts a child that writes to a store, without the test runner's loaders, which would slow its start. */
export function spawnWriter(...words: readonly string[]): ChildProcess {
  const command = ['-u', 'NODE_OPTIONS', process.execPath, script, ...words];
  return spawn('env', command, { stdio: ['ignore', 'pipe', 'inherit'] });
}

/** Kills a writing child at a random moment after its first acknowledgment; returns the acknowledged numbers. */
export async function writeUntilKilled(
  random: Pick<TestRandom, 'below'>,
  ...words: readonly string[]
): Promise<number[]> {
  const child = spawnWriter(...words);
  const lines = linesOf(child);
  const delay = random.below(400);
  let ended = 0;
  child.stdout?.on('data', (chunk: Buffer) => {
    const before = ended;
    ended += chunk.toString().split('\n').length - 1;
    // The first line is "open", the second one an acknowledgment.
    if (before < 2 && ended >= 2) setTimeout(() => child.kill('SIGKILL'), delay);
  });
  const [opened, ...acknowledged] = await lines;
  if (opened !== 'open') throw new Error(`the child did not open the store: ${opened}`);
  return acknowledged.map(Number);
}
