import t from 'tap';
import { authorise, type Operation, operationNeeds } from '../../src/access/authorise.ts';
import type { Principal } from '../../src/schemas/principal.ts';

const ids = { organizationId: 'o', keyId: 'k', zdr: false };
const callers: Readonly<Record<string, Principal | null>> = {
  nobody: null,
  readOnly: { kind: 'organisation', permission: 'read_only', ...ids },
  all: { kind: 'organisation', permission: 'all', ...ids },
  administrator: { kind: 'administrator' },
  person: { kind: 'person', userId: 'u', sessionId: 's' },
};

// status per caller, 200 when it may go on:      nobody, read_only, all, administrator
const expected: Readonly<Record<Operation, readonly [number, number, number, number, number]>> = {
  'add-collection': [401, 403, 200, 403, 403],
  'delete-collection': [401, 403, 200, 403, 403],
  'update-collection': [401, 403, 200, 403, 403],
  'change-model': [401, 403, 200, 403, 403],
  'get-collection-list': [401, 200, 200, 403, 403],
  'add-document': [401, 403, 200, 403, 403],
  'add-documents': [401, 403, 200, 403, 403],
  'put-document': [401, 403, 200, 403, 403],
  'upload-document': [401, 403, 200, 403, 403],
  'update-document': [401, 403, 200, 403, 403],
  'delete-document': [401, 403, 200, 403, 403],
  'get-document-info': [401, 200, 200, 403, 403],
  'get-document-info-list': [401, 200, 200, 403, 403],
  'get-page-info': [401, 200, 200, 403, 403],
  'get-document': [200, 200, 200, 200, 200],
  'get-page-image': [200, 200, 200, 200, 200],
  'get-status': [401, 200, 200, 403, 403],
  'top-documents': [401, 200, 200, 403, 403],
  'top-pages': [401, 200, 200, 403, 403],
  'top-snippets': [401, 200, 200, 403, 403],
  'get-model-list': [401, 200, 200, 403, 403],
  embed: [401, 200, 200, 403, 403],
  rerank: [401, 200, 200, 403, 403],
  embeddings: [401, 200, 200, 403, 403],
  'cohere-rerank': [401, 200, 200, 403, 403],
  'parse-document': [401, 200, 200, 403, 403],
  'usage-documents': [401, 200, 200, 403, 403],
  'usage-queries': [401, 200, 200, 403, 403],
  'usage-reranker': [401, 200, 200, 403, 403],
  'usage-embed': [401, 200, 200, 403, 403],
  'usage-models-counters': [401, 200, 200, 403, 403],
  'usage-counters': [401, 200, 200, 403, 403],
  'create-organization': [401, 403, 403, 200, 403],
  'list-organizations': [401, 403, 403, 200, 403],
  'get-organization': [401, 403, 403, 200, 403],
  'update-organization': [401, 403, 403, 200, 403],
  'add-api-key': [401, 403, 403, 200, 403],
  'list-api-keys': [401, 403, 403, 200, 403],
  'update-api-key': [401, 403, 403, 200, 403],
  'delete-api-key': [401, 403, 403, 200, 403],
  'delete-any-organization': [401, 403, 403, 200, 403],
  'inspect-organization': [401, 403, 403, 200, 403],
  'get-any-audit-log': [401, 403, 403, 200, 403],
  'get-user': [401, 401, 401, 401, 200],
  'edit-user': [401, 401, 401, 401, 200],
  'delete-own-user': [401, 401, 401, 401, 200],
  'list-users': [401, 403, 403, 200, 403],
  'end-user-sessions': [401, 403, 403, 200, 403],
  'disable-user': [401, 403, 403, 200, 403],
  'enable-user': [401, 403, 403, 200, 403],
  'delete-user': [401, 403, 403, 200, 403],
  'list-sessions': [401, 401, 401, 401, 200],
  'revoke-session': [401, 401, 401, 401, 200],
  'add-organization': [401, 401, 401, 401, 200],
  'get-organization-info': [401, 401, 401, 401, 200],
  'rename-organization': [401, 401, 401, 401, 200],
  'delete-organization': [401, 401, 401, 401, 200],
  'invite-user': [401, 401, 401, 401, 200],
  'accept-invite': [401, 401, 401, 401, 200],
  'update-user': [401, 401, 401, 401, 200],
  'remove-user': [401, 401, 401, 401, 200],
  'delete-invite-user': [401, 401, 401, 401, 200],
  'add-organization-api-key': [401, 401, 401, 401, 200],
  'update-organization-api-key': [401, 401, 401, 401, 200],
  'delete-organization-api-key': [401, 401, 401, 401, 200],
  'get-audit-log': [401, 401, 401, 401, 200],
  'billing-status': [401, 401, 401, 401, 200],
  'preview-subscription': [401, 401, 401, 401, 200],
  subscribe: [401, 401, 401, 401, 200],
  downgrade: [401, 401, 401, 401, 200],
  'cancel-downgrade': [401, 401, 401, 401, 200],
  'cancel-upgrade': [401, 401, 401, 401, 200],
  'add-payment-method': [401, 401, 401, 401, 200],
  'remove-payment-method': [401, 401, 401, 401, 200],
  'manage-billing-details': [401, 401, 401, 401, 200],
  pause: [401, 401, 401, 401, 200],
  'redeem-code': [401, 401, 401, 401, 200],
  'billing-webhook': [200, 200, 200, 200, 200],
  'admin-login': [200, 200, 200, 200, 200],
  'admin-logout': [200, 200, 200, 200, 200],
  'send-magic-link': [200, 200, 200, 200, 200],
  'verify-magic-link': [200, 200, 200, 200, 200],
  'confirm-magic-link': [200, 200, 200, 200, 200],
  'begin-provider-login': [200, 200, 200, 200, 200],
  'finish-provider-login': [200, 200, 200, 200, 200],
  'login-link': [200, 200, 200, 200, 200],
  logout: [200, 200, 200, 200, 200],
  'account-openapi': [200, 200, 200, 200, 200],
  healthz: [200, 200, 200, 200, 200],
  readyz: [200, 200, 200, 200, 200],
  metrics: [401, 403, 403, 200, 403],
  openapi: [200, 200, 200, 200, 200],
  docs: [200, 200, 200, 200, 200],
  dashboard: [200, 200, 200, 200, 200],
  asset: [200, 200, 200, 200, 200],
  'get-sign-in-options': [200, 200, 200, 200, 200],
  'begin-aws-marketplace': [200, 200, 200, 200, 200],
  'begin-vercel-marketplace': [200, 200, 200, 200, 200],
  'aws-marketplace-event': [200, 200, 200, 200, 200],
  'vercel-marketplace-event': [200, 200, 200, 200, 200],
  'get-marketplace-sign-up': [401, 401, 401, 401, 200],
  'bind-marketplace': [401, 401, 401, 401, 200],
};

t.test('each caller may do exactly what its key allows', async (t) => {
  t.same(Object.keys(operationNeeds).sort(), Object.keys(expected).sort(), 'no operation is missing here');
  for (const operation of Object.keys(expected) as Operation[]) {
    Object.entries(callers).forEach(([name, principal], i) => {
      const refusal = authorise(principal, operation);
      t.equal(refusal?.status ?? 200, expected[operation][i], `${name} calls ${operation}`);
    });
  }
});

t.test('a 401 carries WWW-Authenticate, a 403 says what would be needed', async (t) => {
  t.match(authorise(null, 'embed')?.options.headers, { 'www-authenticate': 'Bearer' });
  t.match(authorise(callers.readOnly ?? null, 'add-document')?.message, /read-only.*add-document/);
  t.match(authorise(callers.all ?? null, 'add-api-key')?.message, /QUARRY_ADMIN_KEY/);
});
