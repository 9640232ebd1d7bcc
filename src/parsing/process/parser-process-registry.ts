import { killProcessGroup } from './process-groups.ts';

/** Message from a parse worker to the main thread about a process that the worker owns. */
export interface ParserProcessNotice {
  readonly type: 'parser-process';
  readonly event: 'started' | 'ended';
  readonly pid: number;
  /** Thread of the worker that owns the process. */
  readonly threadId: number;
}

function isParserProcessNotice(value: unknown): value is ParserProcessNotice {
  return typeof value === 'object' && value !== null && 'type' in value && value.type === 'parser-process';
}

/**
 * Registry of parser processes in the main thread. A process exits on its own when its worker or the server is
 * gone; this registry is the second safeguard. The owner of the pool passes it the workers' messages and
 * calls `killThread` when a worker has ended and `killAll` at shutdown.
 */
export class ParserProcessRegistry {
  private readonly owners = new Map<number, number>();
  private readonly kill: (pid: number) => void;

  /** `kill` ends a process by its id and must ignore processes that no longer exist. */
  constructor(kill: (pid: number) => void = killProcessGroup) {
    this.kill = kill;
  }

  /**
   * Returns true when the message was a parser-process notice, so that other listeners can share the channel.
   */
  handleMessage(message: unknown): boolean {
    if (!isParserProcessNotice(message)) return false;
    if (message.event === 'started') this.owners.set(message.pid, message.threadId);
    else this.owners.delete(message.pid);
    return true;
  }

  /** Ids of the processes known to be alive. */
  listPids(): number[] {
    return [...this.owners.keys()];
  }

  /** Kills the processes left behind by a worker thread. */
  killThread(threadId: number): void {
    for (const [pid, owner] of this.owners) {
      if (owner !== threadId) continue;
      this.owners.delete(pid);
      this.kill(pid);
    }
  }

  killAll(): void {
    for (const pid of this.owners.keys()) this.kill(pid);
    this.owners.clear();
  }
}
