import type {
  BenchFindings,
  Chart,
  Figure,
  ReportColumn,
  ReportRow,
  ReportTable,
} from '../report/findings.ts';
import { formatNumber } from '../report/format-number.ts';
import { targetTable } from '../report/performance-targets.ts';
import { filters } from '../vectors/tags.ts';
import {
  buildRate,
  churnRounds,
  findMode,
  medianOf,
  ownBytesPerVector,
  perCpuSecond,
  ratioOfModes,
} from './engine-figures.ts';
import { churnShare, type EngineMeasurement, type MeasuredEngine } from './engine-measurement.ts';
import { engineTargets } from './engine-targets.ts';
import { countSuffix, recallTargets } from './engine-tuning.ts';
import type { BenchOptions } from './options.ts';
import { bestPoint } from './recall-tuning.ts';

export function toEngineFindings(measurement: EngineMeasurement, options: BenchOptions): BenchFindings {
  const { set, engines } = measurement;
  const performanceTargets = engineTargets(measurement, options);
  const suffixes = options.resultCounts.map((count) => countSuffix(count, options.resultCounts));
  return {
    title: `Vector search over ${formatNumber(set.rows, 0)} vectors of ${set.dimensions} dimensions${options.vectorsFile === null ? ` (${options.difficulty})` : ''}`,
    method: methodOf(measurement, options),
    tables: [
      ...(performanceTargets.length === 0 ? [] : [targetTable(performanceTargets, 2)]),
      ...suffixes.flatMap((suffix) =>
        recallTargets.flatMap((target) => recallTables(engines, `${target}${suffix}`)),
      ),
      ...suffixes.flatMap((suffix) => filterTables(engines, suffix)),
      buildTable(engines, set.rows),
      ...churnTables(engines),
      ...partsTables(engines, set.rows),
    ],
    charts: chartsOf(engines, set.rows),
    notes: notesOf(measurement),
    figures: engines.flatMap((engine) => figuresOf(engine, set.rows)),
    complete: measurement.complete,
    measured: withoutFolder(measurement),
  };
}

const textColumn = (key: string, heading: string): ReportColumn => ({ key, heading, unit: null, digits: 0 });
const numberColumn = (key: string, heading: string, unit: string | null, digits: number): ReportColumn => ({
  key,
  heading,
  unit,
  digits,
});

/** `target`: a recall with the suffix of the number of results. Empty if no engine has a curve. */
function recallTables(engines: readonly MeasuredEngine[], target: string): ReportTable[] {
  const measured = engines.filter(({ modes }) => modes.some(({ name }) => name.startsWith('ef ')));
  return measured.length === 0 ? [] : [recallTable(measured, target)];
}

function recallTable(engines: readonly MeasuredEngine[], target: string): ReportTable {
  const own = findMode(engines[0], `recall ${target}`);
  const suffix = target.replace(/^[^,]*/, '');
  return {
    title: `Searches at recall ${target}`,
    columns: [
      textColumn('engine', 'engine'),
      numberColumn('ef', 'ef', null, 0),
      numberColumn('recall', 'recall', null, 4),
      numberColumn('perCpuSecond', 'per second of CPU', 'searches', 0),
      numberColumn('times', `${engines[0]?.name} relative to it`, null, 2),
      numberColumn('p50Ms', 'p50, one at a time', 'ms', 3),
      numberColumn('p99Ms', 'p99', 'ms', 3),
      numberColumn('perSecond', 'per second, all cores', 'searches', 0),
    ],
    rows: engines.map((engine): ReportRow => {
      const targetMode = findMode(engine, `recall ${target}`);
      const mode = targetMode ?? findMode(engine, `ef ${bestPoint(engine.curve).ef}${suffix}`);
      const singleSearchMode = engine.synchronous
        ? mode
        : findMode(engine, `recall ${target}, one at a time`);
      return {
        engine: engine.name,
        ef: mode?.ef ?? null,
        recall: mode?.recall ?? null,
        perCpuSecond: medianOf(mode, perCpuSecond),
        // At different recalls the ratio would not be comparable.
        times: ratioOfModes(own, targetMode),
        p50Ms: medianOf(singleSearchMode, ({ p50Ms }) => p50Ms),
        p99Ms: medianOf(singleSearchMode, ({ p99Ms }) => p99Ms),
        perSecond: engine.synchronous ? null : medianOf(mode, ({ searchesPerSecond }) => searchesPerSecond),
      };
    }),
  };
}

