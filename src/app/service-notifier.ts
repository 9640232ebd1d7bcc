import { readServiceManager, type ServiceManager } from '../config/settings.ts';
import { addon } from '../index/addon.ts';

/** Longest pause between two datagrams, and how long each of them extends a start or a stop. */
const extensionMs = { interval: 10_000, length: 60_000 };

type State = 'starting' | 'ready' | 'stopping';

export interface ServiceNotifierOptions {
  readonly manager: ServiceManager;
  /** Sends a datagram. Throws with the reason. */
  readonly send: (socket: string, message: string) => void;
  readonly warn: (message: string) => void;
}

/**
 * Reports the state of the server to systemd (sd_notify). The watchdog notifications come from the event loop: if it
 * hangs, they end, and systemd restarts the server. Loading and stopping may take long, so they extend their time limit.
 */
export class ServiceNotifier {
  readonly #options: ServiceNotifierOptions;
  readonly #timer: NodeJS.Timeout;
  #state: State = 'starting';
  #hasWarned = false;

  constructor(options: ServiceNotifierOptions) {
    this.#options = options;
    const { watchdogMs } = options.manager;
    const intervalMs = Math.min(extensionMs.interval, (watchdogMs ?? Number.POSITIVE_INFINITY) / 3);
    this.#timer = setInterval(() => this.#sendSignOfLife(), intervalMs).unref();
    this.#sendSignOfLife();
  }

  ready(): void {
    this.#state = 'ready';
    this.#send('READY=1');
    this.#sendSignOfLife();
  }

  stopping(): void {
    this.#state = 'stopping';
    this.#send('STOPPING=1');
    this.#sendSignOfLife();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #sendSignOfLife(): void {
    if (this.#options.manager.watchdogMs !== null) this.#send('WATCHDOG=1');
    if (this.#state !== 'ready') this.#send(`EXTEND_TIMEOUT_USEC=${extensionMs.length * 1_000}`);
  }

  /** A server without its manager continues; a lost datagram is repeated by the next one. */
  #send(message: string): void {
    const { manager, send, warn } = this.#options;
    try {
      send(manager.socket, message);
    } catch (error) {
      if (this.#hasWarned) return;
      this.#hasWarned = true;
      warn(`The service manager at ${manager.socket} cannot be notified: ${(error as Error).message}.`);
    }
  }
}

/** Returns null unless a service manager started this process. */
export function createServiceNotifier(): ServiceNotifier | null {
  const manager = readServiceManager();
  if (manager === null) return null;
  const warn = (message: string) => process.stderr.write(`${message}\n`);
  return new ServiceNotifier({ manager, warn, send: addon.sendUnixDatagram });
}
