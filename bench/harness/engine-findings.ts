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
import {
  bestPoint,
  churnShare,
  type EngineMeasurement,
  type MeasuredEngine,
  recallTargets,
} from './engine-measurement.ts';
import { engineTargets } from './engine-targets.ts';
import type { BenchOptions } from './options.ts';

export function toEngineFindings(measurement: EngineMeasurement, options: BenchOptions): BenchFindings {
  const { set, engines } = measurement;
  const performanceTargets = engineTargets(measurement, options);
  return {
    title: `Vector search over ${formatNumber(set.rows, 0)} vectors of ${set.dimensions} dimensions${options.vectorsFile === null ? ` (${options.difficulty})` : ''}`,
    method: methodOf(measurement, options),
    tables: [
      ...(performanceTargets.length === 0 ? [] : [targetTable(performanceTargets, 2)]),
      ...recallTargets.map((target) => recallTable(engines, target)),
      filterTable(engines),
      buildTable(engines, set.rows),
      ...churnTables(engines),
      ...partsTables(engines, set.rows),
    ],
    charts: chartsOf(engines, set.rows),
    notes: notesOf(measurement),
    figures: engines.flatMap((engine) => figuresOf(engine, set.rows)),
    measured: withoutFolder(measurement),
  };
}

const textColumn = (key: string, heading: string): ReportColumn => ({ key, heading, unit: null, digits: 0 });
const numberColumn = (key: string, heading: string, unit: string | null, digits: number): ReportColumn => ({
  ...{ key, heading, unit, digits },
});