/** Empty if no filter was measured. */
function filterTables(engines: readonly MeasuredEngine[], suffix: string): ReportTable[] {
  const filtering = engines.filter(({ modes }) => modes.some(({ filter }) => filter !== null));
  return filtering.length === 0 ? [] : [filterTable(filtering, suffix)];
}

function filterTable(filtering: readonly MeasuredEngine[], suffix: string): ReportTable {
  const [own] = filtering;
  return {
    title: `Searches with a filter, at recall .99 or the best recall reached${suffix}`,
    columns: [
      textColumn('filter', 'filter'),
      textColumn('engine', 'engine'),
      numberColumn('ef', 'ef', null, 0),
      numberColumn('recall', 'recall', null, 4),
      numberColumn('perCpuSecond', 'per second of CPU', 'searches', 0),
      numberColumn('times', `${own?.name} relative to it`, null, 2),
    ],
    rows: filters.flatMap(({ name }) =>
      filtering.map((engine): ReportRow => {
        const mode = findMode(engine, `filter ${name}${suffix}`);
        return {
          filter: name,
          engine: engine.name,
          ef: mode?.ef ?? null,
          recall: mode?.recall ?? null,
          perCpuSecond: medianOf(mode, perCpuSecond),
          times: ratioOfModes(findMode(own, `filter ${name}${suffix}`), mode),
        };
      }),
    ),
  };
}

function buildTable(engines: readonly MeasuredEngine[], rows: number): ReportTable {
  return {
    title: 'Building, memory, loading, replacing',
    columns: [
      textColumn('engine', 'engine'),
      numberColumn('seconds', 'build', 's', 2),
      numberColumn('rate', 'per second of CPU', 'vectors', 0),
      numberColumn('own', 'private memory', 'bytes/vector', 0),
      numberColumn('mapped', 'mapped files', 'bytes/vector', 0),
      numberColumn('saveMs', 'save', 'ms', 0),
      numberColumn('loadMs', 'load and first search', 'ms', 0),
      numberColumn('loaded', 'private memory after loading', 'bytes/vector', 0),
      numberColumn('replaceRate', 'replaced per second of CPU', 'vectors', 0),
    ],
    rows: engines.map((engine): ReportRow => {
      const { built, churned, saved, loaded } = engine;
      const mapped =
        built.before === null || built.after === null
          ? null
          : built.after.mappedBytes - built.before.mappedBytes;
      return {
        engine: engine.name,
        seconds: built.wallMs / 1_000,
        rate: buildRate(engine, rows),
        own: ownBytesPerVector(built, rows),
        mapped: mapped === null ? null : Math.max(0, mapped) / rows,
        saveMs: saved?.wallMs ?? null,
        loadMs: loaded?.wallMs ?? null,
        loaded: ownBytesPerVector(loaded, rows),
        replaceRate:
          churned === null ? null : (rows * churnShare * churnRounds(churned) * 1_000) / churned.cpuMs,
      };
    }),
  };
}

/** One row per round, because a peer that replaces slowly completes fewer rounds. */
function churnTables(engines: readonly MeasuredEngine[]): ReportTable[] {
  const churned = engines.flatMap(({ name, churned }) => (churned === null ? [] : [{ name, churned }]));
  if (churned.length === 0) return [];
  const rounds = Math.max(...churned.map((engine) => churnRounds(engine.churned)));
  return [
    {
      title: 'Recall as the vectors are replaced',
      columns: [
        textColumn('engine', 'engine'),
        numberColumn('ef', 'ef', null, 0),
        numberColumn('rounds', `times ${churnShare * 100} % replaced`, null, 0),
        numberColumn('recall0', 'as built', null, 4),
        ...Array.from({ length: rounds }, (_, i) =>
          numberColumn(`recall${i + 1}`, `after ${i + 1}`, null, 4),
        ),
      ],
      rows: churned.map(({ name, churned }): ReportRow => {
        const recalls = Array.from({ length: 1 + rounds }, (_, round) => [
          `recall${round}`,
          churned.recalls[round] ?? null,
        ]);
        const { ef } = churned;
        return { engine: name, ef, rounds: churnRounds(churned), ...Object.fromEntries(recalls) };
      }),
    },
  ];
}

