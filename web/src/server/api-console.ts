import { now } from '../browser/clock.ts';
import { getJson, type JsonReply, sendJson } from './api-call.ts';
import { organizationId } from './session.ts';

/** Operations that can be tried with the session of the visitor, as the server publishes them, and requests to them. */

export interface ApiOperation {
  /** Name of the operation, as in links of the documentation. */
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  readonly path: string;
  /** Body of the example, formatted. */
  readonly example: string;
}

interface OpenApiOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  /** Empty for operations without authentication. */
  readonly security?: readonly unknown[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly example?: unknown }>>;
  };
}

interface OpenApiServers {
  readonly servers?: readonly { readonly url: string }[];
}

interface OpenApiDocument extends OpenApiServers {
  readonly paths: Readonly<Record<string, OpenApiServers & { readonly post?: OpenApiOperation }>>;
}

/** Returns the operations with a body of JSON that need a credential, in the order of the documentation. */
export async function listApiOperations(signal: AbortSignal): Promise<readonly ApiOperation[]> {
  const documents = await Promise.all(
    ['/openapi.json', '/api/openapi.json'].map((path) => getJson<OpenApiDocument>(path, signal)),
  );
  return documents.flatMap(({ servers, paths }) =>
    Object.entries(paths).flatMap(([path, { post, servers: ownServers = servers }]) =>
      post === undefined ? [] : toOperation((ownServers?.[0]?.url ?? '').replace(/\/$/, '') + path, post),
    ),
  );
}

/** The same operations have a link in the documentation (`src/http/docs/operations.ts`). */
function toOperation(path: string, operation: OpenApiOperation): readonly ApiOperation[] {
  const { operationId, tags, summary, description, security, requestBody } = operation;
  const example = requestBody?.content['application/json']?.example;
  const tag = tags[0] ?? '';
  if (example === undefined || security?.length === 0 || path.includes('{') || tag === 'mcp') return [];
  const id = operationId.replaceAll('_', '-');
  return [{ id, tag, summary, description, path, example: JSON.stringify(example, null, 2) }];
}

export interface ConsoleReply extends JsonReply {
  /** Milliseconds from the click to the reply. */
  readonly ms: number;
}

/** Sends a body to an operation, in the selected organization. Error replies are replies. Errors: `ApiError`. */
export async function tryOperation(path: string, body: string): Promise<ConsoleReply> {
  const startedAt = now();
  const reply = await sendJson(path, body, { organizationId: organizationId() });
  return { ...reply, ms: now() - startedAt };
}
