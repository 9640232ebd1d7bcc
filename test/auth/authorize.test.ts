import { authorize } from '../../src/auth/authorize.ts';
import type { Route } from '../../src/http/routes/route.ts';
import { routes } from '../../src/http/routes/routes.ts';
import type { Principal } from '../../src/schemas/principal.ts';
import t from '../support/tap.ts';

const ids = { organizationId: 'o', keyId: 'k', zdr: false };
const callers: Readonly<Record<string, Principal | null>> = {
  anonymous: null,
  readOnly: { kind: 'organization', permission: 'read_only', ...ids },
  all: { kind: 'organization', permission: 'all', ...ids },
  administrator: { kind: 'administrator' },
  person: { kind: 'user', userId: 'u', sessionId: 's' },
};

// status per caller, 200 if permitted: no credentials, read_only, all, administrator, person
const expected: Readonly<Record<string, readonly [number, number, number, number, number]>> = {
  'add-collection': [401, 403, 200, 403, 403],
  'delete-collection': [401, 403, 200, 403, 403],
  'update-collection': [401, 403, 200, 403, 403],
  'change-model': [401, 403, 200, 403, 403],
  'get-collection-info': [401, 200, 200, 403, 403],
  'clone-collection': [401, 403, 200, 403, 403],
  'rename-collection': [401, 403, 200, 403, 403],
  'add-alias': [401, 403, 200, 403, 403],
  'update-aliases': [401, 403, 200, 403, 403],
  'delete-alias': [401, 403, 200, 403, 403],
  'get-alias-list': [401, 200, 200, 403, 403],
  'export-documents': [401, 200, 200, 403, 403],
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
  'get-document-text': [401, 200, 200, 403, 403],
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
  mcp: [401, 200, 200, 403, 403],
  'cohere-rerank': [401, 200, 200, 403, 403],
  'cohere-rerank-v2': [401, 200, 200, 403, 403],
  'cohere-embed': [401, 200, 200, 403, 403],
  'list-openai-models': [401, 200, 200, 403, 403],
  'get-openai-model': [401, 200, 200, 403, 403],
  'search-vector-store': [401, 200, 200, 403, 403],
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
  'reset-second-factor': [401, 403, 403, 200, 403],
  'create-password-link': [401, 403, 403, 200, 403],
  'get-administrator-second-factor': [401, 403, 403, 200, 403],
  'begin-administrator-second-factor': [401, 403, 403, 200, 403],
  'confirm-administrator-second-factor': [401, 403, 403, 200, 403],
  'disable-administrator-second-factor': [401, 403, 403, 200, 403],
  'get-second-factor': [401, 401, 401, 401, 200],
  'begin-second-factor': [401, 401, 401, 401, 200],
  'confirm-second-factor': [401, 401, 401, 401, 200],
  'disable-second-factor': [401, 401, 401, 401, 200],
  'finish-second-factor': [200, 200, 200, 200, 200],
  'delete-own-user': [401, 401, 401, 401, 200],
  'create-backup': [401, 403, 403, 200, 403],
  'get-backup-status': [401, 403, 403, 200, 403],
  'list-users': [401, 403, 403, 200, 403],
  'end-user-sessions': [401, 403, 403, 200, 403],
  'disable-user': [401, 403, 403, 200, 403],
  'enable-user': [401, 403, 403, 200, 403],
  'delete-user': [401, 403, 403, 200, 403],
  'set-password': [401, 401, 401, 401, 200],
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
  'password-sign-in': [200, 200, 200, 200, 200],
  'password-join': [200, 200, 200, 200, 200],
  'password-reset': [200, 200, 200, 200, 200],
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

function routeOf(operation: string): Route {
  return routes.find((route) => route.operation === operation)!;
}

t.test('each caller can call exactly the operations that its key allows', async (t) => {
  const operations = new Set(routes.map(({ operation }) => operation));
  t.same([...operations].sort(), Object.keys(expected).sort(), 'the table lists every operation');
  for (const route of routes) {
    Object.entries(callers).forEach(([name, principal], i) => {
      const refusal = authorize(principal, route);
      t.equal(refusal?.status ?? 200, expected[route.operation]?.[i], `${name} calls ${route.operation}`);
    });
  }
});

t.test('a 401 has WWW-Authenticate, a 403 names the required access', async (t) => {
  t.match(authorize(null, routeOf('embed'))?.options.headers, { 'www-authenticate': 'Bearer' });
  t.match(authorize(callers.readOnly ?? null, routeOf('add-document'))?.message, /read-only.*add-document/);
  t.match(authorize(callers.all ?? null, routeOf('add-api-key'))?.message, /QUARRY_ADMIN_KEY/);
});
