/**
 * Maps labels to rows. Every addition gets a new label, the next integer from 0. hnswlib requires this: its
 * state becomes inconsistent if a label is deleted and added again while other deleted labels wait for reuse
 * of their slots.
 */
export class LabeledRows {
  readonly #rowOf: number[] = [];
  readonly #labelOf: number[] = [];

  /** Assigns labels to rows that are added for the first time or again. */
  assignLabels(rows: readonly number[]): Uint32Array {
    return Uint32Array.from(rows, (row) => {
      this.#labelOf[row] = this.#rowOf.length;
      return this.#rowOf.push(row) - 1;
    });
  }

  /** Current label of a row; undefined before it is added. */
  labelOf(row: number): number | undefined {
    return this.#labelOf[row];
  }

  labelsOf(rows: readonly number[]): Uint32Array {
    return Uint32Array.from(rows, (row) => this.#labelOf[row]!);
  }

  rowOf(label: number): number {
    // After loading the map is empty, but a dataset that was added once has labels equal to its rows.
    return this.#rowOf[label] ?? label;
  }
}
