import type { PageRoute, Route } from './route.ts';

function createPageRoute(
  name: PageRoute['page'],
  options: Pick<PageRoute, 'path' | 'operation' | 'summary' | 'description'> &
    Partial<Pick<PageRoute, 'access' | 'errorResponses'>>,
): PageRoute {
  return {
    kind: 'page',
    page: name,
    method: 'GET',
    isVersioned: false,
    tag: 'server',
    access: 'none',
    errorResponses: {},
    ...options,
  };
}

export const pageRoutes: readonly Route[] = [
  createPageRoute('home', {
    path: '/',
    operation: 'dashboard',
    summary: 'Start page',
    description: 'Redirects to the dashboard.',
  }),
  createPageRoute('dashboard-entry', {
    path: '/app',
    operation: 'dashboard',
    summary: 'Dashboard entry',
    description: 'Redirects to the dashboard.',
  }),
  createPageRoute('dashboard', {
    path: '/app/*',
    operation: 'dashboard',
    summary: 'Dashboard page',
    description: 'Returns the same HTML for every path; the dashboard selects the view in the browser.',
  }),
  createPageRoute('asset', {
    path: '/assets/:file_path',
    operation: 'asset',
    summary: 'Dashboard asset',
    description: 'The name contains a hash of the content, so it can be cached permanently.',
    errorResponses: { 404: 'The file does not exist.' },
  }),
  createPageRoute('healthz', {
    path: '/healthz',
    operation: 'healthz',
    summary: 'Liveness probe',
    description: 'Returns 200 while the process responds.',
  }),
  createPageRoute('readyz', {
    path: '/readyz',
    operation: 'readyz',
    summary: 'Readiness probe',
    description:
      'Returns 200 when every component is ready, otherwise 503. The body lists the components and the detected optional tools.',
    errorResponses: { 503: 'Not ready.' },
  }),
  createPageRoute('metrics', {
    path: '/metrics',
    operation: 'metrics',
    access: 'administrator',
    summary: 'Prometheus metrics',
    description: 'Open to local requests; other requests require the administrator key.',
  }),
  createPageRoute('openapi', {
    path: '/openapi.json',
    operation: 'openapi',
    summary: 'OpenAPI document',
    description: 'OpenAPI 3.1, generated from the route table.',
  }),
  createPageRoute('account-openapi', {
    path: '/api/openapi.json',
    operation: 'account-openapi',
    summary: 'OpenAPI document of the account API',
    description: 'OpenAPI 3.1 of sign-in, users and organizations.',
  }),
  createPageRoute('docs', {
    path: '/docs',
    operation: 'docs',
    summary: 'Documentation',
    description:
      'Start page of the documentation with all operations: HTML without scripts or external resources.',
  }),
  createPageRoute('documentation', {
    path: '/docs/*',
    operation: 'docs',
    summary: 'Documentation page',
    description:
      'A guide, a reference page, the operations of one group (`/docs/api/documents`) or a search (`/docs/search?q=backup`).',
    errorResponses: { 400: 'The search is too long.', 404: 'The page does not exist.' },
  }),
];
