import type { RequiredAccess } from '../auth/authorize.ts';
import { AddDocumentResponse } from '../schemas/documents.ts';
import { ErrorResponse, HTTPValidationError } from '../schemas/errors.ts';
import type { TSchema } from '../schemas/typebox.ts';
import type { AccountRoute } from './routes/account-route.ts';
import type { JsonRoute, Route } from './routes/route.ts';

type JsonObject = Record<string, unknown>;

/** Default description of each error status; a route may override it. */
const commonErrorResponses: Readonly<Record<number, string>> = {
  400: 'A value is out of range. The detail names the value.',
  403: 'The caller is not allowed to call this operation.',
  413: 'The body exceeds the size limit.',
  422: 'The body does not match the schema of the operation. The detail lists each problem.',
  429: 'A limit is exceeded. The detail names the limit; `retry-after` gives the waiting time.',
  503: 'The server is starting or stopping, or the request timed out. `retry-after` gives the waiting time.',
};

const unauthorizedResponses: Readonly<Record<Exclude<RequiredAccess, 'none'>, string>> = {
  read: 'The API key is missing, malformed, unknown, deleted or expired.',
  write: 'The API key is missing, malformed, unknown, deleted or expired.',
  administrator: 'The administrator key or session is missing, malformed, unknown or expired.',
  user: 'The session is missing, malformed, unknown or expired.',
};

/** Returns the error statuses of a route with their descriptions: common ones and its own, by status. */
export function errorResponsesOf(route: Route): ReadonlyMap<number, string> {
  const { access } = route;
  const statuses: number[] = [];
  if (route.kind === 'page') return new Map(routeErrorResponses(route));
  if (access === 'read' || access === 'write') statuses.push(429);
  if (access === 'write' || access === 'administrator' || access === 'user') statuses.push(403);
  if (route.kind === 'file' || route.kind === 'image') statuses.push(422, 503);
  else statuses.push(400, 413, 422, 503);
  const all = new Map(statuses.map((status) => [status, commonErrorResponses[status] ?? '']));
  if (access !== 'none') all.set(401, unauthorizedResponses[access]);
  for (const [status, description] of routeErrorResponses(route)) all.set(status, description);
  return new Map([...all].sort(([a], [b]) => a - b));
}

function routeErrorResponses({ errorResponses }: Route): [number, string][] {
  return Object.entries(errorResponses).map(([status, description]) => [Number(status), description ?? '']);
}

/** Texts of an OpenAPI document; retrieval and account API have one document each. */
export interface OpenApiInfo {
  readonly title: string;
  readonly description: string;
  readonly bearer: string;
  /** Base path of all paths. */
  readonly server: string;
}

export const retrievalApiInfo: OpenApiInfo = {
  title: 'Quarry',
  description:
    'Document retrieval with natural-language queries. Every path works with and without the prefix `/v1`. Requests require `Authorization: Bearer <API key>` unless stated otherwise.',
  bearer: 'An API key, or the administrator key for `/admin`.',
  server: '/v1',
};

export const accountApiInfo: OpenApiInfo = {
  title: 'Quarry accounts',
  description:
    'Sign-in, users, organizations, members and API keys. Requests require a session, as `Authorization: Bearer <token>` or as the session cookie of the dashboard, unless stated otherwise.',
  bearer: 'A session token.',
  server: '/',
};

/** Builds the OpenAPI 3.1 document of a route table. `version` is the API version, such as 0.1.0. */
export function createOpenApiDocument(
  routes: readonly Route[],
  version: string,
  info = retrievalApiInfo,
): JsonObject {
  const components = new ComponentRegistry();
  const paths: Record<string, JsonObject> = {};
  for (const route of routes) {
    const path = openApiPath(route.path);
    paths[path] ??= route.isVersioned || info.server === '/' ? {} : { servers: [{ url: '/' }] };
    const item = paths[path];
    item[route.method.toLowerCase()] = describeOperation(route, components);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: info.title,
      version,
      description: info.description,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: info.server }],
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: info.bearer,
        },
      },
      schemas: components.schemas,
    },
  };
}

