import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import t from '../support/tap.ts';

const worker = new URL('../../workers/chunk.js', import.meta.url).href;

/** Output of the worker at startup if the system rejects a change of priority with `code`. */
async function startWith(code: string, niceness: number): Promise<string> {
  const script = `
    import os from 'node:os';
    import { syncBuiltinESMExports } from 'node:module';
    os.getPriority = () => ${niceness};
    os.setPriority = () => {
      throw Object.assign(new Error('no'), { code: 'ERR_SYSTEM_ERROR', info: { code: '${code}' } });
    };
    syncBuiltinESMExports();
    await import('${worker}').then(() => console.log('started'), (error) => console.log('failed:', error.message));
  `;
  const run = promisify(execFile);
  // Without NODE_OPTIONS: the test runner would inject its loaders into the process.
  const command = ['-u', 'NODE_OPTIONS', process.execPath, '--input-type=module', '--eval', script];
  const { stdout } = await run('env', command);
  return stdout.trim();
}

t.test('a chunk worker starts even if it cannot change its niceness', async (t) => {
  t.equal(await startWith('EACCES', 0), 'started');
  t.equal(await startWith('EPERM', 0), 'started');
  t.equal(await startWith('EINVAL', 10), 'started', 'no priority is set');
  const linux = process.platform === 'linux';
  t.equal(await startWith('EINVAL', 0), linux ? 'failed: no' : 'started', 'other errors are reported');
});
