import {
  type IDataObject,
  type IExecuteFunctions,
  type IHttpRequestOptions,
  type ILoadOptionsFunctions,
  type JsonObject,
  NodeApiError,
  NodeOperationError,
} from 'n8n-workflow';

interface SearchReply {
  readonly results: readonly (IDataObject & { readonly path: string })[];
  readonly document_results: readonly { readonly path: string; readonly metadata: IDataObject }[];
}

/** Returns one object per snippet, with the metadata of its document. */
export async function search(context: IExecuteFunctions, item: number): Promise<IDataObject[]> {
  const { filter, reranker, ...options } = context.getNodeParameter('searchOptions', item, {}) as IDataObject;
  const body = {
    ...options,
    collection_name: context.getNodeParameter('collection', item),
    query: context.getNodeParameter('query', item),
    k: context.getNodeParameter('limit', item),
    filter: parseObject(context, { name: 'Filter', value: filter, item }),
    include_document_metadata: true,
    // An empty field means none.
    ...(reranker ? { reranker } : {}),
  };
  const reply = await send(
    context,
    { method: 'POST', url: '/v1/queries/top-snippets', body, json: true },
    item,
  );
  const { results, document_results } = reply as unknown as SearchReply;
  const metadata = new Map(document_results.map((document) => [document.path, document.metadata]));
  return results.map((result) => ({ ...result, metadata: metadata.get(result.path) ?? {} }));
}

/** Adds a text, or uploads the file of the item. Returns the path and the state of the document. */
export async function addDocument(context: IExecuteFunctions, item: number): Promise<IDataObject> {
  const collection = context.getNodeParameter('collection', item) as string;
  const path = context.getNodeParameter('path', item) as string;
  const options = context.getNodeParameter('documentOptions', item, {}) as IDataObject;
  const { overwrite = false, wait = true } = options;
  const metadata = parseObject(context, { name: 'Metadata', value: options.metadata, item });
  const reply =
    context.getNodeParameter('contentSource', item) === 'text'
      ? await send(
          context,
          {
            method: 'POST',
            url: '/v1/documents/add-document',
            body: {
              collection_name: collection,
              path,
              overwrite,
              wait,
              metadata,
              content: { type: 'text', text: context.getNodeParameter('text', item) },
            },
            json: true,
          },
          item,
        )
      : await send(
          context,
          {
            method: 'PUT',
            url: `/v1/documents/${encodeURIComponent(collection)}/${encodeURIComponent(path)}`,
            qs: { overwrite, wait },
            headers: {
              'content-type': 'application/octet-stream',
              'x-quarry-metadata': Buffer.from(JSON.stringify(metadata)).toString('base64url'),
            },
            body: await readFile(context, item),
          },
          item,
        );
  return { collection_name: collection, path, ...reply };
}

async function readFile(context: IExecuteFunctions, item: number): Promise<Buffer> {
  const field = context.getNodeParameter('binaryPropertyName', item) as string;
  context.helpers.assertBinaryData(item, field);
  return context.helpers.getBinaryDataBuffer(item, field);
}

/** Throws a NodeApiError with the message of the server for a status of 300 or more. */
export async function send(
  context: IExecuteFunctions | ILoadOptionsFunctions,
  request: IHttpRequestOptions,
  item?: number,
): Promise<IDataObject> {
  const { baseUrl } = await context.getCredentials<{ baseUrl: string }>('quarryApi');
  const response = (await context.helpers.httpRequestWithAuthentication.call(context, 'quarryApi', {
    ...request,
    baseURL: baseUrl.replace(/\/+$/, '').replace(/\/v1$/, ''),
    returnFullResponse: true,
    ignoreHttpStatusErrors: true,
  })) as { statusCode: number; body: IDataObject };
  const { statusCode, body } = response;
  if (statusCode < 300) return body;
  throw new NodeApiError(context.getNode(), body as JsonObject, {
    httpCode: String(statusCode),
    message: messageOf(body, statusCode),
    ...(item === undefined ? {} : { itemIndex: item }),
  });
}

/** `detail` is a sentence, or with 422 a list of issues. */
function messageOf(body: IDataObject | undefined, statusCode: number): string {
  const detail = body?.detail;
  if (typeof detail === 'string') return detail;
  if (!Array.isArray(detail)) return `The server returned status ${statusCode}. Check the base URL.`;
  return (detail as { loc: string[]; msg: string }[])
    .map(({ loc, msg }) => `${loc.join('.')}: ${msg}`)
    .join('; ');
}

/** Fields for JSON contain a text, or the object of an expression. An empty field is an empty object. */
function parseObject(
  context: IExecuteFunctions,
  { name, value, item }: { name: string; value: unknown; item: number },
): IDataObject {
  if (value === undefined || value === null || value === '') return {};
  try {
    const parsed: unknown = typeof value === 'string' ? JSON.parse(value) : value;
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed as IDataObject;
  } catch {
    // The error below names the field.
  }
  throw new NodeOperationError(
    context.getNode(),
    `${name} is not a JSON object. Example: {"author": "Ada"}`,
    {
      itemIndex: item,
    },
  );
}
