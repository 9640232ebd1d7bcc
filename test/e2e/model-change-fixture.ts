import { setTimeout as sleep } from 'node:timers/promises';
import { FakeModelService, letterVectorOf } from '../models/fake-model-service.ts';
import type { Test } from '../support/tap.ts';
import { testEventMsMax } from '../timeouts.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { TestServer } from './server.ts';

/** Shared code of the model change tests. */

export const topicWords = ['anchor', 'ballast', 'capstan', 'davit', 'ensign', 'fathom', 'gunwale', 'hawser'];
export const pathOf = (i: number) => `${i}.txt`;
export const textOf = (i: number) =>
  `Note ${i} tells of the ${topicWords[i % topicWords.length]} and of nothing else.`;
export const documentsCount = 60;

export interface ModelChangeStatus {
  readonly embedding_model?: string;
  readonly model_changes?: readonly {
    readonly embedding_model: string;
    readonly num_documents: number;
    readonly num_documents_done: number;
    readonly waiting_for?: string;
  }[];
}

export interface SnippetsReply {
  readonly results: {
    readonly path: string;
    readonly content: string;
    readonly explain?: { readonly vector: { readonly similarity: number | null } };
  }[];
  readonly warnings?: string[];
}

export function statusOf(api: CheckedApiClient): Promise<ModelChangeStatus> {
  return api.call('status/get-status', { collection_name: 'notes' }) as Promise<ModelChangeStatus>;
}

export async function waitForStatus(
  what: string,
  api: CheckedApiClient,
  holds: (status: ModelChangeStatus) => boolean,
): Promise<ModelChangeStatus> {
  const deadline = performance.now() + testEventMsMax;
  for (;;) {
    const status = await statusOf(api);
    if (holds(status)) return status;
    if (performance.now() > deadline) throw new Error(`${what}: still ${JSON.stringify(status)}`);
    await sleep(50);
  }
}

export async function querySnippets(
  api: CheckedApiClient,
  query: string,
  body: object = {},
): Promise<SnippetsReply> {
  const request = { collection_name: 'notes', query, k: 100, explain: true, ...body };
  return (await api.call('queries/top-snippets', request)) as unknown as SnippetsReply;
}

export function cosine(one: readonly number[], other: readonly number[]): number {
  const dot = one.reduce((sum, value, i) => sum + value * other[i]!, 0);
  return dot / (Math.hypot(...one) * Math.hypot(...other));
}

export function serverSettingsFor(service: FakeModelService) {
  return {
    EMBEDDING_URL: service.url,
    EMBEDDING_MODEL: 'letters',
    // The longest that is allowed, so that a slow machine does not make queries go without vectors.
    PROVIDER_QUERY_MS_MAX: '50000',
  };
}

/** Adds a collection `notes` with notes that the built-in model embeds. */
export async function addNotes(api: CheckedApiClient): Promise<void> {
  await api.call('collections/add-collection', {
    collection_name: 'notes',
    num_shards: 8,
    embedding_model: 'zembed-1',
  });
  const documents = Array.from({ length: documentsCount }, (_, i) => ({
    path: pathOf(i),
    content: { type: 'text' as const, text: textOf(i) },
  }));
  await api.addAll('notes', documents);
}

/** Server with an embedding service, and notes that the built-in model embeds. */
export async function startModelChange(t: Test) {
  const service = await FakeModelService.start(t);
  const server = await TestServer.start(t, serverSettingsFor(service));
  const api = new CheckedApiClient(server);
  await addNotes(api);
  return { service, server, api };
}

/** Every note must be found once, with exactly the similarity of the service's vectors. */
export async function checkServiceVectors(
  t: Test,
  api: CheckedApiClient,
  texts: ReadonlyMap<string, string>,
  service: FakeModelService,
) {
  const query = 'what does the capstan do';
  for (const precise of [false, true]) {
    const { results, warnings } = await querySnippets(api, query, { precise_responses: precise });
    t.equal(warnings, undefined);
    t.same(results.map(({ path }) => path).sort(), [...texts.keys()].sort(), 'each note is found once');
    const embedded = service.requests.flatMap((request) => request.texts);
    for (const { path, content, explain } of results) {
      t.equal(content, texts.get(path));
      // A coarse chunk is embedded together with its title, a fine one without.
      const isWhole = (text: string) => (precise ? text === content : text.endsWith(`\n\n${content}`));
      const input = embedded.find(isWhole) ?? content;
      const expected = cosine(letterVectorOf(query), letterVectorOf(input));
      const similarity = explain?.vector.similarity ?? -1;
      if (Math.abs(similarity - expected) > 0.02)
        t.equal(similarity, expected, `${path}, precise ${precise}`);
    }
  }
}
