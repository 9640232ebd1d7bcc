import { DocsSite } from '../../src/http/docs/docs-site.ts';
import { docsPolicy } from '../../src/http/docs/page-frame.ts';
import { accountApiInfo, createOpenApiDocument, openApiPath } from '../../src/http/openapi.ts';
import type { Route } from '../../src/http/routes/route.ts';
import { routes } from '../../src/http/routes/routes.ts';
import { createCheck } from '../../src/schemas/typebox.ts';
import t from '../support/tap.ts';
import { startTestHttpServer } from './fake-services.ts';
import { publishedOperations, publishedShapes } from './published-shapes.ts';

type Json = Record<string, unknown>;
interface OpenApiDocument {
  readonly openapi: string;
  readonly info: { readonly version: string };
  readonly paths: Record<string, Record<string, Json>>;
  readonly components: { readonly schemas: Record<string, Json> };
}

const isAccount = (route: Route) => route.kind === 'account';
const retrieval = routes.filter((route) => !isAccount(route));
const openApiDocument = JSON.parse(
  JSON.stringify(createOpenApiDocument(retrieval, '0.1.0')),
) as OpenApiDocument;
const accounts = JSON.parse(
  JSON.stringify(createOpenApiDocument(routes.filter(isAccount), '0.1.0', accountApiInfo)),
) as OpenApiDocument;
const { schemas } = openApiDocument.components;

/** Every value under `key`, at any depth. */
function* valuesOf(key: string, value: unknown): Generator<unknown> {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, each] of Object.entries(value)) {
    if (name === key) yield each;
    yield* valuesOf(key, each);
  }
}

function isNullable(schema: Json): boolean {
  const branches = schema.anyOf as Json[] | undefined;
  return branches === undefined
    ? schema.type === undefined && !('$ref' in schema)
    : branches.some((each) => each.type === 'null');
}

t.test('every published schema exists with the same required fields, nulls and enum values', (t) => {
  for (const [name, fields] of Object.entries(publishedShapes)) {
    const schema = schemas[name];
    t.ok(schema, `${name} is a component`);
    if (!schema) continue;
    if (Array.isArray(schema.enum)) {
      t.same(schema.enum, fields, name);
      continue;
    }
    const properties = schema.properties as Record<string, Json> | undefined;
    const required = (schema.required ?? []) as string[];
    for (const field of fields) {
      const [, fieldName = '', mark, nullable] = /^(\w+)([!?])(0?)$/.exec(field) ?? [];
      const property = properties?.[fieldName];
      t.ok(property, `${name}.${fieldName} exists`);
      t.equal(
        required.includes(fieldName),
        mark === '!',
        `${name}.${fieldName} is ${mark === '!' ? '' : 'not '}required`,
      );
      t.equal(
        isNullable(property ?? {}),
        nullable === '0',
        `${name}.${fieldName} ${nullable ? 'may' : 'may not'} be null`,
      );
    }
    if (name.endsWith('Request')) {
      const published = new Set(
        fields.filter((field) => field.includes('!')).map((field) => field.slice(0, field.indexOf('!'))),
      );
      for (const field of required)
        t.ok(published.has(field), `${name} requires only the published fields: ${field}`);
    }
  }
  t.end();
});

/** Paths whose requests name no collection, so that nothing can be missing (404). */
const withoutCollection = new Set([
  '/usage/models/reranker',
  '/usage/models/embed',
  '/usage/models/counters',
  '/usage/counters',
]);

t.test('all 30 published operations exist with their requests, replies and statuses', (t) => {
  t.equal(publishedOperations.length, 30);
  for (const [method, path, request, reply, statuses] of publishedOperations) {
    const operation = openApiDocument.paths[path]?.[method.toLowerCase()];
    t.ok(operation, `${method} ${path}`);
    if (!operation) continue;
    const responses = operation.responses as Record<string, Json>;
    const success = statuses.find((status) => status < 300);
    for (const status of statuses) {
      if (status === 404 && withoutCollection.has(path)) continue;
      t.ok(responses[status], `${path} answers ${status}`);
    }
    if (request)
      t.ok(
        [...valuesOf('$ref', operation.requestBody)].includes(`#/components/schemas/${request}`),
        `${path} takes ${request}`,
      );
    if (reply) {
      const name = path === '/documents/add-document' ? 'AddDocumentResponse' : reply.replace('[]', '');
      const schema = JSON.stringify(responses[String(success)]);
      t.ok(schema.includes(`#/components/schemas/${name}"`), `${path} answers ${name}`);
      t.equal(
        schema.includes('"type":"array"'),
        reply.endsWith('[]'),
        `${path} answers ${reply.endsWith('[]') ? 'a list' : 'an object'}`,
      );
    }
  }
  t.end();
});

