import type { Row, Table } from './findings.ts';

/** Something that was promised, beside what a run found. */
export interface Wanted {
  /** What is meant, with its unit, and of what size where the promise names one. */
  readonly what: string;
  /** Null where the run cannot tell, for example because it was smaller than the promise. */
  readonly reached: number | null;
  readonly least?: number;
  readonly most?: number;
}

/** The promises of a case, kept or not; `digits` after the point of what was reached. */
export function promiseTable(wanted: readonly Wanted[], digits: number): Table {
  return {
    title: 'Reached and wanted',
    columns: [
      { key: 'what', heading: 'what', unit: null, digits: 0 },
      { key: 'reached', heading: 'reached', unit: null, digits },
      { key: 'wanted', heading: 'wanted', unit: null, digits: 0 },
      { key: 'verdict', heading: 'verdict', unit: null, digits: 0 },
    ],
    rows: wanted.map(rowOf),
  };
}

function rowOf({ what, reached, least, most }: Wanted): Row {
  const kept = reached !== null && reached >= (least ?? reached) && reached <= (most ?? reached);
  return {
    what,
    reached,
    wanted: least === undefined ? `<= ${most}` : `>= ${least}`,
    verdict: reached === null ? 'not measured' : kept ? 'reached' : 'MISSED',
  };
}
