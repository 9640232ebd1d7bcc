import { checkMetadata, checkPath } from '../schemas/checks.ts';
import { BatchDocument } from '../schemas/documents.ts';
import { compileValidator } from '../schemas/validate.ts';

const validateShape = compileValidator(BatchDocument);

/** Validates one document of a batch. Errors: 422 for another shape, 400 for an invalid path or metadata. */
export function validateBatchItem(item: unknown, metadataBytesMax: number): BatchDocument {
  const document = validateShape(item);
  checkPath(document.path);
  if (document.metadata !== undefined) checkMetadata(document.metadata, metadataBytesMax);
  return document;
}