/** Names under which clients know the requests and replies of the account API. */
const accountModels = [
  ['/api/admin/login', 'AdminLoginRequest', 'AdminStatusResponse'],
  ['/api/admin/logout', 'EmptyRequest', 'AdminStatusResponse'],
  ['/api/auth/magic-link/send', 'SendMagicLinkRequest', 'SendMagicLinkResponse'],
  ['/api/billing/subscribe', 'SubscribeRequest', 'SubscribeResponse'],
  ['/api/billing/downgrade', 'DowngradeRequest', 'DowngradeResponse'],
  ['/api/billing/cancel-upgrade', 'CancelUpgradeRequest', 'CancelUpgradeResponse'],
  ['/api/billing/cancel-downgrade', 'CancelDowngradeRequest', 'CancelDowngradeResponse'],
  ['/api/billing/status', 'StatusRequest', 'StatusResponse'],
  ['/api/billing/add-payment-method', 'AddPaymentRequest', 'AddPaymentResponse'],
  ['/api/billing/manage-billing-details', 'ManageBillingDetailsRequest', 'ManageBillingDetailsResponse'],
  ['/api/billing/remove-payment-method', 'RemovePaymentRequest', 'RemovePaymentResponse'],
  ['/api/billing/pause', 'PauseRequest', 'PauseResponse'],
  ['/api/billing/redeem-code', 'RedeemCodeRequest', 'RedeemCodeResponse'],
  ['/api/users/get-user', 'EmptyRequest', 'GetUserResponse'],
  ['/api/users/edit-user', 'EditUserRequest', 'EditUserResponse'],
  ['/api/organizations/add-organization', 'AddOrganizationRequest', 'AddOrganizationResponse'],
  ['/api/organizations/get-info', 'GetOrganizationInfoRequest', 'GetOrganizationInfoResponse'],
  ['/api/organizations/update-organization', 'UpdateOrganizationRequest', 'GenericMessageResponse'],
  ['/api/organizations/delete-organization', 'DeleteOrganizationRequest', 'GenericMessageResponse'],
  ['/api/organizations/users/invite-user', 'InviteUserRequest', 'InviteUserResponse'],
  ['/api/organizations/users/accept-invite', 'AcceptInviteRequest', 'AcceptInviteResponse'],
  ['/api/organizations/users/update-user', 'UpdateUserRequest', 'UpdateUserResponse'],
  ['/api/organizations/users/remove-user', 'RemoveUserRequest', 'RemoveUserResponse'],
  ['/api/organizations/users/delete-invite-user', 'DeleteInviteUserRequest', 'DeleteInviteUserResponse'],
  ['/api/organizations/api-keys/add-api-key', 'AddAPIKeyRequest', 'AddAPIKeyResponse'],
  ['/api/organizations/api-keys/update-api-key', 'UpdateAPIKeyRequest', 'GenericMessageResponse'],
  ['/api/organizations/api-keys/delete-api-key', 'DeleteAPIKeyRequest', 'GenericMessageResponse'],
] as const;

