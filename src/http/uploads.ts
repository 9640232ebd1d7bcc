import { isUtf8 } from 'node:buffer';
import { AppError, invalidFieldError } from '../core/app-error.ts';
import { checkCollectionName, checkMetadata, checkPath } from '../schemas/checks.ts';
import type { UploadParameters } from '../schemas/documents.ts';
import { explainIssues } from '../schemas/issues.ts';
import { DocumentMetadataJson } from '../schemas/wire.ts';
import type { MultipartForm } from './multipart-form.ts';

export interface DocumentUpload {
  readonly parameters: UploadParameters;
  readonly body: AsyncIterable<Uint8Array>;
}

/** Parts of `PUT /documents/{collection}/{path}` that describe its body. */
export interface PutDescription {
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Value of the header `x-quarry-metadata`. */
  readonly metadata: string | undefined;
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
      `${source} is not an object of strings, numbers, booleans, points and lists of strings:${location} it ${issue.msg}.`,
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

/** Errors: 400, 422. */
export function parsePutUpload(
  { params, query, metadata }: PutDescription,
  metadataBytesMax: number,
): UploadParameters {
  const parameters = {
    collection_name: params.collection ?? '',
    path: params['*'] ?? '',
    metadata: parseHeaderMetadata(metadata),
    overwrite: parseFlag(query.get('overwrite'), ['query', 'overwrite']),
    wait: parseFlag(query.get('wait'), ['query', 'wait']),
  };
  return checkParameters(parameters, metadataBytesMax);
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
 * Returns the upload that a form describes, after its fields were read; the file is streamed. The body ends
 * only when the form is complete; any error after the file makes it throw, so that no incomplete upload is
 * acknowledged. Errors: 400, 422.
 */
export function parseFormUpload(form: MultipartForm, metadataBytesMax: number): DocumentUpload {
  try {
    const parameters = checkParameters(parseFormParameters(form.fields), metadataBytesMax);
    return { parameters, body: form.streamFile() };
  } catch (error) {
    form.abort();
    throw error;
  }
}
