import { AppError } from '../core/app-error.ts';
import { zembed1Preset, zerank2Preset } from '../models/service-presets.ts';

/** Commands that serve open weights so that they match the presets of `models/service-presets`. */

const recipeModels = [zembed1Preset.hostedName, zerank2Preset.hostedName] as const;
export type RecipeEngine = 'vllm' | 'tei' | 'llama';

export interface RecipeOptions {
  readonly host: string;
  /** Null: the default of the model. */
  readonly port: number | null;
  /** Folder with the weights; null: the repository of the hub. */
  readonly weights: string | null;
  /** Commit of the repository; null: the newest. */
  readonly revision: string | null;
  /** Converted weights for llama.cpp. */
  readonly gguf: string | null;
  /** File with the projections to shorter vectors. */
  readonly projections: string | null;
}

export interface Recipe {
  /** Files that the command reads. */
  readonly files: readonly { readonly path: string; readonly content: string }[];
  /** Variables of the environment of the command. */
  readonly environment: Readonly<Record<string, string>>;
  readonly command: readonly string[];
  /** Settings of Quarry. */
  readonly settings: Readonly<Record<string, string>>;
  readonly notes: readonly string[];
}

const ports: Readonly<Record<(typeof recipeModels)[number], number>> = {
  'zembed-1': 8_001,
  'zerank-2': 8_002,
};
const templateFile = 'zerank-2.jinja';

/** Returns the recipe for a model. Errors: AppError if the model is unknown, or the engine cannot serve it correctly. */
export function createRecipe(model: string, engine: RecipeEngine, options: RecipeOptions): Recipe {
  if (model === zembed1Preset.hostedName) return createEmbeddingRecipe(engine, options);
  if (model === zerank2Preset.hostedName) return createRerankRecipe(engine, options);
  throw new AppError(
    'not_found',
    `There is no recipe for ${JSON.stringify(model)}. Recipes: ${recipeModels.join(', ')}.`,
  );
}

function createEmbeddingRecipe(engine: RecipeEngine, options: RecipeOptions): Recipe {
  const { repository, model, tokensMax } = zembed1Preset;
  const { host, projections } = options;
  const port = String(options.port ?? ports['zembed-1']);
  const weights = [options.weights ?? repository];
  const revision = options.revision === null ? [] : ['--revision', options.revision];
  const tokens = String(tokensMax);
  const recipe: Recipe = {
    files: [],
    environment: {},
    command: [],
    settings: {
      QUARRY_ZEMBED1_URL: toServiceUrl(host, port),
      ...(projections === null ? {} : { QUARRY_EMBEDDING_PROJECTIONS_FILE: projections }),
    },
    notes:
      projections === null
        ? [
            `Vectors have ${zembed1Preset.dimensions} dimensions. For shorter ones, get projections.safetensors of ${repository} and pass it with --projections.`,
          ]
        : ['QUARRY_EMBEDDING_DIMENSIONS sets the dimensions that new collections store.'],
  };
  if (engine === 'vllm') {
    const pooling = [
      '--runner',
      'pooling',
      '--convert',
      'embed',
      '--pooler-config',
      '{"pooling_type":"LAST"}',
    ];
    const address = ['--host', host, '--port', port, '--served-model-name', model];
    const command = [
      'vllm',
      'serve',
      ...weights,
      ...revision,
      ...address,
      ...pooling,
      '--max-model-len',
      tokens,
    ];
    return { ...recipe, command };
  }
  if (engine === 'tei') {
    const address = ['--hostname', host, '--port', port, '--served-model-name', model];
    const pooling = ['--pooling', 'last-token', '--max-batch-tokens', tokens];
    return {
      ...recipe,
      // A truncated text would lose the end of its frame, whose last token is the vector.
      environment: { AUTO_TRUNCATE: 'false' },
      command: ['text-embeddings-router', '--model-id', ...weights, ...revision, ...address, ...pooling],
      notes: [
        ...recipe.notes,
        'TEI always adds the special tokens of the tokenizer. If it adds any to these texts, its vectors are wrong: compare them with those of vLLM before you index documents.',
      ],
    };
  }
  return { ...recipe, ...createLlamaCommand(options, recipe.notes, { host, port, model, tokens }) };
}

