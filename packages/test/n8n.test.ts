import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type {
  IAuthenticateGeneric,
  ICredentialDataDecryptedObject,
  IHttpRequestOptions,
  ILoadOptionsFunctions,
  INode,
  INodeExecutionData,
  INodeParameters,
  INodeType,
  INodeTypes,
  IWorkflowExecuteAdditionalData,
  Workflow,
} from 'n8n-workflow';
import { addHandbook, credentials, refunds } from './handbook.js';

/** The package as n8n loads it, in workflows that the engine of n8n executes. */

// n8n writes a key and settings to the home folder of the user.
const userFolder = mkdtempSync(join(tmpdir(), 'quarry-n8n-'));
process.env.N8N_USER_FOLDER = userFolder;
after(() => rmSync(userFolder, { recursive: true, force: true }));
// Node.js cannot import the ES modules of n8n-workflow.
const require = createRequire(import.meta.url);
const n8n: typeof import('n8n-core') = require('n8n-core');
const workflows: typeof import('n8n-workflow') = require('n8n-workflow');

const collection = 'n8n';
const client = await addHandbook(collection);
const folder = fileURLToPath(new URL('../n8n', import.meta.url));
const loader = new n8n.PackageDirectoryLoader(folder);
await loader.loadAll();
const quarry = loader.nodeTypes.quarry!.type as INodeType;
const credentialType = loader.credentialTypes.quarryApi!.type;

/** A node that passes on the items of the test. */
const start = {
  description: { name: 'start', properties: [], inputs: [], outputs: ['main'] },
  execute: async () => [[{ json: {} }]],
};
const nodeTypes = {
  getByName: () => quarry,
  getByNameAndVersion: (name: string) => (/quarry$/.test(name) ? quarry : start),
  getKnownTypes: () => ({}),
} as unknown as INodeTypes;

function nodeWith(parameters: INodeParameters, more: Partial<INode> = {}): INode {
  return {
    id: 'quarry',
    name: 'Quarry',
    type: 'quarry',
    typeVersion: 1,
    position: [0, 0],
    parameters: { collection, ...parameters },
    credentials: { quarryApi: { id: '1', name: 'Quarry' } },
    ...more,
  };
}

function workflowOf(node: INode): Workflow {
  const first: INode = {
    id: 'start',
    name: 'Start',
    type: 'start',
    typeVersion: 1,
    position: [0, 0],
    parameters: {},
  };
  return new workflows.Workflow({
    id: '1',
    nodes: [first, node],
    connections: { Start: { main: [[{ node: 'Quarry', type: 'main', index: 0 }]] } },
    active: false,
    nodeTypes,
    settings: { executionOrder: 'v1' },
  });
}

/** Helpers that the program of n8n passes to its engine; the credential signs requests as its type describes. */
function additionalDataOf(workflow: Workflow): IWorkflowExecuteAdditionalData {
  const data = { ...credentials } satisfies ICredentialDataDecryptedObject;
  return {
    credentialsHelper: {
      getParentTypes: () => [],
      isCredentialUsableByNode: () => true,
      getDecrypted: async () => data,
      preAuthentication: async () => undefined,
      authenticate: async (
        secrets: ICredentialDataDecryptedObject,
        _: string,
        request: IHttpRequestOptions,
        __: Workflow,
        node: INode,
      ) => {
        const { headers } = (credentialType.authenticate as IAuthenticateGeneric).properties;
        const evaluate = (text: unknown) =>
          workflow.expression.getSimpleParameterValue(node, String(text), 'manual', {
            $credentials: secrets,
          });
        const signed = Object.entries(headers ?? {}).map(([name, text]) => [name, evaluate(text)]);
        return { ...request, headers: { ...request.headers, ...Object.fromEntries(signed) } };
      },
    },
    hooks: new n8n.ExecutionLifecycleHooks('manual', '1', {
      id: '1',
      name: 'test',
      active: false,
      isArchived: false,
      createdAt: new Date(0),
      updatedAt: new Date(0),
      activeVersionId: null,
      nodes: [],
      connections: {},
    } as never),
    currentNodeExecutionIndex: 0,
    webhookWaitingBaseUrl: 'http://n8n.test/webhook-waiting',
    formWaitingBaseUrl: 'http://n8n.test/form-waiting',
    variables: {},
  } as unknown as IWorkflowExecuteAdditionalData;
}

/** Items that the last node of a workflow returned; throws the error of a failed execution. */
async function outputOfWorkflow(
  workflow: Workflow,
  items: INodeExecutionData[],
): Promise<INodeExecutionData[]> {
  const execution = new n8n.WorkflowExecute(additionalDataOf(workflow), 'manual');
  const [startNode] = Object.values(workflow.nodes);
  const pinData = { [startNode!.name]: items };
  const { data } = await execution.run({ workflow, startNode: startNode!, pinData });
  const { error, lastNodeExecuted = '', runData } = data.resultData;
  if (error !== undefined) throw error;
  return runData[lastNodeExecuted]?.[0]?.data?.main?.[0] ?? [];
}

