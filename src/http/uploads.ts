import { isUtf8 } from 'node:buffer';
import type { Readable, Writable } from 'node:stream';
import { Busboy } from '@fastify/busboy';
import { AppError, invalidFieldError } from '../core/app-error.ts';
import { limits } from '../core/limits.ts';
import { checkCollectionName, checkMetadata, checkPath } from '../schemas/checks.ts';
import type { UploadParameters } from '../schemas/documents.ts';
import { explainIssues } from '../schemas/issues.ts';
import { DocumentMetadataJson } from '../schemas/wire.ts';
import type { Exchange } from './exchange.ts';

export interface DocumentUpload {
  readonly parameters: UploadParameters;
  readonly body: AsyncIterable<Uint8Array>;
}

interface UploadInput {
  readonly exchange: Exchange;
  readonly chunks: AsyncIterable<Uint8Array>;
  readonly metadataBytesMax: number;
}

function checkParameters(parameters: UploadParameters, metadataBytesMax: number): UploadParameters {
  checkCollectionName(parameters.collection_name);
  checkPath(parameters.path);
  checkMetadata(parameters.metadata, metadataBytesMax);
  return parameters;
}

/** Parses `true` or `false`; null means false. */
function parseFlag(value: string | null, loc: readonly string[]): boolean {
  if (value === null || value === 'false') return false;
  if (value === 'true') return true;
  throw invalidFieldError(loc, 'must be true or false', 'boolean_type');
}

/** Parses metadata from outside a JSON body; a wrong shape is a 400 that names the source. */
function parseMetadata(source: string, json: string): DocumentMetadataJson {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new AppError('bad_request', `${source} is not valid JSON.`);
  }
  const issue = explainIssues(DocumentMetadataJson, value, [])[0];
  if (issue) {
    const location = issue.loc.length > 0 ? ` at ${JSON.stringify(issue.loc.join('.'))}` : '';
    throw new AppError(
      'bad_request',
      `${source} is not an object of strings and lists of strings:${location} it ${issue.msg}.`,
    );
  }
  return value as DocumentMetadataJson;
}

function parseHeaderMetadata(header: string | undefined): DocumentMetadataJson {
  if (header === undefined) return {};
  const source = 'The header x-quarry-metadata';
  const bytes = Buffer.from(header, 'base64url');
  if (bytes.toString('base64url') !== header.replace(/=+$/, '')) {
    throw new AppError('bad_request', `${source} is not base64url.`);
  }
  if (!isUtf8(bytes)) throw new AppError('bad_request', `${source} is not UTF-8.`);
  return parseMetadata(source, bytes.toString('utf8'));
}

/** Reads `PUT /documents/{collection}/{path}`; path, query and headers describe the body. */
export function readPutUpload(
  params: Readonly<Record<string, string>>,
  query: URLSearchParams,
  input: UploadInput,
): DocumentUpload {
  const parameters = {
    collection_name: params.collection ?? '',
    path: params['*'] ?? '',
    metadata: parseHeaderMetadata(input.exchange.header('x-quarry-metadata')),
    overwrite: parseFlag(query.get('overwrite'), ['query', 'overwrite']),
    wait: parseFlag(query.get('wait'), ['query', 'wait']),
  };
  return { parameters: checkParameters(parameters, input.metadataBytesMax), body: input.chunks };
}

function parseFormParameters(fields: ReadonlyMap<string, string>): UploadParameters {
  const required = (name: string): string => {
    const value = fields.get(name);
    if (value === undefined)
      throw invalidFieldError(['body', name], 'is missing; it must come before the file', 'missing');
    return value;
  };
  const metadata = fields.get('metadata');
  return {
    collection_name: required('collection_name'),
    path: required('path'),
    metadata: metadata === undefined ? {} : parseMetadata('The field metadata', metadata),
    overwrite: parseFlag(fields.get('overwrite') ?? null, ['body', 'overwrite']),
    wait: parseFlag(fields.get('wait') ?? null, ['body', 'wait']),
  };
}

/**
 * Reads the form of `POST /documents/upload` up to the file, which is then streamed. The body ends only when
 * the form is complete; any error after the file makes it throw, so that no incomplete upload is
 * acknowledged.
 */
export async function readMultipartUpload(input: UploadInput): Promise<DocumentUpload> {
  const form = new MultipartForm(input);
  const file = await form.file;
  try {
    const parameters = checkParameters(parseFormParameters(form.fields), input.metadataBytesMax);
    return { parameters, body: form.stream(file) };
  } catch (error) {
    form.abort();
    throw error;
  }
}

function invalidFormError(msg: string): AppError {
  return invalidFieldError(['body'], msg, 'multipart_invalid');
}

/**
 * Character that the parser substitutes for invalid UTF-8. Two paths in another encoding could become equal,
 * so a field that contains it is refused, even if the client did send this character.
 */
const replacementCharacter = '\ufffd';

class MultipartForm {
  readonly fields = new Map<string, string>();
  /** The file part, once the fields before it are read. */
  readonly file: Promise<Readable>;
  readonly #parser: Busboy;
  /** Settles when the parser has consumed the whole form or failed. */
  readonly #parsed: Promise<void>;
  readonly #failed: Promise<void>;
  #settleFailed: () => void = () => {};
  #rejectFile: (error: Error) => void = () => {};
  #fileStream: Readable | null = null;
  #error: Error | null = null;

  constructor(input: UploadInput) {
    this.#parser = openParser(input.exchange.header('content-type'));
    this.#failed = new Promise((resolve) => {
      this.#settleFailed = resolve;
    });
    this.file = new Promise((resolve, reject) => {
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
    this.#parsed = feedParser(input.chunks, this.#parser).catch((error: Error) => this.#fail(error));
  }

  /** Yields the file, then throws any error in the rest of the form. */
  async *stream(file: Readable): AsyncGenerator<Uint8Array, void, undefined> {
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

  #file(stream: Readable, resolve: (file: Readable) => void): void {
    stream.on('error', () => {}); // the reader of the stream gets the error; without a listener it would end the process
    if (this.#fileStream) {
      stream.resume();
      this.#fail(invalidFormError('The form has more than one file.'));
      return;
    }
    this.#fileStream = stream;
    resolve(stream);
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