/** Converts `/documents/:collection/*` to `/documents/{collection}/{path}`. */
export function openApiPath(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}').replace('*', '{path}');
}

function describeOperation(route: Route, components: ComponentRegistry): JsonObject {
  const responses: Record<string, JsonObject> = { ...describeSuccesses(route, components) };
  for (const [status, description] of errorResponsesOf(route)) {
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
    ...(route.access === 'none' || route.kind === 'page' ? { security: [] } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body ? { requestBody: body } : {}),
    responses,
  };
}

function describeSuccesses(route: Route, components: ComponentRegistry): Record<string, JsonObject> {
  const json = (description: string, schema: TSchema) => ({
    description,
    content: { 'application/json': { schema: components.reference(schema) } },
  });
  const bytes = (description: string, type: string) => ({ description, content: { [type]: {} } });
  switch (route.kind) {
    case 'json':
    case 'account':
      return Object.fromEntries(
        route.successStatuses.map((status) => [
          status,
          json(describeSuccessStatus(route, status), route.reply),
        ]),
      );
    case 'put':
    case 'multipart':
      return {
        201: json('The document is new.', AddDocumentResponse),
        200: json('The document was replaced.', AddDocumentResponse),
      };
    case 'mcp':
      return { 200: bytes('The reply.', 'application/json'), 202: { description: 'Received.' } };
    case 'file':
      return { 200: bytes('The document.', '*/*'), 206: bytes('The requested range.', '*/*') };
    case 'image':
      return { 200: bytes('The image.', 'image/jpeg') };
    case 'page':
      return route.page === 'home' || route.page === 'dashboard-entry'
        ? { 302: { description: 'Redirect.' } }
        : { 200: { description: route.summary } };
  }
}

function describeSuccessStatus(route: JsonRoute | AccountRoute, status: number): string {
  if (route.successStatuses.length === 1) return 'Success.';
  return status === 201 ? 'Created.' : 'Changed.';
}

const booleanQueryParameter = (name: string, description: string) => ({
  name,
  in: 'query',
  required: false,
  description,
  schema: { type: 'boolean', default: false },
});

function describeQueryField({ properties }: JsonObject, name: string): JsonObject {
  const { description, ...schema } = (properties as Readonly<Record<string, JsonObject>>)[name]!;
  return { description, schema };
}

/** Values in the path, the query string and the headers of an operation. */
export function parametersOf(route: Route): JsonObject[] {
  switch (route.kind) {
    case 'json':
      return [
        ...pathParameters(route),
        ...route.queryFields.map((name) => ({
          name,
          in: 'query',
          required: false,
          ...(route.method === 'GET'
            ? { ...describeQueryField(route.request as JsonObject, name), ...exampleOf(route, name) }
            : { description: 'Overrides the field of the body.', schema: { type: 'string' } }),
        })),
      ];
    case 'account':
      return [...fieldParameters(route), ...(route.isIdempotent === true ? [idempotencyParameter] : [])];
    case 'put':
      return [
        { name: 'collection', in: 'path', required: true, schema: { type: 'string' } },
        { name: 'path', in: 'path', required: true, schema: { type: 'string' } },
        booleanQueryParameter('overwrite', 'Replace an existing document.'),
        booleanQueryParameter(
          'wait',
          'Reply when the document is indexed or has failed, or after 50 seconds.',
        ),
        {
          name: 'x-quarry-metadata',
          in: 'header',
          required: false,
          description: 'The metadata as base64url-encoded JSON.',
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
          description: 'Minimum width of the image in pixels; rounded up to the next available width.',
          schema: { type: 'integer', minimum: 1, maximum: 2_000 },
        },
      ];
    case 'page':
      return pathParameters(route);
    case 'multipart':
    case 'mcp':
      return [];
  }
}

/** Fields of the example that are in the body or the query string. */
export function fieldsOutsidePath({ example, path }: JsonRoute | AccountRoute): [string, unknown][] {
  const fields = Object.entries(example as Record<string, unknown>);
  return fields.filter(([name]) => !path.includes(`:${name}`));
}

