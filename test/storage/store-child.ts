import { systemRandom } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { openDataDirectory } from '../../src/storage/data-directory.ts';
import type { WriteOperation } from '../../src/storage/store.ts';

/**
 * Child process of the crash and lock tests: opens the data directory given as argument, prints "open", then writes as
 * fast as possible and prints the number of each acknowledged write, until it is killed. Write n of writer w puts two
 * keys that belong together and increments a counter in a third.
 */
const [path = '', first = '0', writers = '8'] = process.argv.slice(2);

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function run(): Promise<void> {
  const directory = await openDataDirectory({
    path,
    reserveBytes: 0,
    logger: silentLogger,
    random: systemRandom,
  });
  print('open');
  let next = Number(first);
  const write = async () => {
    for (;;) {
      const number = next;
      next += 1;
      const value = Buffer.alloc(10 + (number % 5) * 3000, number % 251);
      const operations: WriteOperation[] = [
        { type: 'put', key: Buffer.from(`left ${number}`), value },
        { type: 'put', key: Buffer.from(`right ${number}`), value },
        { type: 'add', key: Buffer.from('total'), amounts: [1] },
      ];
      const blob = number % 10 === 0 ? await directory.blobs.put(Buffer.from(`blob ${number}`)) : null;
      await directory.store.write(operations);
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
