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
  readonly method: 'GET' | 'POST';
  /** With the names of parameters in braces: `/v1/models/{model}`. */
  readonly path: string;
  /** Values in the path, and for GET in the query string. */
  readonly parameters: readonly ApiParameter[];
  /** Body of the example, formatted; null for GET. */
  readonly example: string | null;
}

export interface ApiParameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly description: string;
  /** Value of the example; empty without one. */
  readonly example: string;
}

interface OpenApiParameter {
  readonly name: string;
  readonly in: string;
  readonly description?: string;
  readonly example?: unknown;
}

interface OpenApiOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  /** Empty for operations without authentication. */
  readonly security?: readonly unknown[];
  readonly parameters?: readonly OpenApiParameter[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly example?: unknown }>>;
  };
}

interface OpenApiServers {
  readonly servers?: readonly { readonly url: string }[];
}

interface OpenApiDocument extends OpenApiServers {
  readonly paths: Readonly<
    Record<string, OpenApiServers & { readonly get?: OpenApiOperation; readonly post?: OpenApiOperation }>
  >;
}

/** Returns the operations that read and return JSON and need a credential, in the order of the documentation. */
export async function listApiOperations(signal: AbortSignal): Promise<readonly ApiOperation[]> {
  const documents = await Promise.all(
    ['/openapi.json', '/api/openapi.json'].map((path) => getJson<OpenApiDocument>(path, signal)),
  );
  return documents.flatMap(({ servers, paths }) =>
    Object.entries(paths).flatMap(([path, { get, post, servers: ownServers = servers }]) => {
      const fullPath = (ownServers?.[0]?.url ?? '').replace(/\/$/, '') + path;
      return [
        ...(get === undefined ? [] : toOperation('GET', fullPath, get)),
        ...(post === undefined ? [] : toOperation('POST', fullPath, post)),
      ];
    }),
  );
}

/** The same operations have a link in the documentation (`src/http/docs/operations.ts`). */
function toOperation(
  method: ApiOperation['method'],
  path: string,
  { operationId, tags, summary, description, security, requestBody, parameters = [] }: OpenApiOperation,
): readonly ApiOperation[] {
  const example = requestBody?.content['application/json']?.example;
  const tag = tags[0] ?? '';
  if ((example === undefined) === (method === 'POST') || security?.length === 0 || tag === 'mcp') return [];
  return [
    {
      id: operationId.replaceAll('_', '-'),
      tag,
      summary,
      description,
      method,
      path,
      // The query string of a POST request only overrides fields of its body.
      parameters: parameters.flatMap((each) =>
        each.in === 'path' || (each.in === 'query' && method === 'GET') ? [toParameter(each)] : [],
      ),
      example: method === 'GET' ? null : JSON.stringify(example, null, 2),
    },
  ];
}

function toParameter({ name, in: place, description = '', example }: OpenApiParameter): ApiParameter {
  return {
    name,
    in: place === 'path' ? 'path' : 'query',
    description,
    example: example === undefined ? '' : String(example),
  };
}

/** Values of parameters by name. */
export type ParameterValues = Readonly<Record<string, string>>;

/** Returns the path and query string of a request. Empty values of the query string are left out. */
export function toRequestPath(
  { path, parameters }: Pick<ApiOperation, 'path' | 'parameters'>,
  values: ParameterValues,
): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));
  const query = new URLSearchParams();
  for (const { name, in: place } of parameters)
    if (place === 'query' && (values[name] ?? '') !== '') query.set(name, values[name] ?? '');
  return query.size === 0 ? filled : `${filled}?${query}`;
}

export interface ConsoleReply extends JsonReply {
  /** Milliseconds from the click to the reply. */
  readonly ms: number;
}

/**
 * Sends a request in the selected organization: a body, or null for GET. Error replies are replies. Errors: `ApiError`.
 */
export async function tryOperation(path: string, body: string | null): Promise<ConsoleReply> {
  const startedAt = now();
  const reply = await sendJson(path, body, { organizationId: organizationId() });
  return { ...reply, ms: now() - startedAt };
}
