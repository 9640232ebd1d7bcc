/** Fenced code block of a Markdown page. */
export interface CodeBlock {
  readonly language: string;
  /** Reason why the block is not executed; null if it is. */
  readonly skipReason: string | null;
  readonly text: string;
  readonly line: number;
}

const fence = /^( *)```(\S*)(.*)$/;
const skipped = /^ no-run \((.+)\)$/;

/** Reads the fenced blocks of a page. Throws if a block has no end or an unknown word follows the language. */
export function codeBlocks(page: string): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let open: {
    indent: number;
    language: string;
    skipReason: string | null;
    line: number;
    lines: string[];
  } | null = null;
  for (const [index, line] of page.split('\n').entries()) {
    const [, indent = '', language = '', rest = ''] = fence.exec(line) ?? [];
    const isFence = fence.test(line);
    if (open !== null && isFence) {
      blocks.push({ ...open, text: `${open.lines.join('\n')}\n` });
      open = null;
    } else if (open !== null) open.lines.push(line.slice(open.indent));
    else if (isFence) {
      const skipReason = skipped.exec(rest)?.[1] ?? null;
      if (rest !== '' && skipReason === null)
        throw new Error(`line ${index + 1}: "${rest}" after \`\`\`${language}`);
      open = { indent: indent.length, language, skipReason, line: index + 1, lines: [] };
    }
  }
  if (open !== null) throw new Error(`the block of line ${open.line} is not closed`);
  return blocks;
}
