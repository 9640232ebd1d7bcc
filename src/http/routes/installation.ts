import * as installation from '../../schemas/installation.ts';
import { administratorRoute } from './json-route.ts';
import type { Route } from './route.ts';

export const installationRoutes: readonly Route[] = [
  administratorRoute({
    operation: 'get-log-lines',
    path: '/admin/get-log-lines',
    summary: 'Read the log of the server',
    description:
      'Returns the last lines of the log, oldest first. To follow the log, send `next_cursor` as `cursor`. The server keeps at most 1 MiB of lines in memory, of its current start.',
    request: installation.GetLogLinesRequest,
    reply: installation.GetLogLinesResponse,
    example: { level: 'warn', limit: 20 },
    serve: (services, call, request) => services.installation.getLogLines(call, request),
  }),
];
