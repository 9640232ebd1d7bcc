import type { Metadata } from '../storage/metadata-codec.ts';

/** Item of an origin: a file, an object, a page or an entry. */
export interface SourceItem {
  /** Unique in the source; the path of its document without the prefix. */
  readonly key: string;
  /** Changes with the content or the attributes of the item; empty: unknown, so the item is always read. */
  readonly version: string;
  readonly metadata: Metadata;
}

export interface SourceContent {
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Replaces the version of the item, if it is known only after the content is read. */
  readonly version?: () => string;
  /** Added to the metadata of the item. */
  readonly metadata?: Metadata;
}

/** A difference between the origin and its state at the cursor. Known changes may be repeated. */
export type SourceChange =
  | { readonly type: 'item'; readonly item: SourceItem }
  | { readonly type: 'deleted'; readonly key: string }
  /** Items that could not be listed: the one with this key, or all with this key prefix. Their documents are kept. */
  | { readonly type: 'unlisted'; readonly key: string; readonly isPrefix: boolean; readonly reason: string };

export interface SourceListing {
  /** Version of the origin; null if it has none. */
  readonly cursor: string | null;
  /** Whether every item was listed, so that an item that was not listed no longer exists. */
  readonly isComplete: boolean;
}

/** Stops watching. Idempotent. */
export interface SourceWatcher {
  close(): void;
}

/** An origin, opened for one run. */
export interface Source {
  /**
   * Yields changes since `cursor`, or all items without one. Errors: AppError if the origin cannot be read at all;
   * then nothing is deleted.
   */
  listChanges(cursor: string | null, signal: AbortSignal): AsyncGenerator<SourceChange, SourceListing, void>;
  /** Opens the content of a listed item; null if the item no longer exists. */
  read(item: SourceItem, signal: AbortSignal): Promise<SourceContent | null>;
  /** Whether the item exists now. Called before the document of an item that was not listed is deleted. */
  exists(key: string, signal: AbortSignal): Promise<boolean>;
  /** Calls `onChange` after changes, and sometimes without one; absent for origins that cannot be watched. */
  watch?(onChange: () => void): Promise<SourceWatcher>;
  close(): Promise<void>;
}
