/** Identity of an embedding model. */
export interface ModelReference {
  readonly id: string;
  /** Changes whenever the same text may get a different vector. */
  readonly version: string;
}

/** An embedding model and the dimensions of its vectors. */
export interface ModelVersion extends ModelReference {
  readonly dimensions: number;
}
