import type { ChipTone } from '../components/chip.tsx';
import { formatCount } from '../format/numbers.ts';
import type { DocumentRow } from '../server/retrieval.ts';

/** Labels and colors of document states. */

type Status = DocumentRow['index_status'];

export const stateLabels: Readonly<Record<Status, readonly [string, ChipTone]>> = {
  not_parsed: ['Waiting', 'neutral'],
  parsing: ['Parsing', 'info'],
  not_indexed: ['Parsed', 'info'],
  indexing: ['Indexing', 'info'],
  indexed: ['Indexed', 'good'],
  parsing_failed: ['Parsing failed', 'bad'],
  indexing_failed: ['Indexing failed', 'bad'],
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
  waiting: 'Waiting for a parser',
  reading: 'Reading',
  converting: 'Converting',
  recognising: 'Running OCR',
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
    : `${label}, page ${formatCount(done)} of ${formatCount(pages)}`;
}
