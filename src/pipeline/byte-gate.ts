interface Waiting {
  readonly bytes: number;
  readonly enter: () => void;
}

/** Bounds how many bytes are worked on at the same time. Whoever is larger than the bound goes alone; turns are kept. */
export class ByteGate {
  readonly #bytesMax: number;
  #bytes = 0;
  #waiting: Waiting[] = [];

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  async run<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    await new Promise<void>((enter) => {
      this.#waiting.push({ bytes, enter });
      this.#open();
    });
    try {
      return await work();
    } finally {
      this.#bytes -= bytes;
      this.#open();
    }
  }

  #open(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (this.#bytes > 0 && this.#bytes + next.bytes > this.#bytesMax) return;
      this.#waiting.shift();
      this.#bytes += next.bytes;
      next.enter();
    }
  }
}