/** Returns the schema of the body; the schema itself if the path has no parameters. */
function withoutPathFields(schema: JsonObject, path: string): JsonObject {
  if (!path.includes(':')) return schema;
  const { properties, required = [] } = schema as { properties: JsonObject; required?: string[] };
  const isInBody = (name: string) => !path.includes(`:${name}`);
  return {
    ...schema,
    properties: Object.fromEntries(Object.entries(properties).filter(([name]) => isInBody(name))),
    required: required.filter(isInBody),
  };
}

function pathParameters(route: Route): JsonObject[] {
  return [...openApiPath(route.path).matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
    ...exampleOf(route, name),
  }));
}

/** The value of a parameter in the example of the operation. */
function exampleOf(route: Route, name: string): JsonObject {
  const example: unknown = route.kind === 'json' ? route.example : null;
  if (typeof example !== 'object' || example === null || !Object.hasOwn(example, name)) return {};
  return { example: (example as JsonObject)[name] };
}

/** Fields in the path or the query string. */
function fieldParameters({ request, inputSource: from, path }: AccountRoute): JsonObject[] {
  if (from !== 'query') return [];
  const { properties, required = [] } = request as { properties: JsonObject; required?: string[] };
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
    'Chosen by the client. For 24 hours, a repeated request with the same key returns the first reply without executing the operation again, if the caller is still authorized. Replies that contain a secret (an API key, a URL of the payment provider) are not stored; repeating such a request returns 409.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};

const tokenParameter = {
  name: 'token',
  in: 'query',
  required: true,
  description: 'The credential.',
  schema: { type: 'string' },
};

function requestBody(route: Route, components: ComponentRegistry): JsonObject | null {
  switch (route.kind) {
    case 'json': {
      if (route.method === 'GET') return null;
      const schema = withoutPathFields(route.request as JsonObject, route.path);
      const required = Array.isArray(schema.required) && schema.required.length > 0;
      const example = Object.fromEntries(fieldsOutsidePath(route));
      const content = { schema: components.reference(schema), example };
      return { required, content: { 'application/json': content } };
    }
    case 'account': {
      if (route.inputSource === 'query') return null;
      if (route.inputSource === 'bytes')
        return {
          required: true,
          content: { 'application/json': { schema: components.reference(route.request) } },
        };
      const type = route.inputSource === 'json' ? 'application/json' : 'application/x-www-form-urlencoded';
      const content = { schema: components.reference(route.request), example: route.example };
      return {
        required: Array.isArray((route.request as JsonObject).required),
        content: { [type]: content },
      };
    }
    case 'mcp':
      return {
        required: true,
        content: { 'application/json': { schema: { type: 'object' }, example: route.example } },
      };
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

/** Collects every schema with a `title` once and replaces it with a reference. */
class ComponentRegistry {
  readonly schemas: Record<string, unknown> = {};

  reference(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((each) => this.reference(each));
    if (typeof schema !== 'object' || schema === null) return schema;
    const title = (schema as JsonObject).title;
    if (typeof title !== 'string') return this.#copy(schema as JsonObject);
    if (!(title in this.schemas)) {
      this.schemas[title] = null; // reserves the position before nested schemas are added
      this.schemas[title] = this.#copy(schema as JsonObject);
    }
    return { $ref: `#/components/schemas/${title}` };
  }

  #copy(schema: JsonObject): JsonObject {
    // Examples and defaults are values, not schemas.
    const literalKeywords = new Set(['examples', 'default', 'enum', 'const', 'required']);
    return Object.fromEntries(
      Object.entries(schema).map(([key, value]) => [
        key,
        literalKeywords.has(key) ? value : this.#copyPart(key, value),
      ]),
    );
  }

  #copyPart(key: string, value: unknown): unknown {
    if (key !== 'properties') return this.reference(value);
    return Object.fromEntries(
      Object.entries(value as JsonObject).map(([name, each]) => [name, this.reference(each)]),
    );
  }
}
