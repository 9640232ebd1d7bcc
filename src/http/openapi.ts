import { type Need, operationNeeds } from '../access/authorise.ts';
import { AddDocumentResponse } from '../schemas/documents.ts';
import { ErrorResponse, HTTPValidationError } from '../schemas/errors.ts';
import type { TSchema } from '../schemas/typebox.ts';
import type { AccountRoute } from './account-route.ts';
import type { JsonRoute, Route } from './routes.ts';

type Json = Record<string, unknown>;

/** What each refusal means wherever it can happen; a route adds its own words. */
const commonRefusals: Readonly<Record<number, string>> = {
  400: 'A value is outside its range; the detail names it.',
  401: 'The API key is missing, malformed, unknown or deleted.',
  403: 'The key may not call this operation.',
  413: 'The body is larger than the limit.',
  422: 'The body does not have the shape of the operation; each fault is listed.',
  429: 'Over a limit; the detail says which, `retry-after` for how long.',
  503: 'Starting, stopping, or out of time; `retry-after` says when to try again.',
};

/** The refusals of one route, common and its own. */
export function refusalsOf(route: Route): ReadonlyMap<number, string> {
  const need: Need = operationNeeds[route.operation];
  const statuses: number[] = [];
  if (route.kind === 'page') return new Map(ownRefusals(route));
  if (need !== 'nothing') statuses.push(401);
  if (need === 'read' || need === 'write') statuses.push(429);
  if (need === 'write' || need === 'administrator' || need === 'person') statuses.push(403);
  if (route.kind === 'file' || route.kind === 'image') statuses.push(422, 503);
  else statuses.push(400, 413, 422, 503);
  const all = new Map(statuses.map((status) => [status, commonRefusals[status] ?? '']));
  for (const [status, words] of ownRefusals(route)) all.set(status, words);
  return new Map([...all].sort(([a], [b]) => a - b));
}

function ownRefusals({ refusals }: Route): [number, string][] {
  return Object.entries(refusals).map(([status, words]) => [Number(status), words ?? '']);
}

/** Words of one description of two: the account side has its own. */
export interface DescriptionWords {
  readonly title: string;
  readonly description: string;
  readonly bearer: string;
  /** What paths are relative to. */
  readonly server: string;
}

export const retrievalWords: DescriptionWords = {
  title: 'Quarry',
  description:
    'Documents in, natural-language questions out. Every address works under `/v1` and without it. A request needs `Authorization: Bearer <API key>` unless it says otherwise.',
  bearer: 'An API key; for `/admin` the administrator key.',
  server: '/v1',
};

export const accountWords: DescriptionWords = {
  title: 'Quarry accounts',
  description:
    'Sign-in, people, organisations, members, API keys. A request needs the session that signing in opened, as `Authorization: Bearer <token>` or as the cookie of a page of this server, unless it says otherwise.',
  bearer: 'The token of a session.',
  server: '/',
};

/** The OpenAPI 3.1 document of a route table. `version` is that of the API, 0.1.0. */
export function openApi(routes: readonly Route[], version: string, words = retrievalWords): Json {
  const components = new Components();
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = openApiPath(route.path);
    paths[path] ??= route.versioned || words.server === '/' ? {} : { servers: [{ url: '/' }] };
    const item = paths[path];
    item[route.method.toLowerCase()] = operation(route, components);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: words.title,
      version,
      description: words.description,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: words.server }],
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: words.bearer,
        },
      },
      schemas: components.schemas,
    },
  };
}

/** `/documents/:collection/*` becomes `/documents/{collection}/{path}`. */
export function openApiPath(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}').replace('*', '{path}');
}

function operation(route: Route, components: Components): Json {
  const responses: Record<string, Json> = { ...successes(route, components) };
  for (const [status, description] of refusalsOf(route)) {
    const schema = components.reference(status === 422 ? HTTPValidationError : ErrorResponse);
    responses[status] = { description, content: { 'application/json': { schema } } };
  }
  const parameters = parametersOf(route);
  const body = requestBody(route, components);
  return {
    operationId: route.kind === 'page' ? `${route.page}_page` : route.operation.replaceAll('-', '_'),
    tags: [route.tag],
    summary: route.summary,
    description: route.description,
    ...(operationNeeds[route.operation] === 'nothing' || route.kind === 'page' ? { security: [] } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body ? { requestBody: body } : {}),
    responses,
  };
}

function successes(route: Route, components: Components): Record<string, Json> {
  const json = (description: string, schema: TSchema) => ({
    description,
    content: { 'application/json': { schema: components.reference(schema) } },
  });
  const bytes = (description: string, type: string) => ({ description, content: { [type]: {} } });
  switch (route.kind) {
    case 'json':
    case 'account':
      return Object.fromEntries(
        route.successes.map((status) => [status, json(successWords(route, status), route.reply)]),
      );
    case 'put':
    case 'multipart':
      return {
        201: json('The document is new.', AddDocumentResponse),
        200: json('The document was replaced.', AddDocumentResponse),
      };
    case 'file':
      return { 200: bytes('The document.', '*/*'), 206: bytes('The range asked for.', '*/*') };
    case 'image':
      return { 200: bytes('The image.', 'image/jpeg') };
    case 'page':
      return route.page === 'home' || route.page === 'dashboard-entry'
        ? { 302: { description: 'Go there.' } }
        : { 200: { description: route.summary } };
  }
}

