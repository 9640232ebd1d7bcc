import { readFileSync } from 'node:fs';

export interface Dockerfile {
  /** Commands of RUN, without its flags. */
  readonly steps: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
  readonly userId: number;
  readonly volume: string;
  readonly healthCheck: readonly string[];
  readonly command: readonly string[];
}

/** Reads a Dockerfile with one stage and one instruction per line. Throws at an instruction that it does not know. */
export function readDockerfile(path: string): Dockerfile {
  const steps: string[] = [];
  const values: Record<string, string> = {};
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const [name = ''] = line.split(' ');
    const text = line.slice(name.length + 1).replace(/^(?:--\S+ )+/, '');
    if (name === 'RUN') steps.push(text);
    else if (['FROM', 'ENV', 'USER', 'WORKDIR', 'VOLUME', 'EXPOSE', 'HEALTHCHECK', 'CMD'].includes(name))
      values[name] = text;
    else throw new Error(`The test does not know the instruction ${name}.`);
  }
  const read = (name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`The Dockerfile has no ${name}.`);
    return value;
  };
  return {
    steps,
    variables: Object.fromEntries(
      read('ENV')
        .split(' ')
        .map((pair) => pair.split('=') as [string, string]),
    ),
    userId: Number(read('USER').split(':')[0]),
    volume: read('VOLUME'),
    healthCheck: JSON.parse(read('HEALTHCHECK').replace(/^CMD /, '')) as string[],
    command: JSON.parse(read('CMD')) as string[],
  };
}
