/** What a parse worker posts to the main thread about the processes it owns. */
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
 * The main thread's list of parser processes. A process ends by itself when its worker or the server is gone; this list is
 * the second way: the pool's owner feeds it with the workers' messages and calls `killThread` when a worker is gone and
 * `killAll` at shutdown.
 */
export class ParserProcessRegistry {
  private readonly owners = new Map<number, number>();
  private readonly kill: (pid: number) => void;

  /** `kill` ends a process by its id and forgives that it is gone already. */
  constructor(kill: (pid: number) => void = killProcess) {
    this.kill = kill;
  }

  /** True when the message was a notice of this kind, whoever else may listen to the same channel. */
  handleMessage(message: unknown): boolean {
    if (!isParserProcessNotice(message)) return false;
    if (message.event === 'started') this.owners.set(message.pid, message.threadId);
    else this.owners.delete(message.pid);
    return true;
  }

  /** Ids of the processes that live, as far as is known. */
  listPids(): number[] {
    return [...this.owners.keys()];
  }

  /** Kills what a worker thread left behind. */
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

function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
