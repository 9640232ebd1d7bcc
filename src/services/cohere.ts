import { AppError, invalidFieldError } from '../core/app-error.ts';
import { limits } from '../core/limits.ts';
import type {
  CohereEmbedRequest,
  CohereEmbedResponse,
  CohereRerankRequest,
  CohereRerankResponse,
  CohereRerankV2Request,
  CohereRerankV2Response,
} from '../schemas/cohere.ts';
import type { ModelService, ModelServiceCall, Ranking } from './models.ts';
import { type JsonChunk, RenderedJson } from './rendered-json.ts';
import { createEncoder, mapInTurns } from './vector-encoding.ts';

type CohereDocument = CohereRerankRequest['documents'][number];

/** Embeds and reranks in the format of Cohere. */
export class CohereServices {
  readonly #models: Pick<ModelService, 'embedTexts' | 'rankTexts'>;

  constructor(models: Pick<ModelService, 'embedTexts' | 'rankTexts'>) {
    this.#models = models;
  }

  /** `POST /rerank`. Errors: as `ModelService.rerank`; 422 for a document without the fields to rank. */
  async cohereRerank(call: ModelServiceCall, request: CohereRerankRequest): Promise<CohereRerankResponse> {
    const { model, query } = request;
    const fields = request.rank_fields ?? null;
    const documents = await mapInTurns(call, request.documents, (document, i) =>
      rankedText(document, fields, i),
    );
    const topN = request.top_n ?? request.top_k;
    const ranking = await this.#models.rankTexts(call, { model, query, documents, topN, latency: null });
    const withText = request.return_documents === true;
    const textOf = (index: number) => documents[index] ?? '';
    const shown = (index: number) => shownDocument(request.documents[index], textOf(index), fields);
    return {
      id: call.requestId,
      results: await mapInTurns(call, ranking.ranked, ({ index, relevance_score }) =>
        withText ? { index, relevance_score, document: shown(index) } : { index, relevance_score },
      ),
      meta: toMeta(documents.length, ranking),
      model,
      object: 'list',
      usage: { total_tokens: ranking.tokens },
      ...(isVoyageRequest(request)
        ? {
            data: await mapInTurns(call, ranking.ranked, ({ index, relevance_score }) =>
              withText ? { index, relevance_score, document: textOf(index) } : { index, relevance_score },
            ),
          }
        : {}),
    };
  }

  /** `POST /v2/rerank`. Errors: as `ModelService.rerank`. */
  async cohereRerankV2(
    call: ModelServiceCall,
    request: CohereRerankV2Request,
  ): Promise<CohereRerankV2Response> {
    const { model, query, documents, top_n: topN } = request;
    const ranking = await this.#models.rankTexts(call, { model, query, documents, topN, latency: null });
    return { id: call.requestId, results: [...ranking.ranked], meta: toMeta(documents.length, ranking) };
  }

  /** `POST /v2/embed`. Errors: as `ModelService.embed`; 400 unless the request has either `texts` or `inputs`. */
  async cohereEmbed(
    call: ModelServiceCall,
    request: CohereEmbedRequest,
  ): Promise<RenderedJson<CohereEmbedResponse>> {
    const texts = textsOf(request);
    const embedded = await this.#models.embedTexts(call, {
      model: request.model,
      texts,
      inputType: request.input_type === 'search_query' ? 'query' : 'document',
      dimensions: request.output_dimension,
      latency: null,
    });
    const types = new Set(request.embedding_types ?? (['float'] as const));
    const chunks: JsonChunk[] = [`{"id":${JSON.stringify(call.requestId)},"embeddings":{`];
    for (const [i, type] of [...types].entries()) {
      const encode = createEncoder(type);
      chunks.push(`${i === 0 ? '' : ','}"${type}":[`);
      chunks.push(...(await renderItems(call, embedded.vectors, encode)), ']');
    }
    chunks.push('},"texts":[', ...(await renderItems(call, texts, (text) => text)), ']');
    const meta = { api_version: { version: '2' }, billed_units: { input_tokens: embedded.tokens } };
    chunks.push(`,"meta":${JSON.stringify(meta)},"response_type":"embeddings_by_type"}`);
    return new RenderedJson(chunks);
  }
}

/** Only Voyage clients send these fields. */
function isVoyageRequest({ top_k, truncation }: CohereRerankRequest): boolean {
  return top_k !== undefined || truncation !== undefined;
}

function toMeta(documents: number, ranking: Ranking): CohereRerankResponse['meta'] {
  return {
    api_version: { version: '2' },
    billed_units: { search_units: Math.ceil(documents / limits.cohereSearchUnitDocuments) },
    tokens: { input_tokens: ranking.tokens },
  };
}

/** Errors: 422 for a document without the fields to rank, or with one that is not a text. */
function rankedText(document: CohereDocument, fields: readonly string[] | null, index: number): string {
  if (typeof document === 'string') return document;
  if (fields === null) {
    if (typeof document.text === 'string') return document.text;
    throw invalidFieldError(['body', 'documents', String(index), 'text'], 'is required', 'missing');
  }
  const parts = fields.flatMap((name) =>
    Object.hasOwn(document, name) ? [fieldText(document, name, index)] : [],
  );
  if (parts.length > 0) return parts.join('\n');
  throw invalidFieldError(
    ['body', 'documents', String(index)],
    'has none of the fields of rank_fields',
    'missing',
  );
}

function fieldText(document: object, name: string, index: number): string {
  const value = (document as Readonly<Record<string, unknown>>)[name];
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw invalidFieldError(['body', 'documents', String(index), name], 'must be a string', 'type_error');
}

/** Returns the whole object of the request if `rank_fields` chose from it, else its text. */
function shownDocument(
  document: CohereDocument | undefined,
  text: string,
  fields: readonly string[] | null,
): Exclude<CohereDocument, string> {
  return fields !== null && typeof document === 'object' ? document : { text };
}

function textsOf({ texts, inputs }: CohereEmbedRequest): readonly string[] {
  const hasTexts = (texts ?? null) !== null;
  const hasInputs = (inputs ?? null) !== null;
  if (hasTexts === hasInputs)
    throw new AppError('bad_request', 'The request must have either "texts" or "inputs".');
  return texts ?? inputs!.map(({ content }) => content.map(({ text }) => text).join('\n'));
}

/** Serializes a long list item by item, with commas. */
async function renderItems<Item>(
  call: ModelServiceCall,
  items: readonly Item[],
  toValue: (item: Item) => unknown,
): Promise<string[]> {
  return mapInTurns(call, items, (item, i) => `${i === 0 ? '' : ','}${JSON.stringify(toValue(item))}`);
}
