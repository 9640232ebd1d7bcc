import { ReplacementProcess } from './replacement-process.ts';

export interface RestartOptions {
  readonly port: number;
  /** Whether a service manager started this process and treats its exit as the end of the service. */
  readonly isManaged: boolean;
  /** Aborted when the server stops. */
  readonly signal: AbortSignal;
  readonly warn: (message: string) => void;
}

/** Requests to replace this process by a new one, without a failed request: SIGUSR2. Ignored until the server listens. */
export class RestartRequests {
  #onRequest = () => {};

  constructor() {
    process.on('SIGUSR2', () => this.#onRequest());
  }

  /** Resolves when a new process is ready. If one cannot start, this process continues and waits for the next request. */
  wait(options: RestartOptions): Promise<ReplacementProcess> {
    return new Promise((resolve) => {
      let isStarting = false;
      const start = async () => {
        isStarting = true;
        const replacement = await startReplacement(options);
        isStarting = replacement !== null;
        if (replacement !== null) resolve(replacement);
      };
      this.#onRequest = () => {
        if (options.isManaged) options.warn('SIGUSR2 is ignored: restart the service with its manager.');
        else if (!isStarting) void start();
      };
    });
  }
}

/** Returns null if the new process cannot start. */
async function startReplacement({ port, signal, warn }: RestartOptions): Promise<ReplacementProcess | null> {
  try {
    return await ReplacementProcess.start(port, signal);
  } catch (error) {
    if (!signal.aborted) warn(`Restart failed: ${(error as Error).message}. This process continues.`);
    return null;
  }
}
