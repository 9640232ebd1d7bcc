import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../base/app-error.ts';
import type { JudgedSet } from '../eval/judged-set.ts';
import { ndcg, recall, reciprocalRank } from '../eval/measures.ts';
import type { TopDocumentsResponse } from '../schemas/queries.ts';
import type { StatusResponse } from '../schemas/status.ts';
import { ReplyFailure } from './api.ts';
import type { CommandContext } from './command.ts';
import { counted, printable } from './layout.ts';
import { Progress } from './progress.ts';

/** One way to ask; its parameters go along with every question. */
export interface Way {
  readonly name: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface Answers {
  readonly way: Way;
  /** One value per question. */
  readonly ndcg: readonly number[];
  readonly mrr: readonly number[];
  readonly recall: readonly number[];
}

const rankedDepth = 10;
const recallDepth = 100;
const batchDocuments = 64;
const batchesAtOnce = 2;
const questionsAtOnce = 4;
const pollMs = 250;

/**
 * Puts the documents of a set into a collection, asks its questions in each way and takes the collection away again;
 * one that is named by `wanted` stays, and is asked as it is if it is there. Throws what the server refuses.
 */
export async function measureSet(
  context: CommandContext,
  set: JudgedSet,
  ways: readonly Way[],
  wanted: string | null,
): Promise<Answers[]> {
  const name = wanted ?? temporaryName(set);
  const made = await makeCollection(context, name, wanted !== null);
  try {
    if (made) await fill(context, name, set);
    const answers: Answers[] = [];
    for (const way of ways) answers.push(await ask(context, name, set, way));
    return answers;
  } finally {
    if (wanted === null) {
      // Also after Ctrl-C, which has ended the other calls.
      await context.api.uninterrupted().call('collections/delete-collection', { collection_name: name });
    }
  }
}

/** The same for the same documents, so that what a killed run left behind is found and taken away. */
function temporaryName({ name, documents }: JudgedSet): string {
  const hash = createHash('sha256');
  for (const { id } of documents) hash.update(`${id}\n`);
  return `quarry-eval ${name} ${hash.digest('hex').slice(0, 8)}`;
}

/** False when the collection is there already and shall be asked as it is. */
async function makeCollection({ api }: CommandContext, name: string, keep: boolean): Promise<boolean> {
  const body = { collection_name: name };
  for (;;) {
    try {
      await api.call('collections/add-collection', body);
      return true;
    } catch (error) {
      if (!(error instanceof ReplyFailure) || error.status !== 409) throw error;
      if (keep) return false;
      await api.call('collections/delete-collection', body);
    }
  }
}

/** Adds all documents and waits until they can be found. A document that fails ends it. */
async function fill({ api, terminal, clock }: CommandContext, name: string, set: JudgedSet): Promise<void> {
  const { documents } = set;
  const progress = new Progress(`${set.name}:`, terminal, clock);
  const batches: (typeof documents)[] = [];
  for (let at = 0; at < documents.length; at += batchDocuments) {
    batches.push(documents.slice(at, at + batchDocuments));
  }
  let done = 0;
  await inParallel(batches, batchesAtOnce, async (batch) => {
    await addBatch(api, name, batch);
    done += batch.length;
    progress.update({
      done,
      total: documents.length,
      words: `${done}/${counted(documents.length, 'document')}`,
    });
  });
  let waiting = '';
  for (;;) {
    const status = await api.call<StatusResponse>('status/get-status', { collection_name: name });
    const reasons = (status.waiting_for ?? []).join(' ');
    if (reasons !== '' && reasons !== waiting)
      terminal.note(`quarry: documents wait. ${printable(reasons)}\n`);
    waiting = reasons;
    if (status.num_failed_documents > 0) {
      throw new AppError(
        'conflict',
        `${counted(status.num_failed_documents, 'document')} of ${set.name} failed.`,
      );
    }
    if (status.num_indexed_documents === status.num_documents) break;
    await sleep(pollMs, undefined, { signal: api.signal });
  }
  progress.end(`${set.name}: ${counted(documents.length, 'document')} added`);
}

async function addBatch(
  api: CommandContext['api'],
  name: string,
  batch: JudgedSet['documents'],
): Promise<void> {
  const documents = batch.map(({ id, text }) => ({ path: id, content: { type: 'text', text } }));
  const { results } = await api.call<{ results: { path: string; status: number; detail?: string }[] }>(
    'documents/add-documents',
    { collection_name: name, documents },
  );
  const refused = results.find(({ status }) => status >= 400);
  if (refused === undefined) return;
  throw new AppError(
    'conflict',
    `The document ${refused.path} was refused: ${refused.detail ?? refused.status}`,
  );
}

async function ask(
  { api, terminal, clock }: CommandContext,
  name: string,
  { name: setName, questions }: JudgedSet,
  way: Way,
): Promise<Answers> {
  const title = `${setName}, ${way.name}:`;
  const progress = new Progress(title, terminal, clock);
  const values = questions.map(() => ({ ndcg: 0, mrr: 0, recall: 0 }));
  let done = 0;
  await inParallel([...questions.entries()], questionsAtOnce, async ([i, { text, grades }]) => {
    const { results, warnings } = await api.call<TopDocumentsResponse>('queries/top-documents', {
      collection_name: name,
      query: text,
      k: recallDepth,
      ...way.parameters,
    });
    // Figures of a search that lacks a model would pass for those of one that has it.
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
      words: `${done}/${counted(questions.length, 'question')}`,
    });
  });
  progress.end(`${title} ${counted(questions.length, 'question')} asked`);
  return {
    way,
    ndcg: values.map((value) => value.ndcg),
    mrr: values.map((value) => value.mrr),
    recall: values.map((value) => value.recall),
  };
}

async function inParallel<T>(
  items: readonly T[],
  lanes: number,
  run: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  const lane = async () => {
    for (let i = next++; i < items.length; i = next++) await run(items[i]!);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
