import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text as readAll } from 'node:stream/consumers';

/** Where a command writes, and what the other end can show. */
export interface Terminal {
  /** Results: standard output. */
  out(text: string): void;
  /** Everything else: standard error. */
  note(text: string): void;
  /** Columns of standard output, at least 40; 80 where nobody says. */
  readonly columns: number;
  /** True when a person watches standard error: a line may be drawn over. */
  readonly isInteractive: boolean;
  /** Asks on the terminal; null when nobody is there to answer. */
  confirm(question: string): Promise<boolean | null>;
  /** Asks for something that is not shown while it is typed; without a terminal, takes standard input to its end. */
  readSecret(question: string): Promise<string>;
}

/** The terminal of this process. A reader that went away (`| head`) ends the command quietly. */
export function processTerminal(): Terminal {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
  return {
    out: (text) => void process.stdout.write(`${text}\n`),
    note: (text) => void process.stderr.write(text),
    columns: Math.max(40, process.stdout.columns ?? 80),
    isInteractive: process.stderr.isTTY === true,
    async confirm(question) {
      if (process.stdin.isTTY !== true || process.stderr.isTTY !== true) return null;
      const reader = createInterface({ input: process.stdin, output: process.stderr });
      try {
        return /^y(es)?$/i.test((await reader.question(`${question} [y/N] `)).trim());
      } finally {
        reader.close();
      }
    },
    async readSecret(question) {
      if (process.stdin.isTTY !== true) return (await readAll(process.stdin)).replace(/\r?\n$/, '');
      process.stderr.write(question);
      const mutedOutput = new Writable({ write: (_chunk, _encoding, written) => written() });
      const reader = createInterface({ input: process.stdin, output: mutedOutput, terminal: true });
      try {
        return await reader.question('');
      } finally {
        reader.close();
        process.stderr.write('\n');
      }
    },
  };
}
