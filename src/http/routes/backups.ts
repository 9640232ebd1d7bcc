import * as backups from '../../schemas/backups.ts';
import { EmptyRequest } from '../../schemas/wire.ts';
import { administratorRoute } from './json-route.ts';
import type { Route } from './route.ts';

export const backupRoutes: readonly Route[] = [
  administratorRoute({
    operation: 'create-backup',
    path: '/admin/create-backup',
    summary: 'Create a backup',
    description:
      'Starts a backup and returns immediately; poll `get-backup-status` until `running` is null. The server stays available.',
    request: backups.CreateBackupRequest,
    reply: backups.BackupStatusResponse,
    example: {},
    errorResponses: {
      400: 'There is no target, or it cannot be used.',
      409: 'A backup is already running.',
    },
    serve: (services, call, request) => services.backups.createBackup(call, request),
  }),
  administratorRoute({
    operation: 'get-backup-status',
    path: '/admin/get-backup-status',
    summary: 'Get the state of backups',
    description:
      'Returns the backup in progress, the last one, the last failure, the next scheduled one and the last verified restore.',
    request: EmptyRequest,
    reply: backups.BackupStatusResponse,
    example: {},
    serve: (services) => services.backups.getBackupStatus(),
  }),
];