/** Tables of the memory that engines report themselves. */
function partsTables(engines: readonly MeasuredEngine[], rows: number): ReportTable[] {
  return engines.flatMap(({ name, built }) =>
    built.bytesByPart === null
      ? []
      : [
          {
            title: `Memory of ${name} by part, as reported by the engine`,
            columns: [textColumn('part', 'part'), numberColumn('bytes', 'bytes per vector', null, 1)],
            rows: Object.entries(built.bytesByPart).map(([part, bytes]) => ({ part, bytes: bytes / rows })),
          },
        ],
  );
}

function chartsOf(engines: readonly MeasuredEngine[], rows: number): Chart[] {
  const bars = (title: string, yLabel: string, value: (engine: MeasuredEngine) => number | null): Chart => ({
    kind: 'bars',
    title,
    yLabel,
    bars: engines.map((engine) => ({ name: engine.name, value: value(engine) })),
  });
  const charts: Chart[] = [
    {
      kind: 'lines',
      title: 'Searches per second of CPU time against recall (no filter)',
      x: { label: 'recall at k', scale: 'recall' },
      y: { label: 'searches per second of CPU', scale: 'logarithmic' },
      series: engines.map((engine) => ({
        name: engine.name,
        points: engine.modes
          .filter(({ name }) => /^ef \d+$/.test(name))
          .toSorted((a, b) => a.recall - b.recall)
          .map((mode) => ({ x: mode.recall, y: medianOf(mode, perCpuSecond) })),
      })),
    },
    {
      kind: 'lines',
      title: 'Searches with independent filters, at recall .99 or the best reached',
      x: {
        label: 'share of the vectors that match [%]',
        scale: 'logarithmic',
        ticks: [0.1, 1, 10, 50].map((at) => ({ at, label: String(at) })),
      },
      y: { label: 'searches per second of CPU', scale: 'logarithmic' },
      series: engines
        .filter(({ modes }) => modes.some(({ filter }) => filter !== null))
        .map((engine) => ({
          name: engine.name,
          points: filters
            .filter(({ correlated }) => !correlated)
            .map(({ name, share }) => ({
              x: share * 100,
              y: medianOf(findMode(engine, `filter ${name}`), perCpuSecond),
            })),
        })),
    },
    bars('Vectors indexed per second of CPU time', 'vectors', (engine) => buildRate(engine, rows)),
    bars('Memory of the process per vector', 'bytes', ({ built }) => ownBytesPerVector(built, rows)),
  ];
  // A phase that was not measured has no points.
  return charts.filter(
    (chart) => chart.kind === 'bars' || chart.series.some(({ points }) => points.length > 0),
  );
}

function figuresOf(engine: MeasuredEngine, rows: number): Figure[] {
  const named = (metric: string, unit: string, better: Figure['better'], values: (number | null)[]) => {
    const known = values.filter((value) => value !== null);
    return known.length < values.length
      ? []
      : [{ name: `${engine.name}: ${metric}`, unit, better, values: known }];
  };
  const once = (metric: string, unit: string, better: Figure['better'], value: number | null) =>
    value === null ? [] : named(metric, unit, better, [value]);
  // Points of the curve have other recalls in every run; only measurements at a target recall are comparable.
  const modes = engine.modes.filter(({ name }) => !name.startsWith('ef '));
  return [
    // While rows are replaced, the CPU time includes the replacements.
    ...modes
      .filter(({ isReplacing: replacing }) => !replacing)
      .flatMap((mode) =>
        named(
          `searches per second of CPU, ${mode.name}`,
          'searches/s',
          'more',
          mode.rounds.map(perCpuSecond),
        ),
      ),
    ...modes
      .filter(({ inFlight, filter }) => inFlight === 1 && filter === null)
      .flatMap((mode) =>
        named(
          `p99, ${mode.name}`,
          'ms',
          'less',
          mode.rounds.map(({ p99Ms }) => p99Ms),
        ),
      ),
    ...modes
      .filter(({ filter }) => filter !== null)
      .flatMap((mode) => once(`recall, ${mode.name}`, 'share', 'more', mode.recall)),
    ...once('vectors built per second of CPU', 'vectors/s', 'more', buildRate(engine, rows)),
    ...once('memory per vector', 'bytes', 'less', ownBytesPerVector(engine.built, rows)),
    ...once('memory per vector, loaded', 'bytes', 'less', ownBytesPerVector(engine.loaded, rows)),
    ...once('load', 'ms', 'less', engine.loaded?.wallMs ?? null),
    ...once('recall after replacing', 'share', 'more', engine.churned?.recalls.at(-1) ?? null),
  ];
}