function recallTable(engines: readonly MeasuredEngine[], target: number): ReportTable {
  const own = findMode(engines[0], `recall ${target}`);
  return {
    title: `Searches at recall ${target}`,
    columns: [
      textColumn('engine', 'engine'),
      numberColumn('effort', 'effort', null, 0),
      numberColumn('recall', 'recall', null, 4),
      numberColumn('perCpuSecond', 'per second of CPU', 'searches', 0),
      numberColumn('times', `${engines[0]?.name} does so many times as many`, null, 2),
      numberColumn('p50Ms', 'p50, one at a time', 'ms', 3),
      numberColumn('p99Ms', 'p99', 'ms', 3),
      numberColumn('perSecond', 'per second, all cores', 'searches', 0),
    ],
    rows: engines.map((engine): ReportRow => {
      const targetMode = findMode(engine, `recall ${target}`);
      const mode = targetMode ?? findMode(engine, `effort ${bestPoint(engine.curve).ef}`);
      const singleSearchMode = engine.synchronous
        ? mode
        : findMode(engine, `recall ${target}, one at a time`);
      return {
        engine: engine.name,
        effort: mode?.ef ?? null,
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

function filterTable(engines: readonly MeasuredEngine[]): ReportTable {
  const filtering = engines.filter(({ modes }) => modes.some(({ filter }) => filter !== null));
  return {
    title: 'Searches with a filter, at recall .99 or the best that is reached',
    columns: [
      textColumn('filter', 'filter'),
      textColumn('engine', 'engine'),
      numberColumn('effort', 'effort', null, 0),
      numberColumn('recall', 'recall', null, 4),
      numberColumn('perCpuSecond', 'per second of CPU', 'searches', 0),
      numberColumn('times', `${engines[0]?.name} does so many times as many`, null, 2),
    ],
    rows: filters.flatMap(({ name }) =>
      filtering.map((engine): ReportRow => {
        const mode = findMode(engine, `filter ${name}`);
        return {
          filter: name,
          engine: engine.name,
          effort: mode?.ef ?? null,
          recall: mode?.recall ?? null,
          perCpuSecond: medianOf(mode, perCpuSecond),
          times: ratioOfModes(findMode(engines[0], `filter ${name}`), mode),
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
      numberColumn('own', 'memory of its own', 'bytes/vector', 0),
      numberColumn('mapped', 'mapped files', 'bytes/vector', 0),
      numberColumn('saveMs', 'save', 'ms', 0),
      numberColumn('loadMs', 'load and first search', 'ms', 0),
      numberColumn('loaded', 'memory of its own then', 'bytes/vector', 0),
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
        numberColumn('effort', 'effort', null, 0),
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
        const { ef: effort } = churned;
        return { engine: name, effort, rounds: churnRounds(churned), ...Object.fromEntries(recalls) };
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
            title: `Memory of ${name} by part, in its own words`,
            columns: [textColumn('part', 'part'), numberColumn('bytes', 'bytes per vector', null, 1)],
            rows: Object.entries(built.bytesByPart).map(([part, bytes]) => ({ part, bytes: bytes / rows })),
          },
        ],
  );
}

function chartsOf(engines: readonly MeasuredEngine[], rows: number): Chart[] {
  const bars = (title: string, yLabel: string, value: (engine: MeasuredEngine) => number | null): Chart => ({
    ...{ kind: 'bars', title, yLabel },
    bars: engines.map((engine) => ({ name: engine.name, value: value(engine) })),
  });
  return [
    {
      kind: 'lines',
      title: 'Searches per second of CPU time against recall (no filter)',
      x: { label: 'recall at k', scale: 'recall' },
      y: { label: 'searches per second of CPU', scale: 'logarithmic' },
      series: engines.map((engine) => ({
        name: engine.name,
        points: engine.modes
          .filter(({ name }) => name.startsWith('effort '))
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
}

function figuresOf(engine: MeasuredEngine, rows: number): Figure[] {
  const named = (what: string, unit: string, better: Figure['better'], values: (number | null)[]) => {
    const known = values.filter((value) => value !== null);
    return known.length < values.length
      ? []
      : [{ name: `${engine.name}: ${what}`, unit, better, values: known }];
  };
  const once = (what: string, unit: string, better: Figure['better'], value: number | null) =>
    value === null ? [] : named(what, unit, better, [value]);
  // Points of the curve have other recalls in every run; only measurements at a target recall are comparable.
  const modes = engine.modes.filter(({ name }) => !name.startsWith('effort '));
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
    `Vectors: \`${set.name}\`, ${formatNumber(set.rows, 0)} rows and ${formatNumber(set.questions, 0)} questions that are no rows, all of length 1${formatUnused(set)}; similarity is the inner product. Exact answers come from a plain loop in double precision that shares no code with any engine.`,
    `Every engine lives in a process of its own: ${engines.map(({ name, version }) => `${name} (${version})`).join('; ')}. Graphs have 16 links and are built with effort 200.`,
    `Equal recall: for each engine the least effort (ef, expansion, probes) that finds the wanted share of the exact ${options.results} best, over all questions, is searched by halving; then it is measured at that effort. A vector found counts when its exact similarity reaches that of the last of the best, so that of equally near ones any is as good, whichever engine finds it. Where an engine does not reach the recall, its best effort is measured and no ratio is shown.`,
    `Rounds: ${options.rounds}. Each measures every engine in every mode once for ${options.seconds} s, in a random order of its own.`,
    `"Per second of CPU": searches divided by the CPU time, user and system, of all threads of the process that does the work. It is what one core can do, whether an engine answers on the calling thread or hands work to others. Asynchronous engines have 16 searches under way meanwhile; "one at a time" is measured apart.`,
    `Filters: independent ones pick vectors by lot; correlated ones pick those furthest in a random direction, so that for most questions all matching vectors are far away. Replacing: 20 % of the vectors, drawn by lot, again and again, as new entries with the same values, so that the exact answers stay what they were and "as built" is what an index freshly built of the same vectors finds. Of a peer no round begins after 300 s.`,
    'Memory: anonymous and shared pages of the process after building, without its JavaScript heap, less those before the first vector; mapped files are apart, because the system can drop them. Below 20,000 vectors the process itself weighs more than its vectors.',
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
    'A ratio is the median of the ratios within each round. Its two sides were measured within seconds of each other.',
    'hnswlib-node, hnswlib and usearch work on the calling thread; filters of hnswlib-node are JavaScript callbacks, because that is how it offers them. Client libraries of servers and databases are part of their figures, as they are for their users; the CPU time is that of the server process where there is one.',
    `Vectors that lie differently give other figures: repeat with --difficulty hard, or with --vectors-file. ${formatNumber(set.rows, 0)} vectors say little about a hundred times as many.`,
    ...engines.flatMap(recallNotes),
    ...(leftOut.length === 0 ? [] : [`NOT ASKED FOR (--engines): ${leftOut.join(', ')}.`]),
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
  return recallTargets.flatMap((target) => {
    const mode = modes.find((one) => one.name === `recall ${target}`);
    if (mode === undefined) {
      const { ef: effort, recall } = bestPoint(curve);
      return [
        `NOT REACHED: recall ${target} by ${name}. It finds ${formatNumber(recall, 4)} at best (effort ${effort}).`,
      ];
    }
    if (mode.recall <= target + recallTolerance) return [];
    return [
      `ANOTHER RECALL: where ${target} is asked for, the least effort of ${name} that finds as much (${mode.ef}) finds ${formatNumber(mode.recall, 4)}; its speed is that of this recall.`,
    ];
  });
}

/** Removes the folder, because a report may be published and must not contain paths of the machine. */
function withoutFolder({ set: { folder: _, ...set }, ...rest }: EngineMeasurement) {
  return { ...rest, set };
}
