import type { LogTail, LogTailPage } from '../core/log-tail.ts';
import type {
  GetHealthResponse,
  GetLogLinesRequest,
  GetLogLinesResponse,
  GetSettingsResponse,
  HealthCheck,
} from '../schemas/installation.ts';
import type { AdministratorCall } from './admin.ts';

export interface InstallationServiceOptions {
  readonly logTail: Pick<LogTail, 'readLast' | 'readFrom'>;
  /** Identifies this start of the server: letters and digits. */
  readonly startId: string;
  /** Runs the checks of the machine and the data directory. */
  readonly diagnose: (signal: AbortSignal) => AsyncIterable<HealthCheck>;
  readonly describeServer: () => Omit<GetHealthResponse, 'state' | 'checks'>;
  readonly settings: GetSettingsResponse;
}

const logLinesDefault = 100;

/** Operations of `/v1/admin/*` about the whole installation. */
export class InstallationService {
  readonly #options: InstallationServiceOptions;

  constructor(options: InstallationServiceOptions) {
    this.#options = options;
  }

  async getHealth(call: AdministratorCall): Promise<GetHealthResponse> {
    const checks: HealthCheck[] = [];
    for await (const check of this.#options.diagnose(call.cancellation.signal)) checks.push(check);
    const server = this.#options.describeServer();
    const has = (state: HealthCheck['state']) => checks.some((check) => check.state === state);
    const isDegraded = has('warning') || server.components.some((component) => !component.is_ready);
    return { state: has('failed') ? 'failed' : isDegraded ? 'warning' : 'ok', checks, ...server };
  }

  async getSettings(): Promise<GetSettingsResponse> {
    return this.#options.settings;
  }

  async getLogLines(_call: AdministratorCall, request: GetLogLinesRequest): Promise<GetLogLinesResponse> {
    const { startId } = this.#options;
    const { lines, next, isTruncated } = this.#readLog(request);
    return {
      lines: lines.map((line) => ({ ...line, fields: { ...line.fields } })),
      next_cursor: `${startId}-${next}`,
      is_truncated: isTruncated,
    };
  }

  /** A cursor of an earlier start continues with the first line of this one. */
  #readLog({ level = null, text, cursor, limit }: GetLogLinesRequest): LogTailPage {
    const { logTail, startId } = this.#options;
    const filter = { level, text: text ? text.toLowerCase() : null };
    const linesMax = limit ?? logLinesDefault;
    if (typeof cursor !== 'string') return logTail.readLast(filter, linesMax);
    const [cursorStart, position] = cursor.split('-');
    return logTail.readFrom(cursorStart === startId ? Number(position) : 0, filter, linesMax);
  }
}
