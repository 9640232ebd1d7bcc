import * as parsers from '../../schemas/parsers.ts';
import { renderPages } from '../../services/rendered-json.ts';
import { organizationRoute } from './json-route.ts';
import type { Route } from './route.ts';

export const parserRoutes: readonly Route[] = [
  organizationRoute({
    operation: 'parse-document',
    access: 'read',
    path: '/parsers/parse-document',
    summary: 'Parse a file without storing it',
    description:
      'Returns the text of a file, page by page, and stores nothing. A file that cannot be parsed returns 400 with the reason.',
    request: parsers.ParseDocumentRequest,
    bodyKind: 'document',
    reply: parsers.ParseDocumentResponse,
    example: { base64_data: 'UmVmdW5kcyBhcmUgcGFpZCB3aXRoaW4gMTQgZGF5cy4=' },
    serve: async (services, call, request) =>
      renderPages(await services.parsers.parseDocument(call, request), call.yieldToEventLoop),
  }),
];
