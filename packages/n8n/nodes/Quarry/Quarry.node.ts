import {
  type IExecuteFunctions,
  type ILoadOptionsFunctions,
  type INodeExecutionData,
  type INodePropertyOptions,
  type INodeType,
  type INodeTypeDescription,
  type JsonObject,
  NodeApiError,
  NodeConnectionTypes,
  NodeOperationError,
} from 'n8n-workflow';
import { addDocument, search, send } from './operations';
import { documentProperties, operationProperties, searchProperties } from './properties';

export class Quarry implements INodeType {
  description: INodeTypeDescription = {
    displayName: 'Quarry',
    name: 'quarry',
    icon: 'file:quarry.svg',
    group: ['transform'],
    version: 1,
    subtitle: '={{$parameter["operation"]}}',
    description: 'Search documents, and add documents, on your Quarry server',
    defaults: { name: 'Quarry' },
    usableAsTool: true,
    inputs: [NodeConnectionTypes.Main],
    outputs: [NodeConnectionTypes.Main],
    credentials: [{ name: 'quarryApi', required: true }],
    properties: [...operationProperties, ...searchProperties, ...documentProperties],
  };

  methods = {
    loadOptions: {
      async getCollections(this: ILoadOptionsFunctions): Promise<INodePropertyOptions[]> {
        const url = '/v1/collections/get-collection-list';
        const reply = await send(this, { method: 'POST', url, body: {}, json: true });
        return (reply.collection_names as string[]).map((name) => ({ name, value: name }));
      },
    },
  };

  async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
    const output: INodeExecutionData[] = [];
    for (const item of this.getInputData().keys()) {
      const pairedItem = { item };
      try {
        const isSearch = this.getNodeParameter('operation', item) === 'search';
        const found = isSearch ? await search(this, item) : [await addDocument(this, item)];
        output.push(...found.map((json) => ({ json, pairedItem })));
      } catch (error) {
        // Returns the error itself if it is one of n8n already.
        const failure =
          error instanceof NodeOperationError
            ? error
            : new NodeApiError(this.getNode(), error as JsonObject, { itemIndex: item });
        if (!this.continueOnFail()) throw failure;
        output.push({ json: { error: failure.message }, pairedItem });
      }
    }
    return [output];
  }
}
