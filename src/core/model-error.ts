/** Failure of a local model on its input; a retry may fail again. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
  /** A whole sentence without local paths: which model failed and why. */
  readonly publicMessage: string;

  constructor(model: string, reason: string, cause: unknown) {
    const publicMessage = `The model ${JSON.stringify(model)} failed: ${reason}.`;
    super(publicMessage, { cause });
    this.publicMessage = publicMessage;
  }
}
