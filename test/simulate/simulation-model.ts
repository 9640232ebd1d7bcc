import { createHash } from 'node:crypto';
import type { DocumentRecord } from '../../src/storage/documents.ts';
import { markerOf } from '../crash/documents.ts';
import type { TestRandom } from '../storage/test-random.ts';

/** State of a document as submitted; null is no document. */
export interface DocumentState {
  readonly marker: string;
  readonly edition: string;
  readonly text: string;
  readonly rawHash: string;
  /** Outcome of parsing: the file is readable, damaged, or makes the parser itself fail every time. */
  readonly parseResult: 'read' | 'damaged' | 'failure';
}

/** States that a document may have; several while a request is running or after a crash. */
export type PossibleStates = readonly (DocumentState | null)[];

export interface CollectionModel {
  readonly name: string;
  possibleExists: readonly boolean[];
  readonly paths: Map<string, PossibleStates>;
}

/** Expected collections, documents and files of a simulation. */
export class SimulationModel {
  readonly collections = new Map<string, CollectionModel>();
  /** Markers of documents that no query may find any more. */
  readonly removedMarkers = new Set<string>();
  readonly #files = new Map<string, DocumentState>();
  readonly #random: TestRandom;
  #count = 0;

  constructor(names: readonly string[], random: TestRandom) {
    this.#random = random;
    for (const name of names) this.collections.set(name, { name, possibleExists: [false], paths: new Map() });
  }

  /** Creates a random document. */
  createState(): DocumentState {
    this.#count += 1;
    const marker = markerOf(this.#count);
    const filler = 'ink and paper for the harbour office '.repeat(1 + this.#random.below(120));
    const whole = `${filler}${marker} ${filler}`;
    const rawHash = createHash('sha256').update(whole).digest('hex');
    const parseResult = pickRandom(this.#random, ['read', 'read', 'read', 'damaged', 'failure'] as const);
    const isFile = parseResult !== 'read' || this.#random.below(3) === 0;
    const documentState: DocumentState = {
      marker,
      edition: this.nextEdition(),
      text: whole,
      rawHash,
      parseResult,
    };
    if (isFile) this.#files.set(rawHash, documentState);
    return documentState;
  }

  nextEdition(): string {
    this.#count += 1;
    return `e${this.#count}`;
  }

  /** Document whose file has this hash; undefined for a document that is added as a text. */
  findFile(rawHash: string): DocumentState | undefined {
    return this.#files.get(rawHash);
  }

  /** Records that only the kept state may still be found. */
  markRemoved(states: PossibleStates, keptState: DocumentState | null): void {
    for (const state of states)
      if (state !== null && state.marker !== keptState?.marker) this.removedMarkers.add(state.marker);
  }

  forgetCollection(model: CollectionModel): void {
    for (const states of model.paths.values()) this.markRemoved(states, null);
    model.paths.clear();
  }
}

/** Whether a record is that of a document in this state. */
export function isState(state: DocumentState | null, record: DocumentRecord | undefined): boolean {
  if (state === null || record === undefined) return state === null && record === undefined;
  return state.rawHash === record.rawHash && record.metadata.edition === state.edition;
}

export function pickRandom<T>(random: TestRandom, list: readonly T[]): T {
  return list[random.below(list.length)]!;
}
