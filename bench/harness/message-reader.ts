/** Maximum size of one message in bytes. */
const messageBytesMax = 64 * 1024 * 1024;
const headEnd = Buffer.from('\r\n\r\n');
const lengthHeader = /\r\ncontent-length: *(\d+)/i;

export interface HttpMessage {
  /** Request line or status line. */
  readonly startLine: string;
  /** Valid until the next `push`. */
  readonly body: Buffer;
}

/**
 * Splits the bytes of an HTTP/1.1 connection into messages, requests and replies alike. Supports only what
 * the load generator and the trivial server need: every message has a content-length or no body.
 */
export class MessageReader {
  readonly #onMessage: (message: HttpMessage) => void;
  #buffer: Buffer = Buffer.alloc(0);
  /** Bytes of the incoming message; 0 while its head is incomplete. */
  #messageBytes = 0;
  #bodyStart = 0;

  constructor(onMessage: (message: HttpMessage) => void) {
    this.#onMessage = onMessage;
  }

  /** Processes the next bytes. Errors: throws for unsupported messages. */
  push(piece: Buffer): void {
    this.#buffer = this.#buffer.length === 0 ? piece : Buffer.concat([this.#buffer, piece]);
    while (this.#readHead() && this.#buffer.length >= this.#messageBytes) {
      const message = this.#buffer.subarray(0, this.#messageBytes);
      const body = message.subarray(this.#bodyStart);
      this.#buffer = this.#buffer.subarray(this.#messageBytes);
      this.#messageBytes = 0;
      this.#onMessage({ startLine: message.toString('latin1', 0, message.indexOf(13)), body });
    }
  }

  /** Returns whether the head of the incoming message is complete. */
  #readHead(): boolean {
    if (this.#messageBytes > 0) return true;
    const end = this.#buffer.indexOf(headEnd);
    if (end < 0) {
      if (this.#buffer.length > messageBytesMax) throw new Error('The head of an HTTP message is too long.');
      return false;
    }
    const head = this.#buffer.toString('latin1', 0, end);
    if (/\r\ntransfer-encoding:/i.test(head)) {
      throw new Error('The load generator reads messages with content-length only; this one is chunked.');
    }
    const bodyBytes = Number(lengthHeader.exec(head)?.[1] ?? 0);
    if (bodyBytes > messageBytesMax) throw new Error(`A message of ${bodyBytes} bytes is over the limit.`);
    this.#bodyStart = end + headEnd.length;
    this.#messageBytes = this.#bodyStart + bodyBytes;
    return true;
  }
}
