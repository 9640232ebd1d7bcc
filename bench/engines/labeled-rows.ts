/**
 * Which row a label stands for, where every addition gets a label of its own, the next whole number from 0. With
 * hnswlib that is a need: it mixes its books up when a label is deleted and added again while other deleted labels wait
 * for their place to be taken.
 */
export class LabeledRows {
  readonly #rowOf: number[] = [];
  readonly #labelOf: number[] = [];

  /** Labels for rows that are added for the first time or again. */
  assignLabels(rows: readonly number[]): Uint32Array {
    return Uint32Array.from(rows, (row) => {
      this.#labelOf[row] = this.#rowOf.length;
      return this.#rowOf.push(row) - 1;
    });
  }

  /** The present label of a row; undefined before it is added. */
  labelOf(row: number): number | undefined {
    return this.#labelOf[row];
  }

  labelsOf(rows: readonly number[]): Uint32Array {
    return Uint32Array.from(rows, (row) => this.#labelOf[row]!);
  }

  rowOf(label: number): number {
    // After loading nothing is known, but a set that was added once has labels equal to its rows.
    return this.#rowOf[label] ?? label;
  }
}
