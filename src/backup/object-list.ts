import type { ObjectStore } from './object-store.ts';

/** Lines per list object: on average, and at most. */
const lines = { average: 4_096, max: 16_384 } as const;

/**
 * Writes a long list of object references as list objects of JSON lines. Like ranges, a list ends where a hash
 * says so: after a change, most list objects stay the same.
 */
export class ObjectListWriter {
  readonly #objects: Pick<ObjectStore, 'put'>;
  readonly #hashes: string[] = [];
  #lines: string[] = [];

  constructor(objects: Pick<ObjectStore, 'put'>) {
    this.#objects = objects;
  }

  /** `reference`: an array that starts with the hash of an object. */
  async add(reference: readonly [hash: string, ...number[]]): Promise<void> {
    this.#lines.push(JSON.stringify(reference));
    const isBoundary = Number.parseInt(reference[0].slice(0, 6), 16) % lines.average === 0;
    if (isBoundary || this.#lines.length >= lines.max) await this.#flush();
  }

  /** Returns the hashes of the list objects. */
  async finish(): Promise<readonly string[]> {
    if (this.#lines.length > 0) await this.#flush();
    return this.#hashes;
  }

  async #flush(): Promise<void> {
    const content = Buffer.from(`${this.#lines.join('\n')}\n`);
    this.#lines = [];
    this.#hashes.push((await this.#objects.put(content)).hash);
  }
}

/** Reads the references of list objects in order. */
export async function* readObjectLists(
  objects: Pick<ObjectStore, 'readWhole'>,
  lists: readonly string[],
): AsyncGenerator<readonly [hash: string, ...number[]], void, void> {
  for (const list of lists) {
    for (const line of (await objects.readWhole(list)).toString('utf8').split('\n'))
      if (line !== '') yield JSON.parse(line) as [string, ...number[]];
  }
}
