/** Event of a document for usage metering: sizes and times, never its text. */
export interface DocumentEvent {
  readonly organizationId: string;
  readonly collectionId: string;
  readonly event: 'added' | 'deleted' | 'parsed' | 'indexed';
  /** Number of documents with the sizes below in total; default 1. */
  readonly documents?: number;
  /** Raw bytes. */
  readonly fileBytes: number;
  readonly pages: number;
  readonly contentTokens?: number;
  readonly embeddingTokens?: number;
  readonly coarseChunks?: number;
  readonly fineChunks?: number;
  /** Milliseconds of work. */
  readonly timeTakenMs?: number;
}