function outputOf(node: INode, items: INodeExecutionData[] = [{ json: {} }]): Promise<INodeExecutionData[]> {
  return outputOfWorkflow(workflowOf(node), items);
}

test('n8n loads the node and the credential, with icons', () => {
  assert.deepEqual(quarry.description && Object.keys(loader.nodeTypes), ['quarry']);
  assert.match(JSON.stringify(loader.types.nodes[0]), /quarry\.svg/);
  assert.deepEqual(loader.types.credentials[0]?.supportedNodes, ['quarry']);
});

test('a search returns an item per snippet with the metadata of the document', async () => {
  const items = [{ json: { question: 'how long do refunds take' } }, { json: { question: 'free days' } }];
  const node = nodeWith({
    operation: 'search',
    query: '={{$json.question}}',
    limit: 1,
    searchOptions: { filter: '{"year": {"$gte": 2025}}', reranker: '' },
  });
  const [first, second, ...others] = await outputOf(node, items);
  assert.equal(others.length, 0);
  const { score, ...fields } = first?.json ?? {};
  assert.ok(Number(score) > 0);
  assert.deepEqual(fields, {
    path: 'refunds.txt',
    start_index: 0,
    end_index: refunds.length,
    page_span: [0, 1],
    content: refunds,
    metadata: { author: 'Ada', year: 2026 },
  });
  assert.deepEqual(second?.json.path, 'holidays.txt');
  assert.deepEqual(second?.pairedItem, { item: 1 });
});

test('texts and files are added with metadata, and found', async () => {
  const text = { operation: 'addDocument', contentSource: 'text', path: '={{$json.name}}' };
  const [added] = await outputOf(
    nodeWith({ ...text, text: 'Basalt is a rock.', documentOptions: { metadata: { author: 'Zoë' } } }),
    [{ json: { name: 'notes/basalt.txt' } }],
  );
  assert.deepEqual(
    [added?.json.path, added?.json.index_status, added?.json.collection_name],
    ['notes/basalt.txt', 'indexed', collection],
  );
  const file = { data: Buffer.from('Marble is a rock.').toString('base64'), mimeType: 'text/plain' };
  const upload = { operation: 'addDocument', contentSource: 'binary', binaryPropertyName: 'file' };
  const path = 'notes/marble #1 ü.txt';
  const [uploaded] = await outputOf(
    nodeWith({ ...upload, path, documentOptions: { metadata: '{"author": "Zoë"}' } }),
    [{ json: {}, binary: { file } }],
  );
  assert.equal(uploaded?.json.index_status, 'indexed');
  for (const name of ['notes/basalt.txt', path]) {
    const { document } = await client.documents.getDocumentInfo({ collection_name: collection, path: name });
    assert.deepEqual(document.metadata, { author: 'Zoë' });
  }
});

test('errors have the message of the server, and can be items', async () => {
  const again = { operation: 'addDocument', contentSource: 'text', path: 'refunds.txt', text: 'x' };
  await assert.rejects(outputOf(nodeWith(again)), (error: Error & { httpCode?: string }) => {
    assert.equal(error.httpCode, '409');
    return /already exists/.test(error.message);
  });
  await assert.rejects(
    outputOf(nodeWith({ operation: 'search', query: 'x', limit: 1, searchOptions: { filter: '{' } })),
    (error: Error) => /Filter is not a JSON object/.test(error.message),
  );
  const [item] = await outputOf(nodeWith(again, { onError: 'continueRegularOutput' }));
  assert.match(String(item?.json.error), /already exists/);
});

test('the workflow of the README adds a document and finds it', async () => {
  const page = readFileSync(join(folder, 'README.md'), 'utf8');
  const [, text = ''] = /```json\n([\s\S]*?)```/.exec(page) ?? [];
  const { nodes, connections } = JSON.parse(text.replaceAll('"handbook"', `"${collection}"`));
  const workflow = new workflows.Workflow({ id: '1', nodes, connections, active: false, nodeTypes });
  const [found] = await outputOfWorkflow(workflow, [{ json: {} }]);
  assert.match(String(found?.json.content), /^Parcels leave/);
});

test('the list of collections comes from the server', async () => {
  const node = nodeWith({ operation: 'search' });
  const workflow = workflowOf(node);
  const context = new n8n.LoadOptionsContext(
    workflow,
    node,
    additionalDataOf(workflow),
    'parameters/collection',
  );
  const names = await quarry.methods!.loadOptions!.getCollections!.call(
    context as unknown as ILoadOptionsFunctions,
  );
  assert.ok(names.some(({ value }) => value === collection));
});

test('the test of the credential is a request that every key may send', async () => {
  const { baseURL, url, method, body } = credentialType.test!.request as IHttpRequestOptions;
  const address = String(baseURL).replace('={{$credentials.baseUrl}}', credentials.baseUrl);
  const send = (key: string) =>
    fetch(`${address}${url}`, {
      method: method!,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  assert.equal((await send(credentials.apiKey)).status, 200);
  assert.equal((await send('unknown')).status, 401);
});
