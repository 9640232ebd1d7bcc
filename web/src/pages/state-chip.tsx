import { Chip } from '../components/chip.tsx';
import type { DocumentRow } from '../server/retrieval.ts';
import { stageLabel, stateLabels } from './document-states.ts';

type StateChipRow = Pick<DocumentRow, 'index_status' | 'error' | 'waiting_for' | 'progress'>;

/** State of a document, and the reason if it does not progress. */
export function StateChip({ row }: { readonly row: StateChipRow }) {
  const [label, tone] = stateLabels[row.index_status];
  const { progress } = row;
  const detail =
    row.error ??
    row.waiting_for ??
    (progress &&
      stageLabel({ stage: progress.stage, done: progress.num_pages_done, pages: progress.num_pages }));
  return (
    <>
      <Chip tone={row.waiting_for === undefined ? tone : 'warning'}>{label}</Chip>
      {detail !== undefined && (
        <span class="state-detail" title={detail}>
          {detail}
        </span>
      )}
    </>
  );
}