function methodOf({ set, engines }: EngineMeasurement, options: BenchOptions): string[] {
  return [
    `Vectors: \`${set.name}\`, ${formatNumber(set.rows, 0)} rows and ${formatNumber(set.questions, 0)} questions that are not among the rows, all of length 1${formatUnused(set)}; similarity is the inner product. Exact answers come from a plain loop in double precision that shares no code with any engine.`,
    `Each engine runs in its own process: ${engines.map(({ name, version }) => `${name} (${version})`).join('; ')}. Graphs have 16 links and are built with ef 200.`,
    `Equal recall: for each engine, bisection finds the lowest ef (or its equivalent) that returns the target share of the exact ${options.results} best over all questions; the engine is measured with that ef. A result counts if its exact similarity reaches that of the last of the exact best, so equally near vectors are equivalent. If an engine does not reach the recall, its best ef is measured and no ratio is shown.`,
    `Rounds: ${options.rounds}. Each measures every engine in every mode once for ${options.seconds} s, in a random order.`,
    `"Per second of CPU": searches divided by the CPU time, user and system, of all threads of the process that does the work. It is the throughput of one core, for engines that answer on the calling thread and engines with their own threads alike. Asynchronous engines have 16 searches in flight; "one at a time" is measured separately.`,
    `Filters: independent ones match random vectors; correlated ones match those furthest in a random direction, so that for most questions all matching vectors are far away. Replacing: 20 % of the vectors, chosen at random, are repeatedly replaced by new entries with the same values, so the exact answers do not change and "as built" is the recall of a new index of the same vectors. For other engines, no round starts after 300 s.`,
    'Memory: anonymous and shared pages of the process after building, without its JavaScript heap, minus those before the first vector; mapped files are listed separately, because the system can evict them. Below 20,000 vectors the process itself uses more memory than its vectors.',
  ];
}

function formatUnused({ unused: { rows, questions } }: EngineMeasurement['set']): string {
  const parts = [
    ...(rows > 0 ? [`its further ${formatNumber(rows, 0)} rows (--vectors)`] : []),
    ...(questions > 0 ? [`${formatNumber(questions, 0)} questions (--questions)`] : []),
  ];
  return parts.length === 0 ? '' : `; NOT USED of the file: ${parts.join(' and ')}`;
}

function notesOf({ engines, leftOut, missing, set }: EngineMeasurement): string[] {
  return [
    'A ratio is the median of the ratios within each round. Both sides of a ratio are measured within seconds of each other.',
    'hnswlib-node, hnswlib and usearch work on the calling thread; filters of hnswlib-node are JavaScript callbacks, because it has no other filters. The figures of servers and databases include their client libraries; their CPU time is that of the server process, if any.',
    `Vectors with another distribution give other figures: repeat with --difficulty hard, or with --vectors-file. Figures for ${formatNumber(set.rows, 0)} vectors do not apply to a hundred times as many.`,
    ...engines.flatMap(recallNotes),
    ...(leftOut.length === 0 ? [] : [`NOT SELECTED (--engines): ${leftOut.join(', ')}.`]),
    ...missing.map(({ name, reason }) => `NOT MEASURED: ${name}. ${reason}`),
  ];
}

/**
 * Tolerated deviation from a target recall, which depends on the random questions and on the integer steps of
 * ef; larger deviations are noted.
 */
const recallTolerance = 0.01;

/** Returns notes for engines that were not measured at the target recalls. */
function recallNotes({ name, curve, modes }: MeasuredEngine): string[] {
  if (!modes.some(({ name: mode }) => mode.startsWith('ef '))) return [];
  return recallTargets.flatMap((target) => {
    const mode = modes.find((one) => one.name === `recall ${target}`);
    if (mode === undefined) {
      const { ef, recall } = bestPoint(curve);
      return [
        `NOT REACHED: recall ${target} by ${name}. Its best recall is ${formatNumber(recall, 4)} (ef ${ef}).`,
      ];
    }
    if (mode.recall <= target + recallTolerance) return [];
    return [
      `HIGHER RECALL: the lowest ef of ${name} that reaches ${target} (${mode.ef}) has recall ${formatNumber(mode.recall, 4)}; its speed is that of this recall.`,
    ];
  });
}

/** Removes the folder, because a report may be published and must not contain paths of the machine. */
function withoutFolder({ set: { folder: _, ...set }, ...rest }: EngineMeasurement) {
  return { ...rest, set };
}
