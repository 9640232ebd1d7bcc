import { createOpenApiDocument, openApiPath } from '../../src/http/openapi.ts';
import type { Route } from '../../src/http/routes/route.ts';
import { routes } from '../../src/http/routes/routes.ts';
import {
  type DocumentSchema,
  docComment,
  referencesIn,
  type SchemaPrinter,
  schemaPrinter,
} from './schema-types.ts';

/**
 * Source of the generated files of `packages/client`: the types of all schemas of `/openapi.json`, and one class per tag
 * with one method per operation.
 */

const notice =
  '// Generated from the OpenAPI document. `CLIENT_SOURCE=write node dist/test/packages/generated-client.test.js` updates it.';

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: DocumentSchema }>> };
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema?: DocumentSchema }>> }>
  >;
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: DocumentSchema;
}

interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, DocumentSchema>> };
}

/** Operation of the document with its method of the client. */
export interface ClientMethod {
  /** Property of the client: `documents`. */
  readonly group: string;
  readonly name: string;
  readonly httpMethod: string;
  /** With the prefix, and with parameters in braces. */
  readonly path: string;
  readonly route: Route;
  readonly operation: Operation;
}

export const clientDocument = createOpenApiDocument(
  routes.filter((route) => route.kind !== 'account'),
  '0.1.0',
) as unknown as OpenApiDocument;

/** Routes of the document that are not methods: pages for browsers and probes, and a protocol with its own clients. */
export function isClientMethod(route: Route): boolean {
  return route.kind !== 'account' && route.kind !== 'page' && route.kind !== 'mcp';
}

export const clientMethods: readonly ClientMethod[] = routes.filter(isClientMethod).map((route) => {
  const path = openApiPath(route.path);
  const operation = clientDocument.paths[path]![route.method.toLowerCase()]!;
  const group = camelCase(route.tag);
  return {
    group,
    name: methodName(operation.operationId, route.tag),
    httpMethod: route.method,
    path: route.isVersioned ? `/v1${path}` : path,
    route,
    operation,
  };
});

/** Operations with another body than JSON are functions of `uploads.ts`, which also has the types of their requests. */
const uploads: ReadonlySet<string> = new Set(['putDocument', 'uploadDocument']);

/** packages/client/src/generated/schemas.ts */
export function schemasSource(): string {
  const { schemas } = clientDocument.components;
  const printer = clientPrinter();
  const lines = [notice, ''];
  for (const [name, schema] of Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1)))
    lines.push(...docComment(schema.description ?? '', ''), printer.declaration(name, schema), '');
  return lines.join('\n');
}

/** packages/client/src/generated/operations.ts */
export function operationsSource(): string {
  const groups = [...new Set(clientMethods.map(({ group }) => group))];
  const printer = clientPrinter();
  const classes = groups.map((group) =>
    classSource(
      className(group),
      clientMethods.filter((method) => method.group === group),
      printer,
    ),
  );
  const names = new Set(clientMethods.flatMap(({ operation }) => referencesIn(signatureSchemas(operation))));
  const lines = [
    notice,
    '',
    'import type {',
    ...[...names].sort().map((name) => `  ${name},`),
    "} from './schemas.ts';",
    "import { type CallOptions, encodeSegment, type Transport } from '../transport.ts';",
    "import { type PutDocumentRequest, putDocument, type UploadDocumentRequest, uploadDocument } from '../uploads.ts';",
    '',
    ...classes,
    '/** The operations of the server, grouped by tag. */',
    'export class Operations {',
    ...groups.map((group) => `  readonly ${group}: ${className(group)};`),
    '',
    '  constructor(transport: Transport) {',
    ...groups.map((group) => `    this.${group} = new ${className(group)}(transport);`),
    '  }',
    '}',
    '',
  ];
  return lines.join('\n');
}

/** Types of requests are read-only, so that callers may pass constants; types of replies are not. */
function clientPrinter(): SchemaPrinter {
  const { schemas } = clientDocument.components;
  const reply = new Set<string>();
  const add = (name: string) => {
    if (reply.has(name)) return;
    reply.add(name);
    for (const other of referencesIn(schemas[name])) add(other);
  };
  for (const { operation } of clientMethods) for (const name of referencesIn(operation.responses)) add(name);
  return schemaPrinter((name) => !reply.has(name));
}

/** Schemas that the signature of a method names. */
function signatureSchemas({ operationId, requestBody, parameters, responses }: Operation): unknown {
  const replies = Object.entries(responses).filter(([status]) => status < '300');
  return uploads.has(camelCase(operationId)) ? replies : [requestBody, parameters, replies];
}

