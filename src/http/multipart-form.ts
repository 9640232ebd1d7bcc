import type { Readable, Writable } from 'node:stream';
import { Busboy } from '@fastify/busboy';
import { type AppError, invalidFieldError } from '../core/app-error.ts';
import { assert } from '../core/assert.ts';
import { limits } from '../core/limits.ts';

function invalidFormError(msg: string): AppError {
  return invalidFieldError(['body'], msg, 'multipart_invalid');
}

/**
 * Character that the parser substitutes for invalid UTF-8. Two paths in another encoding could become equal,
 * so a field that contains it is rejected, even if the client did send this character.
 */
const replacementCharacter = '\ufffd';

/** Form of `POST /documents/upload`: fields, then one file, which is streamed. */
export class MultipartForm {
  readonly fields = new Map<string, string>();
  readonly #parser: Busboy;
  /** Settles when the parser has consumed the whole form or failed. */
  readonly #parsed: Promise<void>;
  readonly #failed: Promise<void>;
  /** Settles when the file part begins. */
  readonly #fileOpened: Promise<void>;
  #settleFailed: () => void = () => {};
  #rejectFile: (error: Error) => void = () => {};
  #fileStream: Readable | null = null;
  #error: Error | null = null;

  /** Errors: 422 for another content type. */
  constructor(contentType: string | undefined, chunks: AsyncIterable<Uint8Array>) {
    this.#parser = openParser(contentType);
    this.#failed = new Promise((resolve) => {
      this.#settleFailed = resolve;
    });
    this.#fileOpened = new Promise((resolve, reject) => {
      this.#parser.on('file', (_name, stream) => this.#file(stream, resolve));
      this.#parser.once('finish', () => reject(invalidFormError('The form has no field "file".')));
      this.#rejectFile = reject;
    });
    this.#parser.on('field', (name, value, nameCut, valueCut) =>
      this.#field(name, { value, cut: nameCut || valueCut }),
    );
    this.#parser.on('fieldsLimit', () => {
      this.#fail(invalidFormError(`The form has more than ${limits.multipartFieldsMax} fields.`));
    });
    this.#parser.on('error', () => this.#fail(invalidFormError('The form is malformed or incomplete.')));
    this.#parsed = feedParser(chunks, this.#parser).catch((error: Error) => this.#fail(error));
  }

  /** Reads the fields, up to the file. Errors: 422 for a malformed form or one without a file. */
  readFields(): Promise<void> {
    return this.#fileOpened;
  }

  /** Yields the file, then throws any error in the rest of the form. Called after `readFields`. */
  async *streamFile(): AsyncGenerator<Uint8Array, void, undefined> {
    const file = this.#fileStream;
    assert(file, 'readFields waits for the file');
    try {
      for await (const chunk of file) yield chunk as Uint8Array;
    } catch {
      throw this.#error ?? invalidFormError('The form ends inside the file.');
    } finally {
      if (!file.readableEnded) this.abort();
    }
    await Promise.race([this.#parsed, this.#failed]);
    if (this.#error) throw this.#error;
  }

  /** Abandons the rest of the form. */
  abort(): void {
    this.#fail(invalidFormError('The upload was aborted.'));
  }

  #field(name: string, { value, cut }: { value: string; cut: boolean }): void {
    const displayedName = JSON.stringify(String(name).slice(0, 64));
    if (this.#fileStream)
      this.#fail(
        invalidFormError(`The field ${displayedName} comes after the file. Send all fields before the file.`),
      );
    else if (cut) this.#fail(invalidFormError(`The field ${displayedName} is too long.`));
    else if (value.includes(replacementCharacter))
      this.#fail(invalidFormError(`The field ${displayedName} is not UTF-8.`));
    else if (this.fields.has(name))
      this.#fail(invalidFormError(`The field ${displayedName} occurs more than once.`));
    else this.fields.set(name, value);
  }

  #file(stream: Readable, resolve: () => void): void {
    stream.on('error', () => {}); // the reader of the stream gets the error; without a listener it would end the process
    if (this.#fileStream) {
      stream.resume();
      this.#fail(invalidFormError('The form has more than one file.'));
      return;
    }
    this.#fileStream = stream;
    resolve();
  }

  #fail(error: Error): void {
    if (this.#error !== null) return;
    this.#error = error;
    this.#fileStream?.destroy(error);
    this.#parser.destroy(error);
    this.#rejectFile(error);
    this.#settleFailed();
  }
}

function openParser(contentType: string | undefined): Busboy {
  if (!/^multipart\/form-data\s*;/i.test(contentType ?? '')) {
    throw invalidFormError('The content-type must be multipart/form-data with a boundary.');
  }
  try {
    return new Busboy({
      headers: { 'content-type': contentType ?? '' },
      isPartAFile: (name) => name === 'file',
      limits: {
        fieldSize: limits.multipartFieldBytesMax,
        fields: limits.multipartFieldsMax,
        headerPairs: 32,
        headerSize: 16_384,
      },
    });
  } catch {
    throw invalidFormError('The content-type must be multipart/form-data with a boundary.');
  }
}

/** Writes the chunks to the parser with backpressure and ends it. Rejects when the parser is destroyed. */
async function feedParser(chunks: AsyncIterable<Uint8Array>, parser: Writable): Promise<void> {
  let abandon: (reason: Error) => void = () => {};
  // A parser that is destroyed while its file is unread never calls back for the pending chunk.
  parser.once('close', () => abandon(invalidFormError('The upload was aborted.')));
  for await (const chunk of chunks) {
    await new Promise<void>((resolve, reject) => {
      abandon = reject;
      parser.write(chunk, (error) => (error ? reject(error) : resolve()));
    });
  }
  await new Promise<void>((resolve, reject) => {
    parser.once('finish', resolve);
    parser.once('error', reject);
    parser.end();
  });
}
