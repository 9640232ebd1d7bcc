import { createInterface } from 'node:readline/promises';
import { type Readable, Writable } from 'node:stream';
import { text as readAll } from 'node:stream/consumers';
import { type ColorVariables, hasColors, paint, type StyledText } from './colors.ts';
import { escapeControls, formatTable } from './text-layout.ts';

/**
 * Output and input streams of a command, and the capabilities of the terminal. Every text may come from a
 * document or a server: control characters are escaped, except in results that are written to a file or pipe.
 */
export interface Terminal {
  /** Writes results to standard output. */
  out(text: string): void;
  /** Writes one line of a result, with styles if standard output has colors. */
  outStyled(spans: readonly StyledText[]): void;
  /** Writes everything else to standard error. */
  note(text: string): void;
  /** Overwrites the current line of standard error. Only if `isInteractive`. */
  redrawLine(text: string): void;
  /** Whether people read standard output, not a file or a program. */
  readonly isOutputTerminal: boolean;
  /** Columns of standard output, at least 40; 80 if unknown. */
  readonly columns: number;
  /** Whether standard error is a terminal, so that a line may be overwritten. */
  readonly isInteractive: boolean;
  /** Asks a yes/no question on the terminal; null if there is no terminal. */
  confirm(question: string): Promise<boolean | null>;
  /** Reads a secret without echo; without a terminal, reads standard input to its end. */
  readSecret(question: string): Promise<string>;
}

/** Writes a table. On a terminal, long cells are wrapped so that it fits. */
export function printTable(
  { out, columns, isOutputTerminal }: Pick<Terminal, 'out' | 'columns' | 'isOutputTerminal'>,
  headings: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  formatTable(headings, rows, isOutputTerminal ? columns : undefined).forEach(out);
}

/** Streams of a terminal; `isTTY` is absent if the stream is a file or a pipe. */
export interface TerminalStreams {
  readonly input: Readable & { readonly isTTY?: boolean };
  readonly output: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly errors: Writable & { readonly isTTY?: boolean };
}

/** Terminal of this process. A closed pipe (`| head`) ends the command without an error. */
export function processTerminal(variables: ColorVariables): Terminal {
  const { stdin: input, stdout: output, stderr: errors } = process;
  output.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
  return createTerminal({ input, output, errors }, variables);
}

export function createTerminal(
  { input, output, errors }: TerminalStreams,
  variables: ColorVariables,
): Terminal {
  const isOutputTerminal = output.isTTY === true;
  const isColored = hasColors(isOutputTerminal, variables);
  return {
    out: (text) => void output.write(`${isOutputTerminal ? escapeControls(text) : text}\n`),
    outStyled(spans) {
      const texts = spans.map(({ text, style }) =>
        paint({ text: escapeControls(text), style: isColored ? style : 'plain' }),
      );
      output.write(`${texts.join('')}\n`);
    },
    note: (text) => void errors.write(escapeControls(text)),
    redrawLine: (text) => void errors.write(`\r\x1b[K${escapeControls(text)}`),
    isOutputTerminal,
    columns: Math.max(40, output.columns ?? 80),
    isInteractive: errors.isTTY === true,
    async confirm(question) {
      if (input.isTTY !== true || errors.isTTY !== true) return null;
      const reader = createInterface({ input, output: errors });
      try {
        return /^y(es)?$/i.test((await reader.question(`${escapeControls(question)} [y/N] `)).trim());
      } finally {
        reader.close();
      }
    },
    async readSecret(question) {
      if (input.isTTY !== true) return (await readAll(input)).replace(/\r?\n$/, '');
      errors.write(question);
      const mutedOutput = new Writable({ write: (_chunk, _encoding, written) => written() });
      const reader = createInterface({ input, output: mutedOutput, terminal: true });
      try {
        return await reader.question('');
      } finally {
        reader.close();
        errors.write('\n');
      }
    },
  };
}
