/**
 * Reference BM25 over normalized words, for the measurements of the recipe and for choosing hard candidates.
 * Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009; idf = ln(1 + (N - df + .5) / (df +
 * .5)).
 */
export class Bm25 {
  readonly #postings = new Map<string, { readonly rows: number[]; readonly counts: number[] }>();
  readonly #lengths: number[] = [];
  readonly #k1: number;
  readonly #b: number;

  constructor(
    documents: readonly (readonly string[])[],
    options: { readonly k1: number; readonly b: number },
  ) {
    this.#k1 = options.k1;
    this.#b = options.b;
    for (const [row, words] of documents.entries()) {
      this.#lengths.push(words.length);
      const counts = new Map<string, number>();
      for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
      for (const [word, count] of counts) {
        let posting = this.#postings.get(word);
        if (posting === undefined) {
          posting = { rows: [], counts: [] };
          this.#postings.set(word, posting);
        }
        posting.rows.push(row);
        posting.counts.push(count);
      }
    }
  }

  /** Returns the score of every document for the words of a query; a repeated word counts each time. */
  scores(query: readonly string[]): Float32Array {
    const scores = new Float32Array(this.#lengths.length);
    const total = this.#lengths.reduce((sum, length) => sum + length, 0);
    const mean = total / Math.max(1, this.#lengths.length);
    for (const word of query) {
      const posting = this.#postings.get(word);
      if (posting === undefined) continue;
      const matches = posting.rows.length;
      const idf = Math.log(1 + (this.#lengths.length - matches + 0.5) / (matches + 0.5));
      for (const [index, row] of posting.rows.entries()) {
        const count = posting.counts[index]!;
        const saturation = this.#k1 * (1 - this.#b + (this.#b * this.#lengths[row]!) / mean);
        scores[row]! += (idf * count * (this.#k1 + 1)) / (count + saturation);
      }
    }
    return scores;
  }
}
