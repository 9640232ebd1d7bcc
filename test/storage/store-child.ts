import { systemRandom } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { openDataDirectory } from '../../src/storage/data-directory.ts';
import type { Store } from '../../src/storage/store.ts';
import { numberedWrite } from './numbered-writes.ts';

/**
 * Child process of the crash and lock tests: opens the data directory given as argument, or the PostgreSQL at a URL with
 * the cell `crash`, prints "open", then writes as fast as possible and prints the number of each acknowledged write, until
 * it is killed. `cache`: folder of the cache of PostgreSQL.
 */
const [path = '', first = '0', writers = '8', cache = ''] = process.argv.slice(2);

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** `putBlob` resolves to null where there are no blobs. */
interface Target {
  readonly store: Store;
  readonly putBlob: (bytes: Buffer) => Promise<{ release(): void } | null>;
}

async function open(): Promise<Target> {
  const [logger, random] = [silentLogger, systemRandom];
  if (path.startsWith('postgres:')) {
    const { PostgresStore } = await import('../../src/storage/postgres-store.ts');
    const store = await PostgresStore.open({ url: path, cell: 'crash', location: cache, logger, random });
    return { store, putBlob: async () => null };
  }
  const { store, blobs } = await openDataDirectory({ path, reserveBytes: 0, logger, random });
  return { store, putBlob: (bytes) => blobs.put(bytes) };
}

async function run(): Promise<void> {
  const { store, putBlob } = await open();
  print('open');
  let next = Number(first);
  const write = async () => {
    for (;;) {
      const number = next;
      next += 1;
      const blob = number % 10 === 0 ? await putBlob(Buffer.from(`blob ${number}`)) : null;
      await store.write(numberedWrite(number));
      blob?.release();
      print(String(number));
    }
  };
  await Promise.all(Array.from({ length: Number(writers) }, write));
}

run().catch((error: unknown) => {
  print(error instanceof Error ? `refused: ${error.message}` : String(error));
  process.exit(3);
});
