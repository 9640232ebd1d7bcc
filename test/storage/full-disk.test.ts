import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '../../src/core/logger.ts';
import { RocksStore } from '../../src/storage/rocks-store.ts';
import t from '../support/tap.ts';
import { waitUntil } from '../timeouts.ts';
import { bytes, putOperation, textAt } from './store-contract.ts';

/** Complements the injected faults of rocks-store.test.ts with a real full disk, if this machine permits one. */
const folder = mkdtempSync(join(tmpdir(), 'quarry-full-'));
const mebibyte = 1_048_576;

function mountSmallDisk(): string | null {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=80m', 'tmpfs', folder], { stdio: 'ignore' });
    return null;
  } catch {
    return 'making a small disk needs root';
  }
}

const skip = mountSmallDisk();
t.after(() => {
  if (skip === null) execFileSync('umount', [folder]);
  rmSync(folder, { recursive: true, force: true });
});

t.test(
  'on a full disk reads succeed, and writes resume once space is free',
  skip === null ? {} : { skip },
  async (t) => {
    writeFileSync(join(folder, 'ballast'), Buffer.alloc(50 * mebibyte));
    const store = await RocksStore.open({ location: join(folder, 'store'), logger: silentLogger });
    t.teardown(() => store.close());
    let written = 0;
    let rejection: unknown = null;
    while (rejection === null) {
      const value = randomBytes(mebibyte / 4);
      const key = bytes(`k${written}`);
      rejection = await store.write([{ type: 'put', key, value }]).then(
        () => null,
        (error: unknown) => error,
      );
      if (rejection === null) written += 1;
    }
    t.match(rejection, { code: 'reserve_reached', status: 429 });
    t.ok(written > 40, 'some writes fit on the disk');
    await t.rejects(store.write([putOperation('small', 'x')]), { code: 'reserve_reached' });
    t.equal(store.get(bytes('k0'))?.byteLength, mebibyte / 4);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    t.equal(store.get(bytes('k0'))?.byteLength, mebibyte / 4, 'a full disk can still be read');

    rmSync(join(folder, 'ballast'));
    const isWritten = () =>
      store.write([putOperation('after', 'y')]).then(
        () => true,
        () => false,
      );
    await waitUntil('the recovery of the store', isWritten, 50);
    t.equal(textAt(store, 'after'), 'y');
    const keys = Array.from({ length: written }, (_, index) => bytes(`k${index}`));
    t.ok(
      store.getMany(keys).every((value) => value?.byteLength === mebibyte / 4),
      'every acknowledged write exists',
    );
    t.same(
      [textAt(store, `k${written}`), textAt(store, 'small')],
      [undefined, undefined],
      'no rejected write exists',
    );
  },
);