function classSource(name: string, methods: readonly ClientMethod[], printer: SchemaPrinter): string {
  return [
    `export class ${name} {`,
    '  readonly #transport: Transport;',
    '',
    '  constructor(transport: Transport) {',
    '    this.#transport = transport;',
    '  }',
    ...methods.flatMap((method) => ['', ...methodSource(method, printer)]),
    '}',
    '',
  ].join('\n');
}

function methodSource(method: ClientMethod, printer: SchemaPrinter): string[] {
  const { name, httpMethod, path, operation, route } = method;
  const { summary, description } = operation;
  const comment = docComment(`${summary}: \`${httpMethod} ${path}\`. ${description}`, '  ');
  if (uploads.has(name)) {
    const type = `${name.charAt(0).toUpperCase()}${name.slice(1)}Request`;
    return [
      ...comment,
      `  ${name}(request: ${type}, options?: CallOptions): Promise<AddDocumentResponse> {`,
      `    return ${name}(this.#transport, request, options);`,
      '  }',
    ];
  }
  const body = operation.requestBody?.content['application/json']?.schema;
  const bodyFields = body === undefined ? [] : Object.keys(resolve(body).properties ?? {});
  const parameters = (operation.parameters ?? []).filter((parameter) => !bodyFields.includes(parameter.name));
  const request = requestType(body, parameters, printer);
  const reply = Object.entries(operation.responses).find(([status]) => status < '300')?.[1].content;
  const schema = reply?.['application/json']?.schema;
  const fields = [
    `method: '${httpMethod}'`,
    `path: ${pathSource(path)}`,
    ...querySource(parameters),
    ...(body === undefined ? [] : [`json: ${parameters.length === 0 ? 'request' : 'body'}`]),
    `isRead: ${route.access === 'read' || httpMethod === 'GET'}`,
  ];
  const [call, result] = schema === undefined ? ['open', 'Response'] : ['call', printer.type(schema, '  ')];
  return [
    ...comment,
    // An error of a value in the path rejects, like all others.
    `  ${path.includes('{') ? 'async ' : ''}${name}(${[...request, 'options?: CallOptions'].join(', ')}): Promise<${result}> {`,
    ...destructuring(body, parameters),
    `    return this.#transport.${call}(`,
    `      { ${fields.join(', ')} },`,
    '      options,',
    '    );',
    '  }',
  ];
}

/** Parameter `request`, absent if the operation has none. */
function requestType(
  body: DocumentSchema | undefined,
  parameters: readonly Parameter[],
  printer: SchemaPrinter,
): string[] {
  const properties = Object.fromEntries(
    parameters.map(({ name, schema, description }) => [
      name,
      { ...schema, ...(description === undefined ? {} : { description }) },
    ]),
  );
  const required = parameters.filter((parameter) => parameter.required).map(({ name }) => name);
  const own = parameters.length === 0 ? [] : [printer.type({ type: 'object', properties, required }, '  ')];
  const types = [...(body === undefined ? [] : [printer.type(body, '  ')]), ...own];
  if (types.length === 0) return [];
  const isOptional = required.length === 0 && (body === undefined || !resolve(body).required?.length);
  return [`request: ${types.join(' & ')}${isOptional ? ' = {}' : ''}`];
}

/** Separates the parameters of the path and the query string from the body. */
function destructuring(body: DocumentSchema | undefined, parameters: readonly Parameter[]): string[] {
  if (parameters.length === 0) return [];
  const names = parameters.map(({ name }) => name);
  return [`    const { ${[...names, ...(body === undefined ? [] : ['...body'])].join(', ')} } = request;`];
}

function pathSource(path: string): string {
  if (!path.includes('{')) return `'${path}'`;
  return `\`${path.replace(/\{(\w+)\}/g, (_, name: string) => `\${encodeSegment(${name})}`)}\``;
}

function querySource(parameters: readonly Parameter[]): string[] {
  const names = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
  return names.length === 0 ? [] : [`query: { ${names.join(', ')} }`];
}

/** Follows the reference of a schema. */
function resolve(schema: DocumentSchema): DocumentSchema {
  const name = schema.$ref?.replace(/^.*\//, '');
  return name === undefined ? schema : clientDocument.components.schemas[name]!;
}

/** `usage_documents` of the tag `usage` -> `documents`; `add_document` -> `addDocument`. */
function methodName(operationId: string, tag: string): string {
  return camelCase(operationId.replace(new RegExp(`^${tag}_`), ''));
}

function className(group: string): string {
  return `${group.charAt(0).toUpperCase()}${group.slice(1)}Api`;
}

function camelCase(name: string): string {
  return name.replace(/[-_](\w)/g, (_, letter: string) => letter.toUpperCase());
}
