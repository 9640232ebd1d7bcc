/** Size and state of the index of a collection. */
export interface IndexDescription {
  /** The numbers are 0 unless `ready`. */
  readonly state: 'ready' | 'loading' | 'repairing';
  /** Chunks that search finds, and those of removed versions that are not yet compacted away. */
  readonly rows: number;
  readonly deadRows: number;
  readonly memoryBytes: number;
  readonly diskBytes: number;
}
