import t from '../support/tap.ts';
import { checkNear, openReranker, tokenWeights } from './local-model-fixtures.ts';
import {
  bertTokenizer,
  nextTokenGraph,
  sepId,
  tokenIdsOf,
  vocabulary,
  weightedTokensGraph,
} from './model-folder-fixtures.ts';

const sigmoid = (odds: number) => 1 / (1 + Math.exp(-odds));
const answers = ['herring', 'salt salt', '', 'tide gull tide gull yes no'];

for (const classes of [1, 2] as const) {
  t.test(`a cross-encoder with ${classes === 1 ? 'one logit' : 'two classes'}`, async (t) => {
    const { opened, model } = await openReranker(t, {
      'model.onnx': weightedTokensGraph(tokenWeights, classes),
    });
    t.equal(model.head, classes === 1 ? 'one-logit' : 'two-classes');
    const { scores } = await opened.score('barrel gull', answers);
    // The document and the separator after it have token type 1.
    const expectedScores = answers.map((text) => {
      const ids = tokenIdsOf(text).slice(1);
      return sigmoid(ids.reduce((sum, id) => sum + tokenWeights[id]!, 0));
    });
    checkNear(t, scores, expectedScores, 'scores');
    const long = await opened.score('gull '.repeat(5_000), ['herring '.repeat(100_000)]);
    // 32 tokens: 3 special ones, 14 of the query, 15 of the document.
    checkNear(
      t,
      long.scores,
      [sigmoid(15 * tokenWeights[vocabulary.indexOf('herring')]! + tokenWeights[sepId]!)],
      'truncated to the limit',
    );
    t.equal(long.tokens, 32);
  });
}

t.test('a language model that answers yes or no reranks', async (t) => {
  const [yes, no] = [vocabulary.indexOf('yes'), vocabulary.indexOf('no')];
  const graph = nextTokenGraph((id, next) => (next === yes ? id / 5 : next === no ? 0.3 : 50));
  const tokenizer = { ...bertTokenizer, post_processor: null };
  const template = '{query} tide {document}';
  const { opened, model } = await openReranker(
    t,
    { 'model.onnx': graph, 'tokenizer.json': tokenizer },
    { template },
  );
  t.match(model, { head: 'yes-no', question: { yes, no, template } });
  const { scores } = await opened.score('$& salt', ['herring', 'tide gull', 'barrel barrel barrel']);
  const last = ['herring', 'gull', 'barrel'].map((word) => sigmoid(vocabulary.indexOf(word) / 5 - 0.3));
  checkNear(t, scores, last, 'the log-odds after the last token');
});