function successWords(route: JsonRoute | AccountRoute, status: number): string {
  if (route.successes.length === 1) return 'Done.';
  return status === 201 ? 'Something new was made.' : 'Something that existed was changed.';
}

const booleanInQuery = (name: string, description: string) => ({
  name,
  in: 'query',
  required: false,
  description,
  schema: { type: 'boolean', default: false },
});

function parametersOf(route: Route): Json[] {
  switch (route.kind) {
    case 'json':
      return route.queryFields.map((name) => ({
        name,
        in: 'query',
        required: false,
        description: 'Beats the field of the body.',
        schema: { type: 'string' },
      }));
    case 'account':
      return [...fieldParameters(route), ...(route.mayRepeat === true ? [idempotencyParameter] : [])];
    case 'put':
      return [
        { name: 'collection', in: 'path', required: true, schema: { type: 'string' } },
        { name: 'path', in: 'path', required: true, schema: { type: 'string' } },
        booleanInQuery('overwrite', 'Replace a document that exists.'),
        booleanInQuery('wait', 'Answer when the document is indexed or has failed.'),
        {
          name: 'x-quarry-metadata',
          in: 'header',
          required: false,
          description: 'base64url of the metadata as JSON.',
          schema: { type: 'string' },
        },
      ];
    case 'file':
      return [tokenParameter];
    case 'image':
      return [
        tokenParameter,
        {
          name: 'width',
          in: 'query',
          required: false,
          description: 'Pixels that the image should be wide, or a little more.',
          schema: { type: 'integer', minimum: 1, maximum: 2_000 },
        },
      ];
    case 'page':
      return [...openApiPath(route.path).matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
        name,
        in: 'path',
        required: true,
        schema: { type: 'string' },
      }));
    case 'multipart':
      return [];
  }
}

/** Fields that stand in the path, or in the query string. */
function fieldParameters({ request, from, path }: AccountRoute): Json[] {
  if (from !== 'query') return [];
  const { properties, required = [] } = request as { properties: Json; required?: string[] };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: path.includes(`:${name}`) ? 'path' : 'query',
    required: required.includes(name),
    schema,
  }));
}
const idempotencyParameter = {
  name: 'idempotency-key',
  in: 'header',
  required: false,
  description:
    'Chosen by the client: for a day, a request that is sent with it again gets the first reply, if its sender is still allowed to have it, and is not done again. A reply with a secret in it (an API key, an address of the payment provider) is not stored: its repetition gets 409.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};

const tokenParameter = {
  name: 'token',
  in: 'query',
  required: true,
  description: 'The credential.',
  schema: { type: 'string' },
};

function requestBody(route: Route, components: Components): Json | null {
  switch (route.kind) {
    case 'json': {
      const required = Array.isArray((route.request as Json).required);
      const content = { schema: components.reference(route.request), example: route.example };
      return { required, content: { 'application/json': content } };
    }
    case 'account': {
      if (route.from === 'query') return null;
      if (route.from === 'bytes')
        return {
          required: true,
          content: { 'application/json': { schema: components.reference(route.request) } },
        };
      const type = route.from === 'json' ? 'application/json' : 'application/x-www-form-urlencoded';
      const content = { schema: components.reference(route.request), example: route.example };
      return { required: Array.isArray((route.request as Json).required), content: { [type]: content } };
    }
    case 'put':
      return { required: true, content: { '*/*': {} } };
    case 'multipart':
      return { required: true, content: { 'multipart/form-data': { schema: formSchema } } };
    case 'file':
    case 'image':
    case 'page':
      return null;
  }
}

const formSchema = {
  type: 'object',
  required: ['collection_name', 'path', 'file'],
  properties: {
    collection_name: { type: 'string' },
    path: { type: 'string' },
    metadata: { type: 'string', contentMediaType: 'application/json' },
    overwrite: { type: 'string', enum: ['true', 'false'] },
    wait: { type: 'string', enum: ['true', 'false'] },
    file: { type: 'string', contentMediaType: 'application/octet-stream' },
  },
} as const;

/** Collects every schema with a `title` once, and puts references in their places. */
class Components {
  readonly schemas: Record<string, unknown> = {};

  reference(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((each) => this.reference(each));
    if (typeof schema !== 'object' || schema === null) return schema;
    const title = (schema as Json).title;
    if (typeof title !== 'string') return this.#copy(schema as Json);
    if (!(title in this.schemas)) {
      this.schemas[title] = null; // takes the place in the order, before the parts of the schema do
      this.schemas[title] = this.#copy(schema as Json);
    }
    return { $ref: `#/components/schemas/${title}` };
  }

  #copy(schema: Json): Json {
    // Examples and defaults are values, not schemas.
    const kept = new Set(['examples', 'default', 'enum', 'const', 'required']);
    return Object.fromEntries(
      Object.entries(schema).map(([key, value]) => [key, kept.has(key) ? value : this.#part(key, value)]),
    );
  }

  #part(key: string, value: unknown): unknown {
    if (key !== 'properties') return this.reference(value);
    return Object.fromEntries(
      Object.entries(value as Json).map(([name, each]) => [name, this.reference(each)]),
    );
  }
}
