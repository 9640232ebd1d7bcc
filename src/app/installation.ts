import { describeSettings, settingSections } from '../config/describe.ts';
import { findSetting } from '../config/schema.ts';
import type { LoadedSettings } from '../config/settings.ts';
import { assert } from '../core/assert.ts';
import type { LogTail } from '../core/log-tail.ts';
import { readProcessMemoryBytes } from '../core/process-memory.ts';
import { toTimestamp } from '../core/timestamps.ts';
import { version } from '../core/version.ts';
import type { Readiness } from '../http/pages.ts';
import type { GetSettingsResponse, SettingInfo } from '../schemas/installation.ts';
import { InstallationService } from '../services/installation.ts';
import type { DataDirectory } from '../storage/data-directory.ts';
import { diagnose } from './diagnostics/diagnose.ts';
import type { Pipeline } from './pipeline.ts';
import { clock } from './runtime.ts';

/** Values that are known when the server listens. */
interface ListeningServer {
  /** Public URL. */
  readonly url: string;
  /** The first organization. */
  readonly organizationId: string;
  readonly httpServer: string;
  readonly readiness: () => Readiness;
}

/** The running server. Services that describe it are constructed before it listens. */
export class Installation {
  readonly loadedSettings: LoadedSettings;
  readonly logTail: LogTail;
  readonly startedAt: number = clock.now();
  #server: ListeningServer | null = null;

  constructor(loadedSettings: LoadedSettings, logTail: LogTail) {
    this.loadedSettings = loadedSettings;
    this.logTail = logTail;
  }

  /** Call once, when the server listens. */
  setListening(server: ListeningServer): void {
    assert(this.#server === null, 'a server begins to listen once');
    this.#server = server;
  }

  /** Empty until the server listens; requests before that get 503. */
  get url(): string {
    return this.#server?.url ?? '';
  }

  /** Empty until the server listens. */
  get organizationId(): string {
    return this.#server?.organizationId ?? '';
  }

  /** Empty until the server listens. */
  get httpServer(): string {
    return this.#server?.httpServer ?? '';
  }

  readiness(): Readiness {
    return this.#server?.readiness() ?? { ready: false, components: {} };
  }
}

interface InstallationDependencies {
  readonly data: DataDirectory;
  readonly pipeline: Pipeline;
}

export function createInstallationService(
  installation: Installation,
  { data, pipeline }: InstallationDependencies,
): InstallationService {
  const { loadedSettings, logTail, startedAt } = installation;
  const { settings } = loadedSettings;
  return new InstallationService({
    logTail,
    startId: startedAt.toString(36),
    diagnose: (signal) => diagnose({ settings, isDeep: false, signal }),
    describeServer: () => ({
      components: Object.entries(installation.readiness().components).map(
        ([component, { ready, detail = '' }]) => ({ component, is_ready: ready, detail }),
      ),
      version,
      node_version: process.versions.node,
      http_server: installation.httpServer,
      started_at: toTimestamp(startedAt),
      memory_used_bytes: readProcessMemoryBytes(),
      memory_max_bytes: settings.memoryBytesMax,
      disk_free_bytes: data.space.freeBytes,
      disk_reserve_bytes: settings.diskReserveBytes,
      waiting_documents: pipeline.ingest.depth,
    }),
    settings: describeServerSettings(loadedSettings),
  });
}

/** Describes the settings of a server for its administrator, without the values of secrets. */
export function describeServerSettings(loaded: LoadedSettings): GetSettingsResponse {
  const settings: SettingInfo[] = [];
  let section = '';
  for (const { name, variable, value, source, meaning, unit, default: fallback } of describeSettings(
    loaded,
  )) {
    section = settingSections[name] ?? section;
    // Settings of commands have no effect on a server.
    if (section === settingSections.url) break;
    const isSecret = findSetting(name).secret === true;
    settings.push({
      variable,
      section,
      meaning,
      value: isSecret ? null : (value as SettingInfo['value']),
      unit,
      is_secret: isSecret,
      is_set: value !== null,
      source,
      default: (fallback ?? null) as SettingInfo['default'],
    });
  }
  return { settings, file: loaded.file };
}
