/** A reply of this shape whose JSON exists already; the door sends it as it is. */
export class Rendered<Body> {
  /** JSON in UTF-8. */
  readonly json: Uint8Array;

  constructor(json: Uint8Array) {
    this.json = json;
  }

  static of<Body>(body: Body): Rendered<Body> {
    return new Rendered(Buffer.from(JSON.stringify(body)));
  }

  /** The reply as whoever receives it reads it. */
  parse(): Body {
    const { buffer, byteOffset, byteLength } = this.json;
    return JSON.parse(Buffer.from(buffer, byteOffset, byteLength).toString()) as Body;
  }
}

const bytesMin = 65_536;
/** A writer that one long reply made larger than this does not stay so. */
const bytesKeptMax = 1_048_576;

/** Puts JSON together from pieces of text and of ready bytes. One after the other, not side by side. */
export class JsonWriter {
  #bytes = Buffer.allocUnsafeSlow(bytesMin);
  #length = 0;

  /** Forgets what a reply left that failed half-way: nobody else may get to see it. */
  begin(): void {
    this.#length = 0;
  }

  text(json: string): void {
    this.#reserve(3 * json.length);
    this.#length += this.#bytes.write(json, this.#length);
  }

  bytes(json: Uint8Array): void {
    this.#reserve(json.byteLength);
    this.#bytes.set(json, this.#length);
    this.#length += json.byteLength;
  }

  /** What was written since `begin`, for the caller to keep. */
  take(): Uint8Array {
    const taken = Buffer.allocUnsafeSlow(this.#length);
    this.#bytes.copy(taken, 0, 0, this.#length);
    this.begin();
    if (this.#bytes.length > bytesKeptMax) this.#bytes = Buffer.allocUnsafeSlow(bytesMin);
    return taken;
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.length, this.#length + bytes));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}
