import type { CommandContext, CommandOptions, CommandSpec } from './command.ts';
import { jsonOption } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { printTable } from './terminal.ts';
import { toPrintable } from './text-layout.ts';

export const modelDoctorCommand: CommandSpec = {
  usage: 'models doctor',
  settings: 'server',
  summary:
    'check the configured model services: prompts, meaning, scores, and whether outputs are still those that were recorded; exit code 1 if a check failed',
  options: [
    {
      flags: '--record',
      meaning: 'record the outputs of each model that passes, for later comparisons; replaces earlier ones',
    },
    jsonOption,
  ],
  examples: ['quarry models doctor --record', 'quarry models doctor --json'],
  run: check,
};

async function check(
  { loaded, terminal }: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const { checkModels } = await import('../app/diagnostics/check-models.ts');
  const models = await checkModels(loaded.settings, { isRecording: options.record === true });
  const hasFailed = models.some(({ findings }) => findings.some(({ state }) => state === 'failed'));
  if (options.json === true)
    terminal.out(JSON.stringify({ state: hasFailed ? 'failed' : 'ok', models: models.map(toJson) }));
  else {
    const rows = models.flatMap(({ model, findings }) =>
      findings.map(({ check, state, detail }) => [
        toPrintable(model),
        check,
        state === 'failed' ? 'FAILED' : state,
        detail,
      ]),
    );
    printTable(terminal, ['model', 'check', 'state', 'detail'], rows);
    for (const { model, isRecorded } of models)
      if (isRecorded) terminal.out(`Recorded the outputs of ${toPrintable(model)}.`);
  }
  return hasFailed ? exitCodes.failed : exitCodes.done;
}

function toJson({
  model,
  kind,
  findings,
  isRecorded,
}: Awaited<ReturnType<typeof import('../app/diagnostics/check-models.ts').checkModels>>[number]) {
  return { model, kind, findings, recorded: isRecorded };
}
