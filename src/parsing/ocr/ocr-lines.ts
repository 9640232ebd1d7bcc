import type { LineBox } from '../../core/line-boxes.ts';
import { numbersPerWord, type OcrWords } from '../tools/document-tools.ts';

/** Maximum height that the skew of the page adds to the box of a line, as a share of the height of its words. */
const skewHeightMax = 0.4;

/** Part of a line, in pixels of the image that was read. */
interface LinePart {
  readonly line: number;
  readonly start: number;
  end: number;
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/**
 * Returns the boxes of recognized lines on the page. The image that was read is the page rotated clockwise by `degrees`
 * around its center. A line that is skewed on the page is divided into parts, whose boxes are hardly higher than the
 * words.
 */
export function toPageLines({ width, height, numbers }: OcrWords, degrees: number): LineBox[] {
  const radians = (degrees * Math.PI) / 180;
  const slope = Math.abs(Math.tan(((degrees - 90 * Math.round(degrees / 90)) * Math.PI) / 180));
  const parts: LinePart[] = [];
  for (let i = 0; i < numbers.length; i += numbersPerWord) {
    const [start = 0, end = 0, line = 0, left = 0, top = 0, across = 0, down = 0] = numbers.subarray(
      i,
      i + numbersPerWord,
    );
    const word = { line, start, end, left, top, right: left + across, bottom: top + down };
    const part = parts.at(-1);
    if (part !== undefined && part.line === line && staysLow(part, word, slope)) extendPart(part, word);
    else parts.push(word);
  }
  const [cosine, sine] = [Math.cos(radians), Math.sin(radians)];
  const page = measurePage({ width, height }, cosine, sine);
  return parts.map((part) => {
    const corners = [part.left, part.right].flatMap((x) =>
      [part.top, part.bottom].map((y) => {
        const [right, down] = [x - width / 2, y - height / 2];
        return [
          0.5 + (right * cosine + down * sine) / page.width,
          0.5 + (down * cosine - right * sine) / page.height,
        ] as const;
      }),
    );
    const [xs, ys] = [corners.map(([x]) => x), corners.map(([, y]) => y)];
    return {
      start: part.start,
      end: part.end,
      left: Math.min(...xs),
      right: Math.max(...xs),
      top: Math.min(...ys),
      bottom: Math.max(...ys),
    };
  });
}

/** Whether the box of a part on the page stays low when it is extended by a word. */
function staysLow(part: LinePart, word: LinePart, slope: number): boolean {
  const length = Math.max(part.right, word.right) - Math.min(part.left, word.left);
  const height = Math.max(part.bottom - part.top, word.bottom - word.top);
  return length * slope <= skewHeightMax * height;
}

function extendPart(part: LinePart, word: LinePart): void {
  part.end = word.end;
  part.left = Math.min(part.left, word.left);
  part.top = Math.min(part.top, word.top);
  part.right = Math.max(part.right, word.right);
  part.bottom = Math.max(part.bottom, word.bottom);
}

/** Returns the size of the page from that of the smallest upright image that contains the rotated page. */
function measurePage(
  { width, height }: { readonly width: number; readonly height: number },
  cosine: number,
  sine: number,
): { readonly width: number; readonly height: number } {
  const [c, s] = [Math.abs(cosine), Math.abs(sine)];
  const determinant = c * c - s * s;
  return { width: (c * width - s * height) / determinant, height: (c * height - s * width) / determinant };
}
