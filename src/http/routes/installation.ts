import * as installation from '../../schemas/installation.ts';
import { EmptyRequest } from '../../schemas/wire.ts';
import { administratorRoute } from './json-route.ts';
import type { Route } from './route.ts';

export const installationRoutes: readonly Route[] = [
  administratorRoute({
    operation: 'get-health',
    path: '/admin/get-health',
    summary: 'Check the installation',
    description:
      'Runs the checks of `quarry doctor` on the server machine, and returns the components of `/readyz`, versions, memory and disk. Reads the list of backups from their target.',
    request: EmptyRequest,
    reply: installation.GetHealthResponse,
    example: {},
    serve: (services, call) => services.installation.getHealth(call),
  }),
  administratorRoute({
    operation: 'get-settings',
    path: '/admin/get-settings',
    summary: 'List the settings of the server',
    description:
      'Returns the value in force of each setting and its source. Values of secrets are not returned.',
    request: EmptyRequest,
    reply: installation.GetSettingsResponse,
    example: {},
    serve: (services) => services.installation.getSettings(),
  }),
  administratorRoute({
    operation: 'get-log-lines',
    path: '/admin/get-log-lines',
    summary: 'Read the log of the server',
    description:
      'Returns the last lines of the log, oldest first. To follow the log, send `next_cursor` as `cursor`. The server keeps the last 1 MiB of lines since startup in memory.',
    request: installation.GetLogLinesRequest,
    reply: installation.GetLogLinesResponse,
    example: { level: 'warn', limit: 20 },
    serve: (services, call, request) => services.installation.getLogLines(call, request),
  }),
];
