/** A model of this machine that failed on what it was given; perhaps it would again. */
export class ModelFailed extends Error {
  override readonly name = 'ModelFailed';
  /** A whole sentence without paths of this machine: which model, and what it was. */
  readonly sentence: string;

  constructor(model: string, reason: string, cause: unknown) {
    const sentence = `The model ${JSON.stringify(model)} failed: ${reason}.`;
    super(sentence, { cause });
    this.sentence = sentence;
  }
}
