import { type ComponentChildren, Fragment, type JSX } from 'preact';
import type { TextSyntax } from '../../../src/core/file-types.ts';
import {
  type DisplayBlock,
  type DisplayLine,
  parseTextBlocks,
  splitInline,
  type TextRange,
} from '../../../src/core/text-blocks.ts';
import { texts } from '../texts/en/document.ts';

/** Longer texts are shown as they are: thousands of blocks would make the page slow. */
const blockTextUnitsMax = 200_000;

interface PageTextProps {
  readonly text: string;
  /** Syntax of the text; null for code and other texts whose line breaks have a meaning. */
  readonly syntax: TextSyntax | null;
  /** Range to mark. */
  readonly passage: TextRange | null;
}

/**
 * Text of a page. Stored texts become text nodes and never HTML. Prose is shown as headings, lists, tables, code and
 * paragraphs; the stored text does not change.
 */
export function PageText({ text, syntax, passage }: PageTextProps): ComponentChildren {
  const source: Source = { text, passage, isMarkdown: syntax === 'markdown' };
  if (syntax === null || text.length > blockTextUnitsMax)
    return <pre>{renderPieces([{ start: 0, end: text.length, separator: '' }], source)}</pre>;
  return parseTextBlocks(text, syntax).map((block, i) => <Block key={i} block={block} source={source} />);
}

interface Source {
  readonly text: string;
  readonly passage: TextRange | null;
  readonly isMarkdown: boolean;
}

interface BlockProps {
  readonly block: DisplayBlock;
  readonly source: Source;
}

/** The title of the page is a heading of level 1 and its parts are of level 2, so headings of the text start below. */
const headingTags = ['h3', 'h4', 'h5', 'h6', 'h6', 'h6'] as const;

function Block({ block, source }: BlockProps): JSX.Element {
  switch (block.kind) {
    case 'heading': {
      const Heading = headingTags[block.level - 1] ?? 'h6';
      return <Heading>{renderLines(block.lines, source)}</Heading>;
    }
    case 'paragraph':
      return <p>{renderLines(block.lines, source)}</p>;
    case 'code':
      return <pre>{renderPieces([{ ...block.range, separator: '' }], source)}</pre>;
    case 'list':
      return (
        <ul>
          {block.items.map(({ marker, depth, lines }, i) => (
            <li key={i} data-depth={Math.min(depth, 4)}>
              <span class="item-marker">
                {source.text.slice(marker.start, marker.end).replace(/^[-*+]$/, '•')}
              </span>
              <span>{renderLines(lines, source)}</span>
            </li>
          ))}
        </ul>
      );
    case 'table':
      return <TextTable block={block} source={source} />;
  }
}

interface TextTableProps {
  readonly block: Extract<DisplayBlock, { kind: 'table' }>;
  readonly source: Source;
}

function TextTable({ block: { rows, hasHeader }, source }: TextTableProps) {
  const columns = Math.max(...rows.map((cells) => cells.length));
  const renderRow = (cells: readonly TextRange[], Cell: 'th' | 'td') =>
    Array.from({ length: columns }, (_, i) => {
      const cell = cells[i];
      return (
        <Cell key={i} {...(Cell === 'th' ? { scope: 'col' } : {})}>
          {cell !== undefined && renderPieces([{ ...cell, separator: '' }], source)}
        </Cell>
      );
    });
  const [first, ...others] = rows;
  return (
    <div class="text-table" tabIndex={0} role="group" aria-label={texts.table}>
      <table>
        {hasHeader && first !== undefined && (
          <thead>
            <tr>{renderRow(first, 'th')}</tr>
          </thead>
        )}
        <tbody>
          {(hasHeader ? others : rows).map((cells, i) => (
            <tr key={i}>{renderRow(cells, 'td')}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function renderLines(lines: readonly DisplayLine[], source: Source): ComponentChildren {
  return lines.map((line, i) => (
    <Fragment key={i}>
      {i > 0 && <br />}
      {renderPieces(line, source)}
    </Fragment>
  ));
}

/** Renders ranges of the text, with the passage in `mark` elements. */
function renderPieces(line: DisplayLine, { text, passage, isMarkdown }: Source): ComponentChildren {
  const parts: { text: string; isMarked: boolean; isCode: boolean; isStrong: boolean }[] = [];
  for (const { start, end, separator } of line) {
    const last = parts.at(-1);
    if (last !== undefined && separator !== '') last.text += separator;
    for (const span of isMarkdown ? splitInline(text, { start, end }) : [{ start, end, style: null }]) {
      for (const part of splitAtPassage(span, passage))
        parts.push({
          text: text.slice(part.start, part.end),
          isMarked: part.isMarked,
          isCode: span.style === 'code',
          isStrong: span.style === 'strong',
        });
    }
  }
  return parts.map(({ text: shown, isMarked, isCode, isStrong }, i) => {
    const content = isMarked ? (
      <mark class="passage" tabIndex={-1}>
        {shown}
      </mark>
    ) : (
      shown
    );
    return isCode ? (
      <code key={i}>{content}</code>
    ) : isStrong ? (
      <strong key={i}>{content}</strong>
    ) : (
      <Fragment key={i}>{content}</Fragment>
    );
  });
}

function splitAtPassage({ start, end }: TextRange, passage: TextRange | null) {
  const first = Math.min(end, Math.max(start, passage?.start ?? end));
  const last = Math.min(end, Math.max(first, passage?.end ?? end));
  return [
    { start, end: first, isMarked: false },
    { start: first, end: last, isMarked: true },
    { start: last, end, isMarked: false },
  ].filter((part) => part.end > part.start);
}
