import type { InputType } from './model.ts';

/**
 * Open weights of the hosted service that a model service can run, as their owner describes them in its migration
 * guide of 2026-07-24. Text and vectors must match it exactly: a deviation gives wrong vectors without an error.
 */

/** Text before and after each text of a type. */
export type TextFrames = Readonly<Record<InputType, { readonly prefix: string; readonly suffix: string }>>;

/** Chat message with a role in place of the instruction; only these special tokens may be in the input. */
function chatFrame(role: InputType) {
  return {
    prefix: `<|im_start|>system\n${role}<|im_end|>\n<|im_start|>user\n`,
    suffix: '<|im_end|>\n',
  };
}

export const zembed1Preset = {
  /** Name of the hosted service, which becomes an alias. */
  hostedName: 'zembed-1',
  model: 'zembed-1-embedding',
  repository: 'zeroentropy/zembed-1-embedding',
  dimensions: 2_560,
  tokensMax: 16_384,
  frames: { query: chatFrame('query'), document: chatFrame('document') } satisfies TextFrames,
} as const;

export const zerank2Preset = {
  hostedName: 'zerank-2',
  model: 'zerank-2-reranker',
  repository: 'zeroentropy/zerank-2-reranker',
  tokensMax: 8_192,
  /** The score is the sigmoid of the logit of this token, divided by the scale. */
  scoreToken: 'Yes',
  logitScale: 5,
  /** Text around the query and the document, both without surrounding white space. */
  template:
    '<|im_start|>system\n{query}<|im_end|>\n<|im_start|>user\n{document}<|im_end|>\n<|im_start|>assistant\n',
} as const;
