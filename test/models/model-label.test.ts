import { formatModelLabel } from '../../src/models/model-label.ts';
import t from '../support/tap.ts';

t.test('a label is safe in a header, and built-in models are recognizable', async (t) => {
  t.equal(formatModelLabel({ id: 'zembed-1', version: '1' }, true), 'zembed-1@built-in-1');
  t.equal(formatModelLabel({ id: 'org/bge-m3:q8', version: '00ff' }, false), 'org/bge-m3:q8@00ff');
  t.equal(
    formatModelLabel({ id: 'a b,ü\r\n%\ud800', version: '1' }, false),
    'a%20b%2C%C3%BC%0D%0A%25%EF%BF%BD@1',
  );
});