t.test('every operation of the account API uses the published schemas', (t) => {
  for (const [path, request, reply] of accountModels) {
    const { requestBody, responses = {} } = accounts.paths[path]?.post ?? {};
    const [status, success] = Object.entries(responses as Json)[0] ?? [];
    t.equal(status, path.endsWith('/add-api-key') ? '201' : '200', path);
    const names = [requestBody, success].map((part) =>
      [...valuesOf('$ref', part)].map((reference) => String(reference).replace(/^.*\//, '')),
    );
    t.same(names, [[request], [reply]], path);
  }
  t.end();
});

t.test('each document is complete: references resolve, IDs are unique, every schema compiles', (t) => {
  const descriptions = [
    [openApiDocument, retrieval],
    [accounts, routes.filter(isAccount)],
  ] as const;
  for (const [description, described] of descriptions) {
    t.equal(description.openapi, '3.1.0');
    t.equal(description.info.version, '0.1.0');
    for (const reference of valuesOf('$ref', description)) {
      const name = String(reference).replace('#/components/schemas/', '');
      t.ok(description.components.schemas[name], `${reference} resolves`);
    }
    const operations = Object.values(description.paths).flatMap((item) =>
      Object.entries(item).flatMap(([method, operation]) => (method === 'servers' ? [] : [operation])),
    );
    const ids = operations.map((operation) => operation.operationId);
    t.equal(new Set(ids).size, ids.length, 'operation ids are unique');
    t.equal(operations.length, described.length);
    for (const operation of operations) {
      t.ok(
        String(operation.summary).length > 5 && String(operation.description).length > 20,
        `${operation.operationId} is described`,
      );
      t.ok(operation.responses);
    }
    for (const [name, schema] of Object.entries(description.components.schemas))
      t.doesNotThrow(() => createCheck(schema)({}), `${name} compiles`);
    for (const [path, item] of Object.entries(description.paths)) {
      const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      for (const name of names)
        t.ok(
          JSON.stringify(item).includes(`"name":"${name}","in":"path","required":true`),
          `${path} describes ${name}`,
        );
    }
  }
  t.end();
});

t.test('every field of a query is described', (t) => {
  for (const name of ['TopDocumentsRequest', 'TopPagesRequest', 'TopSnippetsRequest'])
    for (const [field, schema] of Object.entries(schemas[name]!.properties as Record<string, Json>))
      t.type(schema.description, 'string', `${name}.${field}`);
  t.end();
});

t.test('every documented example is a valid request', (t) => {
  for (const route of routes) {
    if (route.kind === 'account') t.ok(createCheck(route.request)(route.example), route.operation);
    if (route.kind !== 'json') continue;
    t.ok(createCheck(route.request)(route.example), route.operation);
    t.doesNotThrow(() => route.check(route.example, { metadataBytesMax: () => 65_535 }), route.operation);
  }
  t.end();
});

t.test('the documentation page shows every operation, needs no script and loads nothing', async (t) => {
  const html = new DocsSite(routes).page('');
  for (const route of routes) {
    if (route.kind === 'page' && route.page === 'home') continue;
    t.ok(html.includes(`${route.isVersioned ? '/v1' : ''}${openApiPath(route.path)}</code>`), route.path);
  }
  t.notMatch(html, /<script|\bsrc=|<link|url\(|@import|\son\w+=/i);
  const ids = [...html.matchAll(/ id="([^"]+)"/g)].map((match) => match[1]);
  t.equal(new Set(ids).size, ids.length, 'anchors are unique');
  for (const [, target] of html.matchAll(/href="#([^"]+)"/g))
    t.ok(ids.includes(target), `#${target} has a target`);
  const server = await startTestHttpServer('auto');
  t.teardown(() => server.close(0));
  const reply = await fetch(`${server.url}/docs`);
  t.equal(reply.headers.get('content-security-policy'), docsPolicy);
  t.match(docsPolicy, /^default-src 'none'; style-src 'sha256-/);
  t.equal(await reply.text(), html);
  t.same(await (await fetch(`${server.url}/openapi.json`)).json(), openApiDocument);
  t.same(await (await fetch(`${server.url}/api/openapi.json`)).json(), accounts);
  const get = (headers: Record<string, string>) => fetch(`${server.url}/openapi.json`, { headers });
  const plain = await get({ 'accept-encoding': 'identity' });
  t.equal(plain.headers.get('content-encoding'), null);
  const compressed = await get({ 'accept-encoding': 'br' });
  t.equal(compressed.headers.get('content-encoding'), 'br');
  t.equal(await compressed.text(), await plain.text());
  t.equal((await get({ 'if-none-match': compressed.headers.get('etag')! })).status, 304);
});
