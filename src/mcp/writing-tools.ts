import type { AddDocumentResponse, DeleteDocumentResponse } from '../schemas/documents.ts';
import { Type } from '../schemas/typebox.ts';
import { collectionField, defineTool, type McpTool, pathField } from './tool.ts';

export const writingTools: readonly McpTool[] = [
  defineTool({
    name: 'add_document',
    title: 'Add a document',
    description: 'Adds a text to a collection, or replaces a document, and waits until it can be found.',
    isWriting: true,
    fields: {
      collection: collectionField,
      path: pathField,
      text: Type.String({ description: 'The text of the document.' }),
      metadata: Type.Optional(
        Type.Unknown({
          description:
            'Attributes: strings, numbers, booleans, points such as {"lat": 52.5, "lon": 13.4}, or lists of strings under names that start with `list:`.',
        }),
      ),
      overwrite: Type.Optional(Type.Boolean({ description: 'Replace an existing document; default false.' })),
    },
    run: async (api, { collection, path, text, metadata, overwrite }) => {
      const reply = (await api.call('documents/add-document', {
        collection_name: collection,
        path,
        content: { type: 'text', text },
        wait: true,
        ...(metadata === undefined ? {} : { metadata }),
        ...(overwrite === undefined ? {} : { overwrite }),
      })) as AddDocumentResponse;
      return { text: `${path} is stored. Status: ${reply.index_status ?? 'not_indexed'}.` };
    },
  }),
  defineTool({
    name: 'delete_document',
    title: 'Delete a document',
    description: 'Deletes a document from a collection. This cannot be undone.',
    isWriting: true,
    fields: { collection: collectionField, path: pathField },
    run: async (api, { collection, path }) => {
      const reply = (await api.call('documents/delete-document', {
        collection_name: collection,
        path: [path],
      })) as DeleteDocumentResponse;
      return { text: `Deleted ${reply.deleted_paths.join(', ')}.` };
    },
  }),
];