function createLlamaCommand(
  { gguf }: RecipeOptions,
  notes: readonly string[],
  { host, port, model, tokens }: Readonly<Record<'host' | 'port' | 'model' | 'tokens', string>>,
): Pick<Recipe, 'command' | 'notes'> {
  if (gguf === null)
    throw new AppError(
      'bad_request',
      `llama.cpp reads GGUF files. Convert ${zembed1Preset.repository} with convert_hf_to_gguf.py of llama.cpp, and pass the file with --gguf.`,
    );
  const address = ['--host', host, '--port', port, '--alias', model];
  const sizes = ['--ctx-size', tokens, '--batch-size', tokens, '--ubatch-size', tokens, '--parallel', '1'];
  const noTokens = ['add_bos_token', 'add_eos_token'].map((name) => `tokenizer.ggml.${name}=bool:false`);
  const pooling = ['--embeddings', '--pooling', 'last', '--override-kv', noTokens.join(',')];
  return {
    command: ['llama-server', '--model', gguf, ...address, ...pooling, ...sizes],
    notes: [...notes, 'Vectors of a quantized file differ from those of the original weights.'],
  };
}

function createRerankRecipe(engine: RecipeEngine, options: RecipeOptions): Recipe {
  const { repository, model, tokensMax, scoreToken, logitScale } = zerank2Preset;
  if (engine === 'llama')
    throw new AppError(
      'invalid',
      'llama.cpp cannot serve zerank-2: GGUF conversions lose its score head. Use vllm.',
    );
  if (engine === 'tei')
    throw new AppError(
      'invalid',
      `TEI cannot serve zerank-2: its score is the logit of the token "${scoreToken}", and TEI needs a classification head. Use vllm.`,
    );
  const { host } = options;
  const port = String(options.port ?? ports['zerank-2']);
  const overrides = {
    architectures: ['Qwen3ForSequenceClassification'],
    classifier_from_token: [scoreToken],
    method: 'no_post_processing',
  };
  return {
    files: [{ path: templateFile, content: toScoreTemplate(zerank2Preset.template) }],
    environment: {},
    command: [
      ...['vllm', 'serve', options.weights ?? repository],
      ...(options.revision === null ? [] : ['--revision', options.revision]),
      ...['--host', host, '--port', port, '--served-model-name', model, '--runner', 'pooling'],
      ...['--hf-overrides', JSON.stringify(overrides)],
      ...['--pooler-config', JSON.stringify({ logit_sigma: logitScale, use_activation: true })],
      ...['--chat-template', templateFile, '--max-model-len', String(tokensMax)],
    ],
    settings: { QUARRY_ZERANK2_URL: toServiceUrl(host, port) },
    notes: [
      'Needs a release of vLLM whose pooler configuration has logit_sigma. Its scores are probabilities.',
      `For queries that name no reranker, set QUARRY_RERANKER=${zerank2Preset.hostedName}.`,
    ],
  };
}

/** Returns the score template of vLLM. Line breaks are in literals, because Jinja removes some of those around them. */
function toScoreTemplate(template: string): string {
  return template
    .split(/(\{query\}|\{document\})/)
    .map((part) =>
      /^\{(query|document)\}$/.test(part)
        ? `{{ (messages | selectattr("role", "eq", "${part.slice(1, -1)}") | first).content | trim }}`
        : `{{ ${JSON.stringify(part)} }}`,
    )
    .join('');
}

/** A service that listens on all addresses is reached on this machine. */
function toServiceUrl(host: string, port: string): string {
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}/v1`;
}

/** Returns a recipe as a shell script. */
export function toShellScript({ files, environment, command, settings, notes }: Recipe): string[] {
  const flags = command.findIndex((word) => word.startsWith('--'));
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${quote(value)}`);
  const groups = [[...variables, ...command.slice(0, flags).map(quote)].join(' ')];
  for (const word of command.slice(flags)) {
    if (word.startsWith('--')) groups.push(word);
    else groups.push(`${groups.pop()} ${quote(word)}`);
  }
  return [
    '# The service',
    ...files.map(({ path, content }) => `printf '%s' ${quote(content)} > ${quote(path)}`),
    groups.join(' \\\n  '),
    '',
    '# The settings of Quarry',
    ...Object.entries(settings).map(([name, value]) => `export ${name}=${quote(value)}`),
    ...notes.map((note) => `# ${note}`),
  ];
}

function quote(word: string): string {
  return /^[\w./:=@,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
