import { AppError } from '../core/app-error.ts';
import { queryLimits } from '../core/query-limits.ts';
import { checkPath } from './checks.ts';
import { type Static, Type } from './typebox.ts';

export const Curation = Type.Object({
  queries: Type.Array(Type.String(), {
    description:
      'Queries to which the rule applies: 1 to 20, each with at least one word and at most 256 characters. The whole query must be equal; case, accents, punctuation and spaces do not matter. A query may occur in one rule only.',
    examples: [['refund', 'money back']],
  }),
  pinned: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Paths of the documents that come first, in this order: at most 20.',
      examples: [['faq/refunds.md']],
    }),
  ),
  hidden: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Paths of the documents that are not returned: at most 100.',
      examples: [['archive/refunds-2019.md']],
    }),
  ),
});
export type Curation = Static<typeof Curation>;

export const Curations = Type.Array(Curation, {
  description:
    'Rules that pin and hide documents in the results of certain queries: at most 200, with at most 131,072 characters. Paths of documents that do not exist have no effect.',
  examples: [
    [{ queries: ['refund', 'money back'], pinned: ['faq/refunds.md'], hidden: ['archive/refunds-2019.md'] }],
  ],
});
export type Curations = Static<typeof Curations>;

/** Errors: AppError `bad_request` that names the rule. */
export function checkCurations(curations: Curations): void {
  const { curationsMax, curationUnitsTotalMax } = queryLimits;
  if (curations.length > curationsMax)
    reject(`curations has ${curations.length} rules; at most ${curationsMax} are allowed.`);
  for (const [i, curation] of curations.entries()) checkCuration(curation, `curations[${i}]`);
  const texts = curations.flatMap(({ queries, pinned = [], hidden = [] }) => [
    ...queries,
    ...pinned,
    ...hidden,
  ]);
  const units = texts.reduce((sum, { length }) => sum + length, 0);
  if (units > curationUnitsTotalMax)
    reject(`curations has ${units} characters; at most ${curationUnitsTotalMax} are allowed.`);
}

function checkCuration({ queries, pinned = [], hidden = [] }: Curation, name: string): void {
  const { curationQueriesMax, curationQueryUnitsMax, pinnedDocumentsMax, hiddenDocumentsMax } = queryLimits;
  if (queries.length < 1 || queries.length > curationQueriesMax)
    reject(`${name} has ${queries.length} queries; it must have 1 to ${curationQueriesMax}.`);
  for (const query of queries)
    if (query.length > curationQueryUnitsMax)
      reject(
        `${name} has a query of ${query.length} characters; at most ${curationQueryUnitsMax} are allowed.`,
      );
  if (pinned.length + hidden.length === 0) reject(`${name} has no documents. Set pinned, hidden, or both.`);
  if (pinned.length > pinnedDocumentsMax)
    reject(`${name} has ${pinned.length} pinned documents; at most ${pinnedDocumentsMax} are allowed.`);
  if (hidden.length > hiddenDocumentsMax)
    reject(`${name} has ${hidden.length} hidden documents; at most ${hiddenDocumentsMax} are allowed.`);
  const paths = new Set<string>();
  for (const path of [...pinned, ...hidden]) {
    checkPath(path);
    if (paths.has(path)) reject(`${name} names the document ${JSON.stringify(path)} twice.`);
    paths.add(path);
  }
}

function reject(detail: string): never {
  throw new AppError('bad_request', detail);
}
