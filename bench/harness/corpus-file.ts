import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { BenchUsageError } from './flag-specs.ts';

/** A document of a corpus file. */
export interface CorpusRecord {
  readonly id: string;
  /** The title, if any, on a line of its own, followed by the text. */
  readonly text: string;
}

const errorCharactersMax = 500;

/**
 * Reads the first `documentsMax` documents of a file with one JSON object per line: `_id` or `id`, an
 * optional `title`, and either `text` or `sections` (`[[heading | null, [paragraph, ...]], ...]`). A file
 * whose name ends in `.xz` is decompressed by the command `xz`. Documents without text are skipped. Errors:
 * `BenchUsageError` with the file and the line, or with the reason why the file cannot be read.
 */
export async function readCorpusFile(path: string, documentsMax: number | null): Promise<CorpusRecord[]> {
  const records: CorpusRecord[] = [];
  const input = await openText(path);
  let line = 0;
  try {
    for await (const content of createInterface({
      input: input.stream,
      crlfDelay: Number.POSITIVE_INFINITY,
    })) {
      line += 1;
      if (records.length === documentsMax) break;
      if (content === '') continue;
      const record = parseRecord(content);
      if (typeof record === 'string') throw new BenchUsageError(`${path}, line ${line}: ${record}.`);
      if (record.text.trim() !== '') records.push(record);
    }
  } finally {
    input.stream.destroy();
  }
  // A reader that stopped at the limit ends the input early, which is not a failure.
  if (records.length !== documentsMax) await input.completed();
  if (records.length === 0) throw new BenchUsageError(`${path} contains no document with text.`);
  return records;
}

interface TextInput {
  readonly stream: Readable;
  /** Resolves when everything was read. Errors: `BenchUsageError` with the reason. */
  completed(): Promise<void>;
}

async function openText(path: string): Promise<TextInput> {
  if (path.endsWith('.xz')) return openCompressed(path);
  const file = await open(path).catch((error: Error) => {
    throw new BenchUsageError(`${path} cannot be read: ${error.message}.`);
  });
  return { stream: file.createReadStream({ encoding: 'utf8' }), completed: async () => {} };
}

function openCompressed(path: string): TextInput {
  const child = spawn('xz', ['-dc', '--', path], { stdio: ['ignore', 'pipe', 'pipe'] });
  let [failure, errors]: [NodeJS.ErrnoException | null, string] = [null, ''];
  child.on('error', (error) => {
    failure = error;
  });
  child.stderr.setEncoding('utf8').on('data', (part: string) => {
    errors = (errors + part).slice(-errorCharactersMax);
  });
  const closed = once(child, 'close').catch(() => {});
  return {
    stream: child.stdout.setEncoding('utf8'),
    async completed() {
      await closed;
      if (failure?.code === 'ENOENT') {
        throw new BenchUsageError(
          `${path} is compressed, and the command "xz" is not installed. Install it (Debian: xz-utils), or decompress the file and name the .jsonl file.`,
        );
      }
      if (failure !== null || child.exitCode !== 0)
        throw new BenchUsageError(`xz cannot read ${path}: ${failure?.message ?? errors.trim()}.`);
    },
  };
}

/** Returns the document of a line, or a description of the problem. */
function parseRecord(line: string): CorpusRecord | string {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    return `not JSON (${(error as Error).message})`;
  }
  const { _id, id = _id, title, text, sections } = (value ?? {}) as Record<string, unknown>;
  if (typeof id !== 'string' && typeof id !== 'number') return '"_id" or "id" must be a string';
  const body = typeof text === 'string' ? text : sectionsText(sections);
  if (body === null) return '"text" must be a string, or "sections" a list of headings with paragraphs';
  return { id: String(id), text: typeof title !== 'string' || title === '' ? body : `${title}\n${body}` };
}

function sectionsText(sections: unknown): string | null {
  if (!Array.isArray(sections)) return null;
  const parts: string[] = [];
  for (const section of sections) {
    if (!Array.isArray(section) || !Array.isArray(section[1])) return null;
    const [heading, paragraphs] = section as [unknown, unknown[]];
    if (typeof heading === 'string') parts.push(heading);
    parts.push(...paragraphs.map(String));
  }
  return parts.join('\n\n');
}
