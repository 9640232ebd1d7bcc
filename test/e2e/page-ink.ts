import sharp from 'sharp';

/** Rectangle as fractions of a page image. */
export interface ImageRectangle {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** Dark pixels of a page image: the ink of its text. */
export class PageInk {
  readonly #dark: readonly (readonly [x: number, y: number])[];

  private constructor(dark: readonly (readonly [x: number, y: number])[]) {
    this.#dark = dark;
  }

  /** Reads the image that the server returns for a page. */
  static async read(url: string): Promise<PageInk> {
    const reply = await fetch(url);
    if (reply.status !== 200) throw new Error(`the page image has status ${reply.status}`);
    const image = sharp(Buffer.from(await reply.arrayBuffer()))
      .toColourspace('b-w')
      .raw();
    const { data, info } = await image.toBuffer({ resolveWithObject: true });
    const dark: (readonly [number, number])[] = [];
    for (let i = 0; i < info.width * info.height; i++) {
      if (data[i * info.channels]! > 110) continue;
      dark.push([((i % info.width) + 0.5) / info.width, (Math.floor(i / info.width) + 0.5) / info.height]);
    }
    return new PageInk(dark);
  }

  get size(): number {
    return this.#dark.length;
  }

  /** Returns the number of dark pixels inside of at least one rectangle. */
  countWithin(rectangles: readonly ImageRectangle[]): number {
    return this.#dark.filter((pixel) => rectangles.some((one) => contains(one, pixel))).length;
  }
}

export function contains(
  { left, top, width, height }: ImageRectangle,
  [x, y]: readonly [x: number, y: number],
): boolean {
  return x >= left && x <= left + width && y >= top && y <= top + height;
}
