/** Texts as UTF-8 in one contiguous block, transferable between threads at the cost of one buffer. */
export interface PackedTexts {
  /** Spans its whole buffer. */
  readonly block: Uint8Array<ArrayBuffer>;
  /** Bytes of each text. */
  readonly lengths: Uint32Array<ArrayBuffer>;
}

export type Texts = readonly string[] | PackedTexts;

/** Packs well-formed strings. */
export function packTexts(texts: readonly string[]): PackedTexts {
  const lengths = Uint32Array.from(texts, (text) => Buffer.byteLength(text));
  const block = new Uint8Array(lengths.reduce((sum, length) => sum + length, 0));
  const target = Buffer.from(block.buffer);
  let start = 0;
  for (const [i, text] of texts.entries()) {
    target.write(text, start, 'utf8');
    start += lengths[i]!;
  }
  return { block, lengths };
}

export function isPacked(texts: Texts): texts is PackedTexts {
  return !Array.isArray(texts);
}

export function countTexts(texts: Texts): number {
  return isPacked(texts) ? texts.lengths.length : texts.length;
}

/** Yields each text as stored: a string, or its UTF-8 bytes. */
export function* eachText(texts: Texts): Generator<string | Uint8Array> {
  if (!isPacked(texts)) return yield* texts;
  let start = 0;
  for (const length of texts.lengths) {
    yield texts.block.subarray(start, start + length);
    start += length;
  }
}

export function unpackTexts(texts: Texts): readonly string[] {
  if (!isPacked(texts)) return texts;
  return Array.from(eachText(texts), (text) => textOf(text));
}

export function textOf(text: string | Uint8Array): string {
  if (typeof text === 'string') return text;
  return Buffer.from(text.buffer, text.byteOffset, text.byteLength).toString('utf8');
}

/** Returns the underlying buffers, for the transfer list of a message. */
export function buffersOf(texts: Texts): ArrayBuffer[] {
  return isPacked(texts) ? [texts.block.buffer, texts.lengths.buffer] : [];
}
