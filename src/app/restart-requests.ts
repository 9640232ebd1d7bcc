import { Successor } from './successor.ts';

export interface RestartOptions {
  readonly port: number;
  /** Whether a service manager started this process and takes its end for the end of the service. */
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

  /** Resolves when a new process is prepared. If one cannot start, this process continues and waits for the next request. */
  wait(options: RestartOptions): Promise<Successor> {
    return new Promise((resolve) => {
      let isStarting = false;
      const start = async () => {
        isStarting = true;
        const successor = await startSuccessor(options);
        isStarting = successor !== null;
        if (successor !== null) resolve(successor);
      };
      this.#onRequest = () => {
        if (options.isManaged) options.warn('SIGUSR2 is ignored: restart the service with its manager.');
        else if (!isStarting) void start();
      };
    });
  }
}

/** Returns null if the new process cannot start. */
async function startSuccessor({ port, signal, warn }: RestartOptions): Promise<Successor | null> {
  try {
    return await Successor.start(port, signal);
  } catch (error) {
    if (!signal.aborted) warn(`Restart failed: ${(error as Error).message}. This process continues.`);
    return null;
  }
}
