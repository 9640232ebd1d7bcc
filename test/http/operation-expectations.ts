import { randomUUID } from 'node:crypto';
import { billingExpectations } from './billing-expectations.ts';
import {
  administratorAccess,
  publicAccess,
  readAccess,
  sameOriginAccess,
  userAccess,
  writeAccess,
} from './expected-statuses.ts';
import type { OperationExpectation } from './operation-expectation.ts';
import {
  allTime,
  formPart,
  formType,
  freshCollection,
  freshDocument,
  freshInvitation,
  freshKey,
  freshOrganization,
  freshUser,
  inCollection,
  inOrganization,
  newText,
  ofDocument,
  ofKey,
  ofUser,
  usageOfCollection,
  withBody,
} from './operation-inputs.ts';
import { sourceExpectations } from './source-expectations.ts';
import { webhookExpectations } from './webhook-expectations.ts';

/** Status of every operation for every kind of caller. */

export const expectations: Readonly<Record<string, OperationExpectation>> = {
  'add-collection': {
    expected: { ...writeAccess(201, 201), restricted: 403 },
    buildInput: (_names, fresh) => ({ body: { collection_name: fresh } }),
  },
  'delete-collection': {
    expected: { ...writeAccess(200), filtered: 403 },
    buildInput: inCollection(),
    prepare: freshCollection,
  },
  'update-collection': { expected: { ...writeAccess(200), filtered: 403 }, buildInput: inCollection() },
  'change-model': {
    expected: { ...writeAccess(409), filtered: 403 },
    buildInput: inCollection({ embedding_model: 'zembed-1' }),
  },
  'get-collection-info': { expected: readAccess(200), buildInput: inCollection() },
  'export-documents': { expected: readAccess(200), buildInput: inCollection({ limit: 1 }) },
  'rename-collection': {
    expected: { ...writeAccess(200), restricted: 403, filtered: 403 },
    buildInput: ({ collection_name }, fresh) => ({
      body: { collection_name, new_collection_name: `renamed-${fresh}` },
    }),
    prepare: freshCollection,
  },
  'clone-collection': {
    expected: { ...writeAccess(200), restricted: 403, filtered: 403 },
    buildInput: ({ collection_name }, fresh) => ({
      body: { collection_name, new_collection_name: `clone-${fresh}` },
    }),
  },
  'add-alias': {
    expected: { ...writeAccess(201), restricted: 403, filtered: 403 },
    buildInput: ({ collection_name }, fresh) => ({ body: { alias_name: `alias-${fresh}`, collection_name } }),
  },
  'update-aliases': {
    expected: { ...writeAccess(200), restricted: 403, filtered: 403 },
    buildInput: ({ collection_name }, fresh) => ({
      body: { changes: [{ alias_name: `alias-${fresh}`, collection_name }] },
    }),
  },
  'delete-alias': {
    expected: { ...writeAccess(404), restricted: 403, filtered: 403 },
    buildInput: (_names, fresh) => ({ body: { alias_name: `alias-${fresh}` } }),
  },
  'get-alias-list': { expected: readAccess(200, 200), buildInput: withBody() },
  'get-changes': { expected: readAccess(200, 200), buildInput: withBody() },
  'stream-changes': { expected: readAccess(200, 200), buildInput: () => ({}) },
  ...sourceExpectations,
  ...webhookExpectations,
  'get-collection-list': { expected: readAccess(200, 200), buildInput: withBody() },
  'add-document': {
    expected: { ...writeAccess(201), filtered: 403 },
    buildInput: ({ collection_name }, fresh) => ({
      body: { collection_name, path: fresh, content: newText },
    }),
  },
  'add-documents': {
    expected: writeAccess(200),
    buildInput: ({ collection_name }, fresh) => ({
      body: { collection_name, documents: [{ path: fresh, content: newText }] },
    }),
  },
  'put-document': {
    expected: { ...writeAccess(201), filtered: 403 },
    buildInput: ({ collection_name }, fresh) => ({
      parts: { collection: collection_name, '*': fresh },
      type: 'text/plain',
      body: 'New.',
    }),
  },
  'upload-document': {
    expected: { ...writeAccess(201), filtered: 403 },
    buildInput: ({ collection_name }, fresh) => ({
      type: 'multipart/form-data; boundary=b',
      body: [
        formPart('collection_name', collection_name),
        formPart('path', fresh),
        formPart('file', 'New.', '; filename="new.txt"'),
        '--b--\r\n',
      ].join(''),
    }),
  },
  'update-document': { expected: { ...writeAccess(200), filtered: 404 }, buildInput: ofDocument() },
  'delete-document': {
    expected: { ...writeAccess(200), filtered: 404 },
    buildInput: ofDocument(),
    prepare: freshDocument,
  },
  'delete-documents': {
    expected: writeAccess(200),
    buildInput: inCollection({ path_prefix: 'no-such-folder/' }),
  },
  'update-documents': {
    expected: writeAccess(200),
    buildInput: inCollection({ path_prefix: 'no-such-folder/', metadata_patch: { a: 'b' } }),
  },
  'get-document-info': {
    expected: { ...readAccess(200), filtered: 404 },
    buildInput: ofDocument({ include_content: true }),
  },
  'get-document-info-list': { expected: readAccess(200), buildInput: inCollection() },
  'get-page-info': {
    expected: { ...readAccess(200), filtered: 404 },
    buildInput: ofDocument({ page_index: 0, include_content: true }),
  },
  'get-document-text': { expected: { ...readAccess(200), filtered: 404 }, buildInput: ofDocument() },
  'get-document': {
    expected: publicAccess(200),
    buildInput: (_names, _fresh, { fileToken }) => ({ query: `token=${fileToken}` }),
  },
  'get-page-image': {
    expected: publicAccess(404),
    buildInput: (_names, _fresh, { fileToken }) => ({ query: `token=${fileToken}` }),
  },
  'get-status': { expected: readAccess(200), buildInput: inCollection() },
  'top-documents': { expected: readAccess(200), buildInput: inCollection({ query: 'granite', k: 3 }) },
  'top-pages': { expected: readAccess(200), buildInput: inCollection({ query: 'granite', k: 3 }) },
  'top-snippets': {
    expected: readAccess(200),
    buildInput: inCollection({ query: 'granite', k: 3, explain: true }),
  },
  'get-model-list': { expected: readAccess(200, 200), buildInput: withBody() },
  embed: {
    expected: readAccess(200, 200),
    buildInput: withBody({ model: 'zembed-1', input_type: 'query', input: 'granite' }),
  },
  rerank: {
    expected: readAccess(200, 200),
    buildInput: withBody({ model: 'zerank-1', query: 'a', documents: ['b'] }),
  },
  embeddings: {
    expected: readAccess(200, 200),
    buildInput: withBody({ model: 'zembed-1', input: 'granite' }),
  },
  'cohere-rerank': {
    expected: readAccess(200, 200),
    buildInput: withBody({ model: 'zerank-1', query: 'a', documents: ['b'] }),
  },
  'cohere-rerank-v2': {
    expected: readAccess(200, 200),
    buildInput: withBody({ model: 'zerank-1', query: 'a', documents: ['b'] }),
  },
  mcp: {
    expected: readAccess(200, 200),
    buildInput: withBody({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  },
  'cohere-embed': {
    expected: readAccess(200, 200),
    buildInput: withBody({ model: 'zembed-1', input_type: 'search_query', texts: ['granite'] }),
  },
  'list-openai-models': { expected: readAccess(200, 200), buildInput: () => ({}) },
  'get-openai-model': {
    expected: readAccess(200, 200),
    buildInput: () => ({ parts: { model: 'zembed-1' } }),
  },
  'search-vector-store': {
    expected: readAccess(200),
    buildInput: ({ collection_name }) => ({
      parts: { vector_store_id: collection_name },
      body: { query: 'granite' },
    }),
  },
  'parse-document': { expected: readAccess(200, 200), buildInput: withBody({ base64_data: 'eA==' }) },
  'usage-documents': { expected: { ...readAccess(200), filtered: 403 }, buildInput: usageOfCollection },
  'usage-queries': { expected: { ...readAccess(200), filtered: 403 }, buildInput: usageOfCollection },
  'usage-reranker': {
    expected: { ...readAccess(200, 200), restricted: 403, filtered: 403 },
    buildInput: withBody(allTime),
  },
  'usage-embed': {
    expected: { ...readAccess(200, 200), restricted: 403, filtered: 403 },
    buildInput: withBody(allTime),
  },
  'usage-models-counters': {
    expected: { ...readAccess(200, 200), restricted: 403, filtered: 403 },
    buildInput: withBody(),
  },
  'usage-counters': { expected: { ...readAccess(200, 200), filtered: 403 }, buildInput: withBody() },

  'create-organization': {
    expected: administratorAccess(201),
    buildInput: () => ({ body: { organization_id: randomUUID() } }),
  },
  'list-organizations': { expected: administratorAccess(200), buildInput: withBody() },
  'get-organization': { expected: administratorAccess(200), buildInput: inOrganization() },
  'update-organization': { expected: administratorAccess(200), buildInput: inOrganization({ zdr: false }) },
  'add-api-key': {
    expected: administratorAccess(201),
    buildInput: inOrganization({ name: 'New', permission: 'all' }),
  },
  'list-api-keys': { expected: administratorAccess(200), buildInput: inOrganization() },
  'update-api-key': { expected: administratorAccess(200), buildInput: ofKey({ name: 'Renamed' }) },
  'delete-api-key': { expected: administratorAccess(200), buildInput: ofKey(), prepare: freshKey },
  'delete-any-organization': {
    expected: administratorAccess(200),
    buildInput: inOrganization(),
    prepare: freshOrganization,
  },
  'inspect-organization': { expected: administratorAccess(200), buildInput: inOrganization() },
  'create-backup': { expected: administratorAccess(400), buildInput: withBody() },
  'get-backup-status': { expected: administratorAccess(200), buildInput: withBody() },
  'get-health': { expected: administratorAccess(200), buildInput: withBody() },
  'get-settings': { expected: administratorAccess(200), buildInput: withBody() },
  'get-log-lines': { expected: administratorAccess(200), buildInput: withBody() },
  'list-users': { expected: administratorAccess(200), buildInput: withBody() },
  'end-user-sessions': { expected: administratorAccess(200), buildInput: ofUser, prepare: freshUser },
  'disable-user': { expected: administratorAccess(200), buildInput: ofUser, prepare: freshUser },
  'enable-user': { expected: administratorAccess(200), buildInput: ofUser, prepare: freshUser },
  'delete-user': { expected: administratorAccess(200), buildInput: ofUser, prepare: freshUser },
  'reset-second-factor': { expected: administratorAccess(200), buildInput: ofUser, prepare: freshUser },
  'create-password-link': { expected: administratorAccess(200), buildInput: ofUser, prepare: freshUser },
  'get-administrator-second-factor': { expected: administratorAccess(200), buildInput: withBody() },
  'begin-administrator-second-factor': { expected: administratorAccess(200), buildInput: withBody() },
  'confirm-administrator-second-factor': {
    expected: administratorAccess(400),
    buildInput: withBody({ code: 'x' }),
  },
  'disable-administrator-second-factor': {
    expected: administratorAccess(400),
    buildInput: withBody({ code: 'x' }),
  },
  'get-any-audit-log': { expected: administratorAccess(200), buildInput: inOrganization() },

  'get-sign-in-options': { expected: publicAccess(200), buildInput: () => ({}) },
  'admin-login': {
    expected: sameOriginAccess(200),
    buildInput: (_names, _fresh, { password }) => ({ body: { password } }),
  },
  'send-magic-link': {
    expected: sameOriginAccess(200),
    buildInput: (_names, fresh) => ({ body: { email: `${fresh}@example.com` } }),
  },
  'verify-magic-link': {
    expected: publicAccess(400),
    buildInput: () => ({ query: `token=${'x'.repeat(43)}` }),
  },
  'confirm-magic-link': {
    expected: publicAccess(400),
    buildInput: () => ({ type: formType, body: `token=${'x'.repeat(43)}&confirmation=x` }),
  },
  'begin-provider-login': {
    expected: publicAccess(503),
    buildInput: () => ({ parts: { provider: 'google' } }),
  },
  'finish-provider-login': {
    expected: publicAccess(503),
    buildInput: () => ({ parts: { provider: 'google' }, query: 'state=x&code=x' }),
  },
  'finish-second-factor': { expected: sameOriginAccess(400), buildInput: withBody({ code: '123456' }) },
  'password-sign-in': {
    expected: sameOriginAccess(401),
    buildInput: (_names, fresh) => ({ body: { email: `${fresh}@example.com`, password: 'x' } }),
  },
  'password-join': {
    expected: sameOriginAccess(404),
    buildInput: withBody({ invite_code: 'x', password: 'x' }),
  },
  'password-reset': { expected: sameOriginAccess(400), buildInput: withBody({ token: 'x', password: 'x' }) },
  'login-link': { expected: sameOriginAccess(401), buildInput: withBody({ proof: 'x'.repeat(43) }) },

  'get-user': { expected: userAccess(200, 200, 200, 200), buildInput: withBody() },
  'edit-user': { expected: userAccess(200, 200, 200, 200), buildInput: withBody({ company: 'Any' }) },
  'delete-own-user': {
    expected: userAccess(400, 400, 400, 400),
    buildInput: withBody({ confirm_email: 'somebody.else@example.com' }),
  },
  'get-second-factor': { expected: userAccess(200, 200, 200, 200), buildInput: withBody() },
  'begin-second-factor': { expected: userAccess(200, 200, 200, 200), buildInput: withBody() },
  'confirm-second-factor': { expected: userAccess(400, 400, 400, 400), buildInput: withBody({ code: 'x' }) },
  'disable-second-factor': { expected: userAccess(400, 400, 400, 400), buildInput: withBody({ code: 'x' }) },
  'set-password': { expected: userAccess(400, 400, 400, 400), buildInput: withBody({ password: 'x' }) },
  'list-sessions': { expected: userAccess(200, 200, 200, 200), buildInput: withBody() },
  'revoke-session': {
    expected: userAccess(404, 404, 404, 404),
    buildInput: ({ owner_id: session_id }) => ({ body: { session_id } }),
  },
  'add-organization': { expected: userAccess(200, 200, 200, 200), buildInput: withBody({ name: 'Another' }) },
  'get-organization-info': { expected: userAccess(200, 200, 200, 404), buildInput: inOrganization() },
  'rename-organization': {
    expected: userAccess(200, 403, 403, 404),
    buildInput: inOrganization({ name: 'North Secret Ltd' }),
  },
  'delete-organization': {
    expected: userAccess(400, 403, 403, 404),
    buildInput: inOrganization({ confirm_name: 'another name' }),
  },
  'get-audit-log': { expected: userAccess(200, 403, 403, 404), buildInput: inOrganization() },
  'invite-user': {
    expected: userAccess(200, 200, 200, 404),
    buildInput: ({ organization_id }, fresh) => ({
      body: { organization_id, email: `${fresh}@example.com` },
    }),
  },
  'accept-invite': {
    expected: userAccess(404, 404, 404, 404),
    buildInput: withBody({ invite_code: 'a.b.c' }),
  },
  'update-user': {
    expected: userAccess(200, 403, 403, 404),
    buildInput: ({ organization_id, member_id: user_id }) => ({
      body: { organization_id, user_id, permission: 'MEMBER' },
    }),
  },
  'remove-user': {
    expected: userAccess(400, 403, 403, 404),
    buildInput: ({ organization_id, owner_id: user_id }) => ({ body: { organization_id, user_id } }),
  },
  'delete-invite-user': {
    expected: userAccess(200, 403, 403, 404),
    buildInput: ({ organization_id, email }) => ({ body: { organization_id, email } }),
    prepare: freshInvitation,
  },
  'add-organization-api-key': {
    expected: userAccess(201, 201, 403, 404),
    buildInput: inOrganization({ name: 'New', permission: 'read_only' }),
  },
  'update-organization-api-key': {
    expected: userAccess(200, 200, 403, 404),
    buildInput: ofKey({ name: 'Renamed' }),
  },
  'delete-organization-api-key': {
    expected: userAccess(200, 200, 403, 404),
    buildInput: ofKey(),
    prepare: freshKey,
  },
  ...billingExpectations,

  healthz: { expected: publicAccess(200), buildInput: () => ({}) },
  readyz: { expected: publicAccess(200), buildInput: () => ({}) },
  // The requests of this test pass through a proxy, so none of them counts as local.
  metrics: { expected: administratorAccess(200), buildInput: () => ({}) },
  openapi: { expected: publicAccess(200), buildInput: () => ({}) },
  'account-openapi': { expected: publicAccess(200), buildInput: () => ({}) },
  docs: { expected: publicAccess(200), buildInput: () => ({}) },
  dashboard: { expected: publicAccess(200), buildInput: () => ({}) },
  asset: { expected: publicAccess(404), buildInput: () => ({ parts: { file_path: 'nothing.js' } }) },
};

/** These operations end the session of the caller, so they run last; cross-site requests must be rejected. */
export const sessionEndingOperations: Readonly<Record<string, OperationExpectation>> = {
  'admin-logout': { expected: sameOriginAccess(200), buildInput: withBody() },
  logout: { expected: sameOriginAccess(200), buildInput: withBody() },
};
