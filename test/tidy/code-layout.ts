import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../src/core/root.ts';
import { typescript } from '../support/typescript.ts';
import { columnsMax, functionLinesMax } from './rules.ts';
import { type TypeScriptFile, visit } from './sources.ts';

/** Text with comments replaced by spaces. */
export function withoutComments(file: TypeScriptFile): string {
  let code = file.text;
  visit(file.tree, (node) => {
    const ranges = [
      ...(typescript.getLeadingCommentRanges(file.text, node.pos) ?? []),
      ...(typescript.getTrailingCommentRanges(file.text, node.end) ?? []),
    ];
    for (const { pos, end } of ranges) {
      code = code.slice(0, pos) + code.slice(pos, end).replace(/[^\n]/g, ' ') + code.slice(end);
    }
  });
  return code;
}

/** Numbers of the lines that are longer than `columnsMax`. */
export function longLines(text: string): number[] {
  return text.split('\n').flatMap((line, index) => ([...line].length > columnsMax ? [index + 1] : []));
}

/** Start and end of every text and pattern. */
export function unbreakable(file: TypeScriptFile): [number, number][] {
  const ranges: [number, number][] = [];
  visit(file.tree, (node) => {
    if (
      typescript.isStringLiteralLike(node) ||
      typescript.isTemplateExpression(node) ||
      typescript.isRegularExpressionLiteral(node)
    ) {
      ranges.push([node.getStart(), node.end + 2]);
    }
  });
  return ranges;
}

/** A function starts with an unindented line that ends in "{" and ends with an unindented "}". */
export function longNativeFunctions(path: string): string[] {
  const violations: string[] = [];
  let start: number | null = null;
  readFileSync(join(projectRoot, path), 'utf8')
    .split('\n')
    .forEach((line, index) => {
      if (/^\w.*[^=]\s*\{$/.test(line) && !/^(namespace|class|struct|enum|union|extern)\b/.test(line))
        start = index;
      if (!line.startsWith('}') || start === null) return;
      const lines = index - start + 1;
      if (lines > functionLinesMax) violations.push(`${path}:${start + 1} has ${lines} lines`);
      start = null;
    });
  return violations;
}
