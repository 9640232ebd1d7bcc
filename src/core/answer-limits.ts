/** Limits of generated answers. The table of limits explains each. */
export const answerLimits = {
  snippetsMax: 32,
  snippetsDefault: 8,
  tokensMin: 16,
  tokensMax: 4_096,
  tokensDefault: 1_024,
  /** Answers of an organization that wait until the model has finished others. */
  waitingMax: 16,
  /** Bytes of the stream of the model, in which each token is an event of a few hundred bytes. */
  replyBytesMax: 4 * 1_048_576,
  /** UTF-16 units of the text in it. */
  textUnitsMax: 65_536,
} as const;
