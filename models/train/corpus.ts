import { spawn } from 'node:child_process';
import { createReadStream, existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

/** One passage of running text with its title and heading. */
export interface TrainingPassage {
  /** Number shared by the passages of one article, page or question; these are never negatives of each other. */
  readonly article: number;
  readonly source: number;
  /** Title of the article, or the question that the passage answers. */
  readonly title: string;
  readonly heading: string | null;
  readonly sentences: readonly string[];
}

interface Article {
  readonly title: string;
  readonly sections: readonly { readonly heading: string | null; readonly paragraphs: readonly string[] }[];
}

interface Source {
  /** File name without `.jsonl`, `.jsonl.gz` or `.jsonl.xz`. */
  readonly file: string;
  /** Share of the training pairs taken from this source. */
  readonly share: number;
  readonly read: (line: Record<string, unknown>) => Article;
}

const toText = (value: unknown): string => (typeof value === 'string' ? value : '');
const toArticle = (title: string, heading: string | null, paragraph: string): Article => ({
  title,
  sections: [{ heading, paragraphs: [paragraph] }],
});

/**
 * Training text; all sources are under licenses that allow training with attribution
 * (models/zembed-1/NOTICE.md). The OpenStax books in the same folder are excluded: their prefaces state CC
 * BY-NC-SA, contrary to the label of the repository.
 */
export const sources: readonly Source[] = [
  {
    file: 'wikipedia-en',
    share: 0.5,
    read: (line) => ({
      title: toText(line.title),
      sections: (line.sections as [string | null, string[]][]).map(([heading, paragraphs]) => ({
        heading,
        paragraphs,
      })),
    }),
  },
  {
    file: 'arxiv-title-abstract',
    share: 0.16,
    read: (line) => toArticle(toText(line.title), null, toText(line.text)),
  },
  {
    file: 'wikinews-en',
    share: 0.12,
    read: (line) => ({
      title: toText(line.title),
      sections: [{ heading: null, paragraphs: line.paragraphs as string[] }],
    }),
  },
  {
    file: 'docs-heading-section',
    share: 0.12,
    read: (line) => toArticle(toText(line.title), toText(line.heading) || null, toText(line.text)),
  },
  {
    file: 'medquad-question-answer',
    share: 0.1,
    read: (line) => toArticle(toText(line.question), null, toText(line.text)),
  },
];

/** Maximum passage length in characters; bounds the size of a batch. */
const passageUnitsMax = 800;
const passageUnitsMin = 60;
const sentenceUnitsMax = 600;

/**
 * Splits text into sentences at punctuation followed by a space and a capital letter, digit or quote.
 * Sentences that are too long are cut at a space.
 */
export function splitSentences(paragraph: string): string[] {
  const sentences: string[] = [];
  for (const part of paragraph.split(/(?<=[.!?]["')\]]?)\s+(?=["'([]?[\p{Lu}\p{N}])/u)) {
    let rest = part.trim();
    while (rest.length > sentenceUnitsMax) {
      const space = rest.lastIndexOf(' ', sentenceUnitsMax);
      const cut = space > 0 ? space : sentenceUnitsMax;
      sentences.push(rest.slice(0, cut));
      rest = rest.slice(cut).trim();
    }
    if (rest !== '') sentences.push(rest);
  }
  return sentences;
}

function* splitPassages(article: Article, articleNumber: number, source: number): Generator<TrainingPassage> {
  for (const { heading, paragraphs } of article.sections) {
    let sentences: string[] = [];
    let units = 0;
    for (const sentence of paragraphs.flatMap((paragraph) => splitSentences(paragraph))) {
      if (units > 0 && units + sentence.length > passageUnitsMax) {
        yield { article: articleNumber, source, title: article.title, heading, sentences };
        sentences = [];
        units = 0;
      }
      sentences.push(sentence);
      units += sentence.length + 1;
    }
    if (units >= passageUnitsMin)
      yield { article: articleNumber, source, title: article.title, heading, sentences };
  }
}

function decompress(command: string, path: string): Readable {
  const child = spawn(command, ['-dc', path], { stdio: ['ignore', 'pipe', 'inherit'] });
  const failed = (reason: string) => child.stdout.destroy(new Error(`${command} -dc ${path}: ${reason}`));
  child.on('error', (error) => failed(error.message));
  child.on('exit', (code) => {
    if (code !== 0) failed(`exit status ${code}`);
  });
  return child.stdout;
}

function openJsonLines(folder: string, file: string): Readable {
  const path = join(folder, `${file}.jsonl`);
  if (existsSync(path)) return createReadStream(path);
  if (existsSync(`${path}.gz`)) return createReadStream(`${path}.gz`).pipe(createGunzip());
  if (existsSync(`${path}.xz`)) return decompress('xz', `${path}.xz`);
  throw new Error(`${folder} has no ${file}.jsonl, ${file}.jsonl.gz or ${file}.jsonl.xz`);
}

/** Yields every passage of every source in `folder`, in the fixed order of `sources`. */
export async function* readPassages(folder: string): AsyncGenerator<TrainingPassage> {
  let article = 0;
  let previousId: unknown;
  for (const [number, source] of sources.entries()) {
    for await (const line of createInterface({ input: openJsonLines(folder, source.file) })) {
      const fields = JSON.parse(line) as Record<string, unknown>;
      // Some sources have one line per section: consecutive lines with the same id form one article.
      if (fields.id !== previousId) article += 1;
      previousId = fields.id;
      yield* splitPassages(source.read(fields), article, number);
    }
  }
}
