import type { BenchCase } from '../harness/bench-case.ts';
import { spreadOf } from '../harness/statistics.ts';
import { runTask } from '../harness/task-process.ts';
import type { Figure } from '../report/findings.ts';
import type { PipelineInput, PipelineOutput } from './pipeline-task.ts';

/** How much text does each pool of the pipeline get through when it has the machine to itself? */
export const pipelineCase: BenchCase = {
  name: 'pipeline',
  summary: 'each worker pool alone: parse, chunk, tokenise and embed, rerank; on one thread and on all cores',
  presets: {
    smoke: '--seconds 0.02 --rounds 1',
    usual: '--seconds 1 --rounds 3',
    full: '--seconds 5 --rounds 5',
  },
  async run({ options, progress, signal }) {
    const { seed, seconds, rounds } = options;
    progress.note('pipeline: each pool alone');
    const input: PipelineInput = { seed, seconds, rounds };
    const task = new URL('./pipeline-task.js', import.meta.url);
    const { steps } = await runTask<PipelineOutput>(task, input, signal);
    const named = steps.map((step) => ({
      ...step,
      label: `${step.name}, ${step.threads} ${step.threads === 1 ? 'thread' : 'threads'}`,
    }));
    return {
      title: 'Each pool of the pipeline alone',
      method: [
        'Generated text; a document of about 8,000 words is parsed (as plain text and as HTML) and chunked, 32 pieces of 2,000 characters are embedded, 50 reranked, over and over, with one task more under way than the pool has threads.',
        `Rounds: ${rounds}, each pool ${seconds} s per round, in a random order. What is counted is text, whatever it was wrapped in.`,
      ],
      tables: [
        {
          title: 'Throughput',
          columns: [
            { key: 'name', heading: 'step', unit: null, digits: 0 },
            { key: 'threads', heading: 'threads', unit: null, digits: 0 },
            { key: 'median', heading: 'median', unit: 'MB/s', digits: 2 },
            { key: 'least', heading: 'least', unit: 'MB/s', digits: 2 },
            { key: 'most', heading: 'most', unit: 'MB/s', digits: 2 },
          ],
          rows: steps.map(({ name, threads, mbPerSecond }) => ({ name, threads, ...spreadOf(mbPerSecond) })),
        },
      ],
      charts: [
        {
          kind: 'bars',
          title: 'On one thread',
          yLabel: 'MB of text per second',
          bars: steps
            .filter(({ threads }) => threads === 1)
            .map(({ name, mbPerSecond }) => ({ name, value: spreadOf(mbPerSecond)?.median ?? null })),
        },
      ],
      notes: [
        'Sending a task to a worker and its answer back is part of every figure, as it is in the server. Index and store take part in none: "ingest" measures the whole.',
      ],
      figures: named.map(
        ({ label, mbPerSecond }): Figure => ({
          name: label,
          unit: 'MB/s',
          better: 'more',
          values: mbPerSecond,
        }),
      ),
      measured: steps,
    };
  },
};
