import type { ChipTone } from '../components/chip.tsx';
import { formatCount } from '../format/numbers.ts';
import type { DocumentRow } from '../server/retrieval.ts';
import { texts } from '../texts/en/documents.ts';
import { fill } from '../texts/format-text.ts';

/** Labels and colors of document states. */

type Status = DocumentRow['index_status'];

export const stateLabels: Readonly<Record<Status, readonly [string, ChipTone]>> = {
  not_parsed: [texts.waiting, 'neutral'],
  parsing: [texts.parsing, 'info'],
  not_indexed: [texts.parsed, 'info'],
  indexing: [texts.indexing, 'info'],
  indexed: [texts.indexed, 'good'],
  parsing_failed: [texts.parsingFailed, 'bad'],
  indexing_failed: [texts.indexingFailed, 'bad'],
};

/** Whether the state is final: it does not change by itself. */
export function isSettled(status: Status): boolean {
  return status === 'indexed' || hasFailed(status);
}

export function hasFailed(status: Status): boolean {
  return status === 'parsing_failed' || status === 'indexing_failed';
}

/** State to set on a failed document to retry it. */
export function retryStatusOf(status: Status): 'not_parsed' | 'not_indexed' {
  return status === 'parsing_failed' ? 'not_parsed' : 'not_indexed';
}

const stageLabels = {
  waiting: texts.waitingForAParser,
  reading: texts.reading,
  converting: texts.converting,
  recognising: texts.runningOcr,
} as const;

interface StageProgress {
  readonly stage: keyof typeof stageLabels;
  readonly done: number;
  readonly pages: number | null;
}

export function stageLabel({ stage, done, pages }: StageProgress): string {
  const label = stageLabels[stage];
  return pages === null || pages === 0
    ? label
    : fill(texts.labelPageDoneOfPages, { label, done: formatCount(done), pages: formatCount(pages) });
}
