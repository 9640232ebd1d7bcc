import { type ComponentChildren, Fragment, type JSX } from 'preact';
import type { TextSyntax } from '../../../src/core/file-types.ts';
import {
  type DisplayBlock,
  type DisplayLine,
  parseTextBlocks,
  type TextRange,
} from '../../../src/core/text-blocks.ts';
import { texts } from '../texts/en/document.ts';
import { segmentsOf } from './excerpt-range.ts';
import { type MarkedSource, overlaps, renderLine, type TextMarks } from './marked-line.tsx';

/** Longer texts are shown as they are: thousands of blocks would make the page slow. */
const blockTextUnitsMax = 200_000;

interface PageTextProps {
  readonly text: string;
  /** Syntax of the text; null for code and other texts whose line breaks have a meaning. */
  readonly syntax: TextSyntax | null;
  readonly marks: TextMarks;
  /** Part of the text that is shown; all of it by default. */
  readonly shown?: TextRange;
  /** Whether headings are elements of the outline of the page, instead of bold lines. */
  readonly hasHeadings?: boolean;
}

/**
 * Text of a page or of a result. Stored texts become text nodes and never HTML. Prose is shown as headings, lists,
 * tables, code and paragraphs; the stored text does not change.
 */
export function PageText({
  text,
  syntax,
  marks,
  shown,
  hasHeadings = true,
}: PageTextProps): ComponentChildren {
  const all = { start: 0, end: text.length };
  const source: Source = {
    text,
    marks,
    isMarkdown: syntax === 'markdown',
    shown: shown ?? all,
    hasHeadings,
  };
  if (syntax === null || text.length > blockTextUnitsMax)
    return <pre class={classOf([all], source)}>{renderLine([{ ...all, separator: '' }], source)}</pre>;
  return parseTextBlocks(text, syntax)
    .filter((block) => isShown(segmentsOf(block), source))
    .map((block, i) => <Block key={i} block={block} source={source} />);
}

interface Source extends MarkedSource {
  readonly hasHeadings: boolean;
}

function isShown(segments: readonly TextRange[], { shown }: Source): boolean {
  return segments.some((segment) => overlaps(segment, shown));
}

/** Class of a block with a part of the outer mark. */
function classOf(segments: readonly TextRange[], { marks: { outer, outerClass } }: Source): string {
  return outer !== null && segments.some((segment) => overlaps(segment, outer)) ? `has-${outerClass}` : '';
}

interface BlockProps {
  readonly block: DisplayBlock;
  readonly source: Source;
}

/** The title of the page is a heading of level 1 and its parts are of level 2, so headings of the text start below. */
const headingTags = ['h3', 'h4', 'h5', 'h6', 'h6', 'h6'] as const;

function Block({ block, source }: BlockProps): JSX.Element {
  const className = classOf(segmentsOf(block), source);
  switch (block.kind) {
    case 'heading': {
      const Heading = source.hasHeadings ? (headingTags[block.level - 1] ?? 'h6') : 'strong';
      return <Heading class={`text-heading ${className}`}>{renderLines(block.lines, source)}</Heading>;
    }
    case 'paragraph':
      return <p class={className}>{renderLines(block.lines, source)}</p>;
    case 'code':
      return <pre class={className}>{renderLine([{ ...block.range, separator: '' }], source)}</pre>;
    case 'list':
      return (
        <ul class={className}>
          {block.items
            .filter(({ lines }) => isShown(lines.flat(), source))
            .map(({ marker, depth, lines }, i) => (
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
      return <TextTable block={block} source={source} className={className} />;
  }
}

interface TextTableProps {
  readonly block: Extract<DisplayBlock, { kind: 'table' }>;
  readonly source: Source;
  readonly className: string;
}

function TextTable({ block: { rows, hasHeader }, source, className }: TextTableProps) {
  const columns = Math.max(...rows.map((cells) => cells.length));
  const renderRow = (cells: readonly TextRange[], Cell: 'th' | 'td', row: Source) =>
    Array.from({ length: columns }, (_, i) => {
      const cell = cells[i];
      return (
        <Cell key={i} {...(Cell === 'th' ? { scope: 'col' } : {})}>
          {cell !== undefined && renderLine([{ ...cell, separator: '' }], row)}
        </Cell>
      );
    });
  const [first, ...others] = rows;
  // The names of the columns explain the rows that are shown.
  const headSource = { ...source, shown: { start: 0, end: source.text.length } };
  const body = (hasHeader ? others : rows).filter((cells) => isShown(cells, source));
  return (
    <div class={`text-table ${className}`} tabIndex={0} role="group" aria-label={texts.table}>
      <table>
        {hasHeader && first !== undefined && (
          <thead>
            <tr>{renderRow(first, 'th', headSource)}</tr>
          </thead>
        )}
        <tbody>
          {body.map((cells, i) => (
            <tr key={i}>{renderRow(cells, 'td', source)}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function renderLines(lines: readonly DisplayLine[], source: Source): ComponentChildren {
  return lines
    .filter((line) => isShown(line, source))
    .map((line, i) => (
      <Fragment key={i}>
        {i > 0 && <br />}
        {renderLine(line, source)}
      </Fragment>
    ));
}
