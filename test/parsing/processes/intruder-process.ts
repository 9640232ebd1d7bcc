import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import type { DocumentRequest, ParserMessage } from '../../../src/parsing/parser-messages.ts';

/** A parser process that was taken over: it answers what it may and may not do. */
function attempt(name: string, action: () => unknown): string {
  try {
    action();
    return `${name}: allowed`;
  } catch (error) {
    return `${name}: ${error instanceof Error && 'code' in error ? error.code : error}`;
  }
}

function answer(request: DocumentRequest): void {
  const findings = [
    attempt('read its document', () => readFileSync(request.file)),
    attempt('read elsewhere', () => readFileSync('/etc/passwd')),
    attempt('write', () => writeFileSync(`${request.file}.new`, 'x')),
    attempt('start a program', () => spawn('true')),
    `environment: ${Object.keys(process.env)
      .filter((name) => !name.startsWith('NODE_CHANNEL'))
      .join()}`,
  ];
  const facts = {
    kind: 'text' as const,
    contentType: 'text/plain',
    unordered: false,
    headings: false,
    title: null,
    language: null,
    warnings: findings,
  };
  process.send?.({ type: 'done', facts, residentBytes: 0 } satisfies ParserMessage);
}

process.on('message', answer);
process.send?.({ type: 'ready' } satisfies ParserMessage);
