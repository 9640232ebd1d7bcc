import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../core/app-error.ts';
import type { JudgedSet } from '../eval/judged-set.ts';
import { ndcg, recall, reciprocalRank } from '../eval/measures.ts';
import type { TopDocumentsResponse } from '../schemas/queries.ts';
import type { StatusResponse } from '../schemas/status.ts';
import { ApiResponseError } from './api-client.ts';
import type { CommandContext } from './command.ts';
import { ProgressBar } from './progress.ts';
import { pluralize, toPrintable } from './text-layout.ts';

/** A search configuration; its parameters are sent with every question. */
export interface SearchVariant {
  readonly name: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface VariantScores {
  readonly variant: SearchVariant;
  /** One value per question. */
  readonly ndcg: readonly number[];
  readonly mrr: readonly number[];
  readonly recall: readonly number[];
}

const rankedDepth = 10;
const recallDepth = 100;
const batchDocuments = 64;
const batchConcurrencyMax = 2;
const questionConcurrencyMax = 4;
const pollMs = 250;

/**
 * Adds the documents of a set to a collection, runs its questions with each variant and deletes the
 * collection. A collection named by `collectionName` is kept; if it already exists, it is searched unchanged.
 * Errors: as the API calls.
 */
export async function measureSet(
  context: CommandContext,
  set: JudgedSet,
  variants: readonly SearchVariant[],
  collectionName: string | null,
): Promise<VariantScores[]> {
  const collection = collectionName ?? temporaryName(set);
  const isNew = await createCollection(context, collection, collectionName !== null);
  try {
    if (isNew) await addDocuments(context, collection, set);
    const scores: VariantScores[] = [];
    for (const variant of variants) scores.push(await evaluateVariant(context, collection, set, variant));
    return scores;
  } finally {
    if (collectionName === null) {
      // Also after Ctrl-C, which aborts the other calls.
      await context.api
        .withoutInterrupt()
        .call('collections/delete-collection', { collection_name: collection });
    }
  }
}

/**
 * Returns the same name for the same documents, so that a later run finds and deletes the collection of a
 * killed run.
 */
function temporaryName({ name: setName, documents }: JudgedSet): string {
  const hash = createHash('sha256');
  for (const { id } of documents) hash.update(`${id}\n`);
  return `quarry-eval ${setName} ${hash.digest('hex').slice(0, 8)}`;
}

/** Returns false if the collection already exists and is to be searched unchanged. */
async function createCollection(
  { api }: CommandContext,
  collection: string,
  isKept: boolean,
): Promise<boolean> {
  const body = { collection_name: collection };
  for (;;) {
    try {
      await api.call('collections/add-collection', body);
      return true;
    } catch (error) {
      if (!(error instanceof ApiResponseError) || error.status !== 409) throw error;
      if (isKept) return false;
      await api.call('collections/delete-collection', body);
    }
  }
}

/** Adds all documents and waits until they are indexed. Errors: AppError `conflict` if a document fails. */
async function addDocuments(
  { api, terminal, clock }: CommandContext,
  collection: string,
  set: JudgedSet,
): Promise<void> {
  const { documents } = set;
  const progress = new ProgressBar(`${set.name}:`, terminal, clock);
  const batches: (typeof documents)[] = [];
  for (let at = 0; at < documents.length; at += batchDocuments) {
    batches.push(documents.slice(at, at + batchDocuments));
  }
  let done = 0;
  await inParallel(batches, batchConcurrencyMax, async (batch) => {
    await addBatch(api, collection, batch);
    done += batch.length;
    progress.update({
      done,
      total: documents.length,
      label: `${done}/${pluralize(documents.length, 'document')}`,
    });
  });
  let waiting = '';
  for (;;) {
    const status = await api.call<StatusResponse>('status/get-status', { collection_name: collection });
    const reasons = (status.waiting_for ?? []).join(' ');
    if (reasons !== '' && reasons !== waiting)
      terminal.note(`quarry: documents are waiting. ${toPrintable(reasons)}\n`);
    waiting = reasons;
    if (status.num_failed_documents > 0) {
      throw new AppError(
        'conflict',
        `${pluralize(status.num_failed_documents, 'document')} of ${set.name} failed.`,
      );
    }
    if (status.num_indexed_documents === status.num_documents) break;
    await sleep(pollMs, undefined, { signal: api.signal });
  }
  progress.finish(`${set.name}: ${pluralize(documents.length, 'document')} added`);
}

async function addBatch(
  api: CommandContext['api'],
  collection: string,
  batch: JudgedSet['documents'],
): Promise<void> {
  const documents = batch.map(({ id, text }) => ({ path: id, content: { type: 'text', text } }));
  const { results } = await api.call<{ results: { path: string; status: number; detail?: string }[] }>(
    'documents/add-documents',
    { collection_name: collection, documents },
  );
  const rejected = results.find(({ status }) => status >= 400);
  if (rejected === undefined) return;
  throw new AppError(
    'conflict',
    `The document ${rejected.path} was rejected: ${rejected.detail ?? rejected.status}`,
  );
}

async function evaluateVariant(
  { api, terminal, clock }: CommandContext,
  collection: string,
  { name: setName, questions }: JudgedSet,
  variant: SearchVariant,
): Promise<VariantScores> {
  const title = `${setName}, ${variant.name}:`;
  const progress = new ProgressBar(title, terminal, clock);
  const values = questions.map(() => ({ ndcg: 0, mrr: 0, recall: 0 }));
  let done = 0;
  await inParallel([...questions.entries()], questionConcurrencyMax, async ([i, { text, grades }]) => {
    const { results, warnings } = await api.call<TopDocumentsResponse>('queries/top-documents', {
      collection_name: collection,
      query: text,
      k: recallDepth,
      ...variant.parameters,
    });
    // Results of a search without its model would be mistaken for results with it.
    if (warnings?.[0] !== undefined) throw new AppError('conflict', `Nothing was measured. ${warnings[0]}`);
    const ranking = results.map(({ path }) => path);
    values[i] = {
      ndcg: ndcg(ranking, grades, rankedDepth),
      mrr: reciprocalRank(ranking, grades, rankedDepth),
      recall: recall(ranking, grades, recallDepth),
    };
    done += 1;
    progress.update({
      done,
      total: questions.length,
      label: `${done}/${pluralize(questions.length, 'question')}`,
    });
  });
  progress.finish(`${title} ${pluralize(questions.length, 'question')} evaluated`);
  return {
    variant,
    ndcg: values.map((value) => value.ndcg),
    mrr: values.map((value) => value.mrr),
    recall: values.map((value) => value.recall),
  };
}

async function inParallel<T>(
  items: readonly T[],
  concurrencyMax: number,
  run: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  const lane = async () => {
    for (let i = next++; i < items.length; i = next++) await run(items[i]!);
  };
  await Promise.all(Array.from({ length: concurrencyMax }, lane));
}
