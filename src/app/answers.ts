import { createOrganizationSemaphore } from '../admission/organization-semaphore.ts';
import { OverloadDetector } from '../admission/overload-detector.ts';
import type { Settings } from '../config/schema.ts';
import { answerLimits } from '../core/answer-limits.ts';
import type { Metrics } from '../core/metrics.ts';
import { AnswerServices } from '../services/answers.ts';
import type { QueryServices } from '../services/queries.ts';
import type { Pipeline } from './pipeline.ts';
import { clock, random } from './runtime.ts';

interface AnswerDependencies {
  readonly settings: Settings;
  readonly pipeline: Pick<Pipeline, 'catalog'>;
  readonly queries: QueryServices;
  readonly metrics: Metrics;
}

/** Constructs the service that answers questions, and its metrics. */
export function createAnswerServices({
  settings,
  pipeline,
  queries,
  metrics,
}: AnswerDependencies): AnswerServices {
  const semaphore = createOrganizationSemaphore({
    permits: settings.chatRequestsMax,
    waitingMax: answerLimits.waitingMax,
    noun: 'answers',
    overload: new OverloadDetector(clock),
  });
  const countAnswers = metrics.counter({
    name: 'quarry_answers_total',
    help: 'Answers by outcome.',
    labels: ['outcome'],
  });
  const countTokens = metrics.counter({
    name: 'quarry_answer_tokens_total',
    help: 'Tokens of answers as reported by the chat model: of prompts and of completions.',
    labels: ['kind'],
  });
  metrics.gauge(
    { name: 'quarry_answers_running', help: 'Answers that are being written.' },
    () => semaphore.running,
  );
  metrics.gauge(
    { name: 'quarry_answers_waiting', help: 'Answers that wait for the chat model.' },
    () => semaphore.waiting,
  );
  return new AnswerServices({
    chat: pipeline.catalog.chat,
    queries,
    semaphore,
    random,
    answerMsMax: settings.chatSecondsMax * 1_000,
    record: (outcome, usage) => {
      countAnswers({ outcome }, 1);
      if (usage === null) return;
      countTokens({ kind: 'prompt' }, usage.promptTokens);
      countTokens({ kind: 'completion' }, usage.completionTokens);
    },
  });
}
