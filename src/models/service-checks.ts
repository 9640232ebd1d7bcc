import type { EmbeddingCatalogEntry, RerankerCatalogEntry } from './catalog.ts';
import type { HttpEmbedder } from './http-embedder.ts';
import type { HttpReranker } from './http-reranker.ts';
import type { InputType } from './model.ts';

/**
 * Checks of a deployment: relations that hold for every working model, and the comparison with outputs that were recorded
 * when the deployment was known to be right.
 */

export interface ServiceFinding {
  readonly check: 'prompts' | 'meaning' | 'score head' | 'recording';
  readonly state: 'ok' | 'failed' | 'skipped';
  /** Sentence with the measured values. */
  readonly detail: string;
}

/** Outputs of a model for the golden texts. */
export interface GoldenOutputs {
  readonly model: string;
  readonly version: string;
  /** Vectors of each query, document, and query as a document; or the scores of each pair. */
  readonly rows: readonly (readonly number[])[];
}

/** Each document answers the query in the same place, and no other. */
const queries = ['When do bills have to be paid?', 'How are fish preserved?'];
const documents = [
  'Bills have to be paid within thirty days after delivery.',
  'Fish are preserved with salt in a cool cellar.',
];

/** Tolerated distance of vectors of length 1 (cosine .995), and of scores: rounding of half precision and batches. */
const distanceMax = 0.1;
const scoreDifferenceMax = 0.02;
/** Below this distance, the texts of a query and a document reach the model without their prompts. */
const promptDistanceMin = 1e-4;
/** Sigmoid of 1: an upper bound of scores to which the sigmoid function was applied twice. */
const doubleSigmoidMax = 1 / (1 + Math.exp(-1));

/** Embeds the golden texts. Errors: as `HttpEmbedder.embed`. */
export async function embedGoldenTexts(
  { id, version }: EmbeddingCatalogEntry,
  backend: HttpEmbedder,
): Promise<GoldenOutputs> {
  const embed = async (texts: readonly string[], inputType: InputType) => {
    const { vectors } = await backend.embed(texts, inputType, { urgent: false });
    const width = vectors.length / texts.length;
    return texts.map((_, i) => [...vectors.subarray(i * width, (i + 1) * width)]);
  };
  const asQueries = await embed(queries, 'query');
  const asDocuments = await embed([...documents, ...queries], 'document');
  return { model: id, version, rows: [...asQueries, ...asDocuments] };
}

/** Scores the golden pairs. Errors: as `HttpReranker.score`. */
export async function scoreGoldenPairs(
  { id, version }: RerankerCatalogEntry,
  backend: HttpReranker,
): Promise<GoldenOutputs> {
  const rows: number[][] = [];
  for (const query of queries)
    rows.push([...(await backend.score(query, documents, { urgent: false })).scores]);
  return { model: id, version, rows };
}

/** `hasPrompts`: whether queries and documents are sent with different texts. */
export function checkEmbedding(
  outputs: GoldenOutputs,
  { hasPrompts, recorded }: { readonly hasPrompts: boolean; readonly recorded: GoldenOutputs | null },
): ServiceFinding[] {
  const { rows } = outputs;
  const pairs = queries.length;
  const smallest = Math.min(...queries.map((_, i) => distance(rows[i]!, rows[2 * pairs + i]!)));
  const margins = queries.map((_, i) => {
    const related = dot(rows[i]!, rows[pairs + i]!);
    return related - dot(rows[i]!, rows[pairs + ((i + 1) % pairs)]!);
  });
  const prompts: ServiceFinding = hasPrompts
    ? {
        check: 'prompts',
        state: smallest >= promptDistanceMin ? 'ok' : 'failed',
        detail: `a text as a query and as a document: distance ${smallest.toFixed(4)}`,
      }
    : { check: 'prompts', state: 'skipped', detail: 'queries and documents have the same text' };
  return [prompts, checkMargin(margins, 'similarity'), compareRecording(outputs, recorded, distanceMax)];
}

export function checkReranker(outputs: GoldenOutputs, recorded: GoldenOutputs | null): ServiceFinding[] {
  const { rows } = outputs;
  const margins = rows.map((row, i) => row[i]! - row[(i + 1) % row.length]!);
  const scores = rows.flat();
  const [lowest, highest] = [Math.min(...scores), Math.max(...scores)];
  const isDouble = lowest >= 0.5 && highest <= doubleSigmoidMax;
  return [
    checkMargin(margins, 'score'),
    {
      check: 'score head',
      state: isDouble ? 'failed' : 'ok',
      detail: `scores from ${lowest.toFixed(4)} to ${highest.toFixed(4)}${isDouble ? ', as if the sigmoid function was applied twice' : ''}`,
    },
    compareRecording(outputs, recorded, scoreDifferenceMax),
  ];
}

function checkMargin(margins: readonly number[], unit: string): ServiceFinding {
  const smallest = Math.min(...margins);
  const detail = `${unit} of related minus unrelated texts: at least ${smallest.toFixed(4)}`;
  return { check: 'meaning', state: smallest > 0 ? 'ok' : 'failed', detail };
}

function compareRecording(
  { version, rows }: GoldenOutputs,
  recorded: GoldenOutputs | null,
  maximum: number,
): ServiceFinding {
  const check = 'recording';
  if (recorded === null)
    return { check, state: 'skipped', detail: 'no recorded outputs; record them with --record' };
  if (recorded.version !== version)
    return {
      check,
      state: 'skipped',
      detail: `the recorded outputs are of version ${recorded.version}; record them again with --record`,
    };
  const worst = Math.max(...rows.map((row, i) => distance(row, recorded.rows[i] ?? [])));
  return {
    check,
    state: worst <= maximum ? 'ok' : 'failed',
    detail: `largest distance to the recorded outputs: ${worst.toFixed(4)}, at most ${maximum} is expected`,
  };
}

function dot(left: readonly number[], right: readonly number[]): number {
  return left.reduce((sum, value, i) => sum + value * right[i]!, 0);
}

/** Length of the difference; infinite if the lengths differ. */
function distance(left: readonly number[], right: readonly number[]): number {
  if (left.length !== right.length) return Number.POSITIVE_INFINITY;
  return Math.hypot(...left.map((value, i) => value - right[i]!));
}
