import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { zembed1Preset, zerank2Preset } from '../../src/models/service-presets.ts';
import { loadCatalog } from '../models/load-catalog.ts';
import t, { type Test } from '../support/tap.ts';
import { runQuarry } from './quarry.ts';

const recipe = (...words: string[]) => runQuarry(['models', 'serve-recipe', ...words]);

interface ServiceStart {
  readonly program: string;
  /** Arguments as the program receives them. */
  readonly words: readonly string[];
  readonly folder: string;
  /** QUARRY_* variables that the script exports. */
  readonly settings: Readonly<Record<string, string>>;
  readonly variables: Readonly<Record<string, string>>;
}

/** Runs the printed script in a shell in which the engines only print their arguments. */
async function runRecipe(t: Test, ...words: string[]): Promise<ServiceStart> {
  const { code, out, err } = await recipe(...words);
  t.equal(code, 0, err);
  const folder = t.testdir();
  const engines = ['vllm', 'text-embeddings-router', 'llama-server'];
  const script = [
    ...engines.map(
      (name) => `${name.replaceAll('-', '_')}() { printf '%s\\0' ${name} "$@" > words; env -0 > service; }`,
    ),
    ...engines.map((name) => `alias ${name}=${name.replaceAll('-', '_')}`),
    out,
    'env -0 > environment',
  ].join('\n');
  execFileSync('bash', ['-O', 'expand_aliases', '-c', script], { cwd: folder });
  const read = (name: string) => readFileSync(join(folder, name), 'utf8').split('\0').slice(0, -1);
  const pairs = (name: string) =>
    Object.fromEntries(read(name).map((entry) => entry.split(/=(.*)/s).slice(0, 2) as [string, string]));
  const [program = '', ...rest] = read('words');
  const all = pairs('environment');
  const settings = Object.fromEntries(
    Object.entries(all).filter(([name]) => /^QUARRY_Z|^QUARRY_EMB/.test(name)),
  );
  return { program, words: rest, folder, settings, variables: pairs('service') };
}

function argumentOf({ words }: ServiceStart, flag: string): string {
  return words[words.indexOf(flag) + 1] ?? '';
}

t.test('zembed-1 with vLLM', async (t) => {
  const start = await runRecipe(t, 'zembed-1', '--with', 'vllm');
  t.same([start.program, ...start.words.slice(0, 2)], ['vllm', 'serve', 'zeroentropy/zembed-1-embedding']);
  t.equal(argumentOf(start, '--runner'), 'pooling');
  t.same(JSON.parse(argumentOf(start, '--pooler-config')), { pooling_type: 'LAST' });
  t.equal(argumentOf(start, '--max-model-len'), '16384');
  t.equal(argumentOf(start, '--served-model-name'), zembed1Preset.model);
  t.same(start.settings, { QUARRY_ZEMBED1_URL: 'http://127.0.0.1:8001/v1' });
  const catalog = await loadCatalog(t, start.settings);
  t.equal(catalog.getEmbedding('zembed-1').id, zembed1Preset.model, 'the settings connect the alias');
});

t.test('zembed-1 with TEI does not truncate, because that removes the end of the frame', async (t) => {
  const start = await runRecipe(t, 'zembed-1', '--with', 'tei', '--port', '9000');
  t.equal(start.program, 'text-embeddings-router');
  t.equal(argumentOf(start, '--pooling'), 'last-token');
  t.equal(argumentOf(start, '--port'), '9000');
  t.equal(start.variables.AUTO_TRUNCATE, 'false');
  t.same(start.settings, { QUARRY_ZEMBED1_URL: 'http://127.0.0.1:9000/v1' });
});

t.test('zembed-1 with llama.cpp needs converted weights and adds no tokens', async (t) => {
  t.match(await recipe('zembed-1', '--with', 'llama'), { code: 2, err: /pass the file with --gguf/ });
  const file = "it's.gguf";
  const words = ['zembed-1', '--with', 'llama', '--gguf', file, '--host', '0.0.0.0', '--projections', 'a b'];
  const start = await runRecipe(t, ...words);
  t.equal(argumentOf(start, '--model'), file, 'words are quoted');
  t.equal(argumentOf(start, '--pooling'), 'last');
  t.equal(
    argumentOf(start, '--override-kv'),
    'tokenizer.ggml.add_bos_token=bool:false,tokenizer.ggml.add_eos_token=bool:false',
  );
  t.same(start.settings, {
    QUARRY_ZEMBED1_URL: 'http://127.0.0.1:8001/v1',
    QUARRY_EMBEDDING_PROJECTIONS_FILE: 'a b',
  });
});

/** Renders a template of literals and contents, as Jinja does with `first` and `trim`. */
function render(template: string, contents: Readonly<Record<string, string>>): string {
  const rest = template.replaceAll(/\{\{ (.*?) \}\}/g, (_, expression: string) => {
    if (expression.startsWith('"')) return JSON.parse(expression) as string;
    const content = /^\(messages \| selectattr\("role", "eq", "(\w+)"\) \| first\)\.content \| trim$/;
    return contents[content.exec(expression)![1]!]!.trim();
  });
  return rest;
}

t.test('zerank-2 with vLLM', async (t) => {
  const start = await runRecipe(t, 'zerank-2', '--with', 'vllm', '--revision', '0123', '--weights', '/w/z');
  t.same(start.words.slice(0, 4), ['serve', '/w/z', '--revision', '0123']);
  t.same(JSON.parse(argumentOf(start, '--hf-overrides')), {
    architectures: ['Qwen3ForSequenceClassification'],
    classifier_from_token: ['Yes'],
    method: 'no_post_processing',
  });
  t.same(JSON.parse(argumentOf(start, '--pooler-config')), { logit_sigma: 5, use_activation: true });
  t.equal(argumentOf(start, '--max-model-len'), '8192');
  const template = readFileSync(join(start.folder, argumentOf(start, '--chat-template')), 'utf8');
  t.equal(
    render(template, { query: ' q ', document: 'd\n' }),
    zerank2Preset.template.replace('{query}', 'q').replace('{document}', 'd'),
  );
  t.same(start.settings, { QUARRY_ZERANK2_URL: 'http://127.0.0.1:8002/v1' });
  const catalog = await loadCatalog(t, start.settings);
  t.equal(catalog.getReranker('zerank-2').id, zerank2Preset.model, 'the settings connect the alias');
});

t.test('a service that would return wrong scores has no recipe', async (t) => {
  t.match(await recipe('zerank-2', '--with', 'llama'), { code: 2, err: /lose its score head\. Use vllm/ });
  t.match(await recipe('zerank-2', '--with', 'tei'), {
    code: 2,
    err: /needs a classification head\. Use vllm/,
  });
  t.match(await recipe('zerank-9', '--with', 'vllm'), {
    err: /no recipe for "zerank-9"\. Recipes: zembed-1, zerank-2/,
  });
  t.match(await recipe('zembed-1'), { code: 2, err: /--with vllm, --with tei, --with llama/ });
  t.match(await recipe('zembed-1', '--with', 'ollama'), { code: 2 });
  t.match(await recipe('zembed-1', '--with', 'vllm', '--port', '0'), { code: 2, err: /--port is "0"/ });
});

t.test('as JSON', async (t) => {
  const { out } = await recipe('zerank-2', '--with', 'vllm', '--host', '::1', '--json');
  t.match(JSON.parse(out), {
    command: ['vllm', 'serve'],
    files: [{ path: 'zerank-2.jinja' }],
    settings: { QUARRY_ZERANK2_URL: 'http://[::1]:8002/v1' },
  });
});
