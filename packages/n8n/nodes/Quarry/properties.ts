import type { INodeProperties } from 'n8n-workflow';

const search = { show: { operation: ['search'] } };
const addDocument = { show: { operation: ['addDocument'] } };

export const operationProperties: INodeProperties[] = [
  {
    displayName: 'Operation',
    name: 'operation',
    type: 'options',
    noDataExpression: true,
    default: 'search',
    options: [
      {
        name: 'Add Document',
        value: 'addDocument',
        action: 'Add a document',
        description: 'Add a text or a file to a collection',
      },
      {
        name: 'Search',
        value: 'search',
        action: 'Search a collection',
        description: 'Find the snippets of documents that answer a question',
      },
    ],
  },
  {
    displayName: 'Collection Name or ID',
    name: 'collection',
    type: 'options',
    typeOptions: { loadOptionsMethod: 'getCollections' },
    default: '',
    required: true,
    description:
      'Choose from the list, or specify an ID using an <a href="https://docs.n8n.io/code/expressions/">expression</a>',
  },
];

export const searchProperties: INodeProperties[] = [
  {
    displayName: 'Query',
    name: 'query',
    type: 'string',
    default: '',
    required: true,
    placeholder: 'How long do refunds take?',
    description: 'The question or the words to find, in natural language',
    displayOptions: search,
  },
  {
    displayName: 'Limit',
    name: 'limit',
    type: 'number',
    typeOptions: { minValue: 1, maxValue: 128 },
    default: 10,
    description: 'Max number of results to return',
    displayOptions: search,
  },
  {
    displayName: 'Options',
    name: 'searchOptions',
    type: 'collection',
    placeholder: 'Add option',
    default: {},
    displayOptions: search,
    options: [
      {
        displayName: 'Filter',
        name: 'filter',
        type: 'json',
        default: '{}',
        description: 'Condition on the metadata of documents: {"year": {"$gte": 2025}}',
      },
      {
        displayName: 'Minimum Score',
        name: 'min_score',
        type: 'number',
        typeOptions: { minValue: 0, maxValue: 1, numberPrecision: 2 },
        default: 0,
        description: 'Results with a lower score are omitted',
      },
      {
        displayName: 'Precise Responses',
        name: 'precise_responses',
        type: 'boolean',
        default: false,
        description: 'Whether to return snippets of about 200 characters instead of about 2,000',
      },
      {
        displayName: 'Reranker',
        name: 'reranker',
        type: 'string',
        default: '',
        description: 'Model that reorders the best results',
      },
    ],
  },
];

export const documentProperties: INodeProperties[] = [
  {
    displayName: 'Path',
    name: 'path',
    type: 'string',
    default: '',
    required: true,
    placeholder: 'reports/2026.pdf',
    description: 'Name of the document in the collection; its extension helps to detect the format',
    displayOptions: addDocument,
  },
  {
    displayName: 'Content',
    name: 'contentSource',
    type: 'options',
    default: 'text',
    options: [
      { name: 'File', value: 'binary', description: 'A file in the binary data of the item' },
      { name: 'Text', value: 'text' },
    ],
    displayOptions: addDocument,
  },
  {
    displayName: 'Text',
    name: 'text',
    type: 'string',
    typeOptions: { rows: 5 },
    default: '',
    required: true,
    displayOptions: { show: { ...addDocument.show, contentSource: ['text'] } },
  },
  {
    displayName: 'Input Binary Field',
    name: 'binaryPropertyName',
    type: 'string',
    default: 'data',
    required: true,
    hint: 'The name of the input field containing the file',
    displayOptions: { show: { ...addDocument.show, contentSource: ['binary'] } },
  },
  {
    displayName: 'Options',
    name: 'documentOptions',
    type: 'collection',
    placeholder: 'Add option',
    default: {},
    displayOptions: addDocument,
    options: [
      {
        displayName: 'Metadata',
        name: 'metadata',
        type: 'json',
        default: '{}',
        description: 'Attributes of the document: {"author": "Ada", "year": 2026}',
      },
      {
        displayName: 'Overwrite',
        name: 'overwrite',
        type: 'boolean',
        default: false,
        description: 'Whether to replace an existing document; otherwise it is an error',
      },
      {
        displayName: 'Wait',
        name: 'wait',
        type: 'boolean',
        default: true,
        description: 'Whether to wait until the document can be found',
      },
    ],
  },
];
