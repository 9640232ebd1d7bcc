import type { LineBoxes } from '../../src/core/line-boxes.ts';
import { defaultParseLimits, type ParseLimits } from '../../src/parsing/limits.ts';
import { parseDocument } from '../../src/parsing/parse.ts';
import { ParseFailure } from '../../src/parsing/parse-failure.ts';
import type { ParsedDocument } from '../../src/parsing/process/parse-task.ts';

/** Parses a document in this process. */
export async function parseInProcess(
  bytes: Uint8Array,
  path: string | null = null,
  limits: Partial<ParseLimits> = {},
): Promise<ParsedDocument> {
  const stream = parseDocument(bytes, path, { ...defaultParseLimits, ...limits });
  const pages: string[] = [];
  const boxes: (LineBoxes | null)[] = [];
  for (;;) {
    const step = await stream.next();
    if (step.done === true) return { ...step.value, pages, boxes };
    pages.push(step.value.text);
    boxes.push(step.value.boxes);
  }
}

/** Returns the parse failure; throws if parsing succeeds. */
export async function parseFailureOf(
  bytes: Uint8Array,
  path: string | null = null,
  limits: Partial<ParseLimits> = {},
): Promise<ParseFailure> {
  try {
    const document = await parseInProcess(bytes, path, limits);
    throw new Error(`was read as ${document.kind} with ${document.pages.length} pages`);
  } catch (error) {
    if (error instanceof ParseFailure) return error;
    throw error;
  }
}
