// The software bill of materials (CycloneDX) of a staged application.
import { createHash } from 'node:crypto';
import { run } from './run.js';

/** npm lists the packages; Node.js is added. Time and serial number follow from the content. */
export function createBillOfMaterials({ npm, folder, runtime, seconds }) {
  const words = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application'];
  const bill = JSON.parse(run(process.execPath, [npm, ...words], { cwd: folder }));
  bill.metadata.timestamp = new Date(seconds * 1000).toISOString();
  const { version } = runtime.node;
  bill.components.push({
    'bom-ref': `node@${version}`,
    type: 'platform',
    name: 'node',
    version,
    purl: `pkg:generic/node@${version}`,
    licenses: [{ license: { id: 'MIT' } }],
  });
  delete bill.serialNumber;
  const digest = createHash('sha256').update(JSON.stringify(bill)).digest('hex');
  const parts = [8, 12, 16, 20, 32].map((end, index, ends) => digest.slice(ends[index - 1] ?? 0, end));
  return { ...bill, serialNumber: `urn:uuid:${parts.join('-')}` };
}
