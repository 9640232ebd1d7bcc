import { fileURLToPath } from 'node:url';
import { DirectoryTarget } from '../backup/directory-target.ts';
import { parseS3Location, S3Target } from '../backup/s3-target.ts';
import type { Settings } from '../config/schema.ts';
import { assertDefined } from '../core/assert.ts';
import type { Metrics } from '../core/metrics.ts';
import type { DataDirectory } from '../storage/data-directory.ts';
import type { SharedStorage } from '../storage/open-shared-store.ts';
import type { PostgresStore } from '../storage/postgres-store.ts';
import type { FileTarget } from '../storage/shared-files.ts';
import { clock, random } from './runtime.ts';
import { s3Config } from './s3-config.ts';

/** Data in PostgreSQL, and files in a shared folder or a bucket. */

/** Null: the data directory has all data. */
export function openSharedStorage(settings: Settings): SharedStorage | null {
  const { store, files, filesCacheBytes } = settings;
  if (store === null) return null;
  const location = assertDefined(files ?? undefined, 'QUARRY_STORE requires QUARRY_FILES');
  return { url: store, files: openFileTarget(location, settings), filesCacheBytes };
}

function openFileTarget(location: string, settings: Settings): FileTarget {
  const s3Location = parseS3Location(location);
  if (s3Location === null) return new DirectoryTarget(fileURLToPath(location), random);
  const config = s3Config({
    endpoint: settings.filesS3Endpoint,
    region: settings.filesS3Region,
    accessKeyId: settings.filesS3AccessKeyId,
    secretAccessKey: settings.filesS3SecretAccessKey,
  });
  return new S3Target({ ...s3Location, location, noun: 'store of files', clock, config });
}

const stateDetails = {
  open: 'connected',
  unreachable: 'unreachable; writes get 503, reads continue',
  recovering: 'waits for PostgreSQL; writes get 503, reads continue',
  fenced:
    'another process has taken over the data; writes get 503, and reads get earlier data. Stop this process',
  diverged: 'PostgreSQL was restored to an earlier state; writes get 503. Restart this process',
} as const;

/** Content of `/readyz` about PostgreSQL; null without it. */
export function describePostgres({ postgres }: DataDirectory): { ready: boolean; detail: string } | null {
  if (postgres === null) return null;
  const { state, epoch, head, position } = postgres.postgresState;
  const detail = `${stateDetails[state]}; epoch ${epoch}, commit ${head}, cache ${head - position} behind`;
  return { ready: state === 'open', detail };
}

/** Whether this process can no longer write, and its data are no longer those of PostgreSQL. */
export function isDetached({ postgres }: DataDirectory): boolean {
  const state = postgres?.postgresState.state;
  return state === 'fenced' || state === 'diverged';
}

export function registerPostgresMetrics(metrics: Metrics, store: PostgresStore): void {
  const state = () => store.postgresState;
  metrics.gauges(
    {
      name: 'quarry_postgres_state',
      help: '1 for the state of the connection to PostgreSQL: open, unreachable, recovering, fenced (another process has taken over) or diverged (PostgreSQL was restored to an earlier state).',
      label: 'state',
    },
    () => Object.fromEntries(Object.keys(stateDetails).map((name) => [name, Number(name === state().state)])),
  );
  metrics.gauge(
    { name: 'quarry_postgres_epoch', help: 'Epoch of this process as the owner of the data in PostgreSQL.' },
    () => state().epoch,
  );
  metrics.gauge(
    {
      name: 'quarry_postgres_commit',
      help: 'Number of the last commit in PostgreSQL that this process knows.',
    },
    () => state().head,
  );
  metrics.gauge(
    {
      name: 'quarry_postgres_lag_commits',
      help: 'Commits in PostgreSQL that the data directory does not have.',
    },
    () => state().head - state().position,
  );
}
