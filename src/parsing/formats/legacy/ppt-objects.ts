import { inflateSync } from 'node:zlib';
import type { ParseLimits } from '../../limits.ts';
import { ParseFailure } from '../../parse-failure.ts';
import type { TextBudget } from '../../text-budget.ts';
import { CompoundFile } from './compound-file.ts';
import { readEmbeddedObjectLines } from './embedded-object.ts';
import { type RecordHeader, readRecordAt, readRecords, readUint32 } from './ppt-records.ts';

const type = { objectList: 1_033, embedded: 4_044, objectAtom: 4_035, storage: 4_113 } as const;
/** Instance of a compressed object: its size, then deflated bytes. */
const compressedInstance = 1;

export interface PptObjectsOptions {
  readonly stream: Uint8Array;
  /** Offsets of persisted objects by id. */
  readonly objects: ReadonlyMap<number, number>;
  readonly limits: ParseLimits;
  readonly budget: TextBudget;
}

/**
 * Charts and tables of other programs embedded in a PowerPoint 97-2003 file. Objects of Excel, Microsoft
 * Graph and LibreOffice are read; all others contain only a picture. Source: [MS-PPT] 2.10.13 and 2.10.34.
 */
export class PptObjects {
  /** Whether any object could not be read. */
  hasDamaged = false;
  readonly #options: PptObjectsOptions;
  /** Id of the persisted object, by id of the embedded object. */
  readonly #storages = new Map<number, number>();

  constructor(document: RecordHeader | undefined, options: PptObjectsOptions) {
    this.#options = options;
    const { stream } = options;
    const inside = (record: RecordHeader) => readRecords(stream, record.start, record.end);
    for (const list of document === undefined ? [] : inside(document)) {
      if (list.type !== type.objectList) continue;
      for (const embedded of inside(list)) {
        if (embedded.type !== type.embedded) continue;
        const atom = [...inside(embedded)].find((record) => record.type === type.objectAtom);
        if (atom !== undefined && atom.end - atom.start >= 20)
          this.#storages.set(readUint32(stream, atom.start + 8), readUint32(stream, atom.start + 16));
      }
    }
  }

  /** Returns the text of the object with this id, line by line. */
  readLines(id: number): string[] {
    const { stream, objects, limits, budget } = this.#options;
    const record = readRecordAt(stream, objects.get(this.#storages.get(id) ?? -1) ?? stream.length);
    if (record === null || record.type !== type.storage) return [];
    try {
      return readEmbeddedObjectLines(new CompoundFile(this.#inflate(record)), limits, budget);
    } catch (error) {
      if (!(error instanceof ParseFailure) || error.code === 'too_large') throw error;
      this.hasDamaged = true;
      return [];
    }
  }

  #inflate({ instance, start, end }: RecordHeader): Uint8Array {
    const bytes = this.#options.stream.subarray(start, end);
    if (instance !== compressedInstance) return bytes;
    try {
      return inflateSync(bytes.subarray(4), { maxOutputLength: this.#options.limits.zipEntryBytesMax });
    } catch (error) {
      if (!/^(?:Z_|ERR_BUFFER_TOO_LARGE)/.test(String((error as { code?: unknown }).code))) throw error;
      throw new ParseFailure('corrupt', 'An object of the presentation cannot be decompressed.');
    }
  }
}
