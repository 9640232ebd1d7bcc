import { type DocumentSpan, measurePassageQuality } from '../../src/eval/passage-measures.ts';
import t from '../support/tap.ts';

const span = (start: number, end: number, document = 'a'): DocumentSpan => ({ document, start, end });

t.test('retrieved and relevant text is compared character by character', async (t) => {
  t.same(measurePassageQuality([span(0, 100)], [span(50, 150)]), {
    recall: 0.5,
    precision: 0.5,
    overlap: 50 / 150,
  });
  t.same(measurePassageQuality([span(0, 10)], [span(0, 10)]), { recall: 1, precision: 1, overlap: 1 });
  t.same(
    measurePassageQuality([span(0, 40), span(60, 100)], [span(30, 70), span(90, 95)]),
    { recall: 25 / 45, precision: 25 / 80, overlap: 25 / 100 },
    'passages and snippets match in any order',
  );
});

t.test('the same span of another document does not match', async (t) => {
  t.same(measurePassageQuality([span(0, 10, 'b'), span(0, 10)], [span(0, 20)]), {
    recall: 0.5,
    precision: 0.5,
    overlap: 10 / 30,
  });
});

t.test('a span retrieved twice counts once for recall and twice for precision', async (t) => {
  t.same(measurePassageQuality([span(0, 10), span(0, 10)], [span(0, 10)]), {
    recall: 1,
    precision: 0.5,
    overlap: 0.5,
  });
});

t.test('an empty result scores 0', async (t) => {
  t.same(measurePassageQuality([], [span(0, 10)]), { recall: 0, precision: 0, overlap: 0 });
});

t.test('spans of random texts agree with counting one character after the other', async (t) => {
  let state = 7;
  const below = (bound: number) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % bound;
  };
  const some = (count: number) =>
    Array.from({ length: count }, () => {
      const start = below(40);
      return span(start, start + 1 + below(15), below(2) === 0 ? 'a' : 'b');
    });
  for (let round = 0; round < 200; round += 1) {
    const [found, relevant] = [some(below(6)), some(1 + below(4))];
    const places = (spans: readonly DocumentSpan[]) =>
      spans.flatMap(({ document, start, end }) =>
        Array.from({ length: end - start }, (_, i) => `${document} ${start + i}`),
      );
    const relevantPlaces = new Set(places(relevant));
    const common = new Set(places(found).filter((place) => relevantPlaces.has(place))).size;
    const count = places(found).length;
    t.same(
      measurePassageQuality(found, relevant),
      {
        recall: common / relevantPlaces.size,
        precision: count === 0 ? 0 : common / count,
        overlap: common / (count + relevantPlaces.size - common),
      },
      `round ${round}`,
    );
  }
});
