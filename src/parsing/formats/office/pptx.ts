import type { ParseLimits } from '../../limits.ts';
import { ParseFailure } from '../../parse-failure.ts';
import type { DocumentDetails } from '../../process/parse-task.ts';
import { TextBudget } from '../../text-budget.ts';
import type { ZipArchive } from '../../zip.ts';
import type { ParseContext } from '../format.ts';
import { readShapeLines, ShapeWalker } from './drawing.ts';
import { type DrawingContext, readDrawingPartLines } from './drawing-parts.ts';
import { type OfficePackage, openPart, readCoreProperties, readRelationships } from './office-package.ts';

/**
 * Parses presentations, one page per slide in show order, including hidden slides: shapes in drawing order,
 * the title marked with `#`, table rows as `a | b`, text of charts and diagrams, then the speaker notes.
 * Source: ECMA-376 part 1, section 19.
 */
export function* parsePptx(
  { archive, mainPart }: OfficePackage,
  { limits }: ParseContext,
): Generator<string, DocumentDetails> {
  const budget = new TextBudget(limits.textUnitsMax);
  const warnings: string[] = [];
  let firstTitle: string | null = null;
  let number = 0;
  for (const slide of listSlides(archive, mainPart, limits)) {
    number += 1;
    if (slide === null || !archive.has(slide)) {
      warnings.push(`Slide ${number} is missing from the file and was left empty.`);
      yield '';
      continue;
    }
    const damagedWarning = `A damaged chart or diagram on slide ${number} was skipped.`;
    const onDamaged = () => warnings.push(damagedWarning);
    const { text, title } = readSlide(slide, { archive, limits, budget, onDamaged });
    firstTitle ??= title;
    yield text;
  }
  if (number === 0) throw new ParseFailure('corrupt', 'The presentation has no slides.');
  const properties = readCoreProperties(archive, limits);
  return {
    headings: true,
    title: isDefaultTitle(properties.title) ? firstTitle : properties.title,
    language: properties.language,
    warnings,
  };
}

function isDefaultTitle(title: string | null): boolean {
  return (
    title === null || /^(?:powerpoint[- ]|pr[äe]sentation|presentation|slide 1$|no slide title)/i.test(title)
  );
}

/** Returns the part names of the slides in show order; null for a slide whose relationship is missing. */
function listSlides(archive: ZipArchive, mainPart: string, limits: ParseLimits): (string | null)[] {
  const relationships = readRelationships(archive, mainPart, limits);
  const reader = openPart(archive, mainPart, limits);
  const slides: (string | null)[] = [];
  for (let token = reader.next(); token !== 'end'; token = reader.next()) {
    if (token !== 'open' || reader.name !== 'sldId') continue;
    const id = reader.findQualifiedAttribute(/^\w+:id$/) ?? '';
    slides.push(relationships.get(id)?.target ?? null);
    if (slides.length > limits.pagesMax) {
      throw new ParseFailure('too_large', `The presentation exceeds the limit of ${limits.pagesMax} slides.`);
    }
  }
  return slides;
}

function readSlide(slide: string, context: DrawingContext): { text: string; title: string | null } {
  const { archive, limits, budget } = context;
  const shapes = new ShapeWalker(openPart(archive, slide, limits), budget, true);
  shapes.walk();
  const lines = [...shapes.lines];
  for (const relationship of readRelationships(archive, slide, limits).values()) {
    const { type, target } = relationship;
    for (const line of readDrawingPartLines(relationship, context)) lines.push(line);
    if (type !== 'notesSlide' || target === null || !archive.has(target)) continue;
    lines.push('');
    for (const line of readShapeLines(openPart(archive, target, limits), budget, false)) lines.push(line);
  }
  return {
    text: lines
      .join('\n')
      .replace(/\n{3,}/g, '\n\n')
      .trim(),
    title: shapes.title,
  };
}
