// Trains a static embedding (one vector per token, two weights per token: as part of a query, as part of a document)
// so that a query lies near the passage it was taken from: symmetric InfoNCE with in-batch negatives, summed over the
// Matryoshka prefixes of the vector. Usage: contrastive key=value... (see Options). Input is the token file of
// tokens.ts; output is little-endian float32: table [vocabulary x dimensions], query weights, document weights
// [vocabulary], query prefix, document prefix [dimensions].
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

namespace {

constexpr int kDimensions = 320;
constexpr int kPrefixes[] = {40, 80, 160, 320};
constexpr int kPrefixCount = 4;
constexpr uint16_t kEndOfPassage = 0xffff;
// One article in this many is never trained on: the reranker learns from those.
constexpr uint32_t kHeldOutEvery = 40;

struct Options {
  std::string tokens, frames, out, shares;
  int vocabulary = 0, steps = 3500, batch = 1024, threads = 1;
  uint64_t seed = 1;
  float rate = 0.006f, temperature = 0.05f, exponent = 0.75f, cloze = 0.4f;
  float same = 0.6f;  // share of the batches whose pairs all come from one source
  float prefixWeight[kPrefixCount] = {0.15f, 0.2f, 0.3f, 1.0f};
};

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "contrastive: %s\n", what.c_str());
  std::exit(1);
}

Options parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    const size_t equals = argument.find('=');
    if (equals == std::string::npos) fail("expected key=value, got " + argument);
    const std::string key = argument.substr(0, equals), value = argument.substr(equals + 1);
    if (key == "tokens")
      options.tokens = value;
    else if (key == "frames")
      options.frames = value;
    else if (key == "out")
      options.out = value;
    else if (key == "shares")
      options.shares = value;
    else if (key == "vocabulary")
      options.vocabulary = std::stoi(value);
    else if (key == "steps")
      options.steps = std::stoi(value);
    else if (key == "batch")
      options.batch = std::stoi(value);
    else if (key == "threads")
      options.threads = std::stoi(value);
    else if (key == "seed")
      options.seed = std::stoull(value);
    else if (key == "rate")
      options.rate = std::stof(value);
    else if (key == "temperature")
      options.temperature = std::stof(value);
    else if (key == "exponent")
      options.exponent = std::stof(value);
    else if (key == "cloze")
      options.cloze = std::stof(value);
    else if (key == "same")
      options.same = std::stof(value);
    else
      fail("unknown option " + key);
  }
  return options;
}

// splitmix64: small, seeded, the same everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>((next() >> 32) * bound >> 32); }
  float unit() { return static_cast<float>(next() >> 40) * (1.0f / 16777216.0f); }
  float normal() {
    const float radius = std::sqrt(-2.0f * std::log(unit() + 1e-12f));
    return radius * std::cos(6.28318530718f * unit());
  }

 private:
  uint64_t state_;
};

// Calls body(begin, end, thread) on `threads` contiguous parts of [0, count).
void parallel(int threads, int count, const std::function<void(int, int, int)>& body) {
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) {
    const int begin = static_cast<int>(int64_t{count} * t / threads);
    const int end = static_cast<int>(int64_t{count} * (t + 1) / threads);
    others.emplace_back([&body, begin, end, t] { body(begin, end, t); });
  }
  body(0, static_cast<int>(int64_t{count} / threads), 0);
  for (std::thread& other : others) other.join();
}

// ---- the training text -------------------------------------------------------------------------------------------

struct Span {
  const uint16_t* begin;
  const uint16_t* end;
  size_t size() const { return static_cast<size_t>(end - begin); }
};

struct Passage {
  uint32_t article;
  Span title, heading;
  uint32_t firstSentence, sentenceCount;
};

struct Corpus {
  std::vector<uint16_t> words;
  std::vector<Span> sentences;
  std::vector<Passage> passages;
  std::vector<std::vector<uint32_t>> bySource;
  std::vector<uint32_t> documentCount;  // passages that hold a token, by token
  std::vector<std::vector<uint16_t>> frames;
};

std::vector<uint16_t> readWords(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) fail("cannot read " + path);
  std::vector<uint16_t> words(static_cast<size_t>(file.tellg()) / 2);
  file.seekg(0);
  file.read(reinterpret_cast<char*>(words.data()), static_cast<std::streamsize>(words.size() * 2));
  return words;
}

void countDocuments(Corpus& corpus, int vocabulary) {
  corpus.documentCount.assign(static_cast<size_t>(vocabulary), 0);
  std::vector<uint32_t> seen(static_cast<size_t>(vocabulary), UINT32_MAX);
  for (uint32_t i = 0; i < corpus.passages.size(); ++i) {
    const Passage& passage = corpus.passages[i];
    for (uint32_t s = 0; s < passage.sentenceCount; ++s) {
      const Span& sentence = corpus.sentences[passage.firstSentence + s];
      for (const uint16_t* token = sentence.begin; token < sentence.end; ++token) {
        if (*token >= vocabulary) fail("token outside the vocabulary");
        if (seen[*token] != i) ++corpus.documentCount[*token];
        seen[*token] = i;
      }
    }
  }
}

Corpus readCorpus(const Options& options) {
  Corpus corpus;
  corpus.words = readWords(options.tokens);
  const uint16_t* at = corpus.words.data();
  const uint16_t* const end = at + corpus.words.size();
  const auto span = [&at] {
    const uint16_t* begin = at + 1;
    at = begin + *at;
    return Span{begin, at};
  };
  while (at < end) {
    Passage passage{};
    passage.article = at[0] | (uint32_t{at[1]} << 16);
    const uint16_t source = at[2];
    at += 3;
    passage.title = span();
    passage.heading = span();
    passage.firstSentence = static_cast<uint32_t>(corpus.sentences.size());
    while (*at != kEndOfPassage) corpus.sentences.push_back(span());
    ++at;
    passage.sentenceCount = static_cast<uint32_t>(corpus.sentences.size()) - passage.firstSentence;
    if (passage.article % kHeldOutEvery == 0) continue;
    if (corpus.bySource.size() <= source) corpus.bySource.resize(source + 1u);
    corpus.bySource[source].push_back(static_cast<uint32_t>(corpus.passages.size()));
    corpus.passages.push_back(passage);
  }
  countDocuments(corpus, options.vocabulary);
  const std::vector<uint16_t> frames = readWords(options.frames);
  for (size_t i = 0; i < frames.size(); i += 1u + frames[i]) {
    const uint16_t* begin = &frames[i] + 1;
    corpus.frames.emplace_back(begin, begin + frames[i]);
  }
  return corpus;
}

// ---- pairs -------------------------------------------------------------------------------------------------------

struct Entry {
  uint32_t token;
  float share;  // of its text; the shares of a text sum to 1
};

// The bags of one side of a batch, one after the other.
struct Bags {
  std::vector<Entry> entries;
  std::vector<uint32_t> starts{0};
  void clear() {
    entries.clear();
    starts.assign(1, 0);
  }
};

using Tokens = std::vector<uint16_t>;

void append(Tokens& tokens, const Span& span) { tokens.insert(tokens.end(), span.begin, span.end); }

void addBag(Bags& bags, Tokens& tokens, float exponent) {
  std::sort(tokens.begin(), tokens.end());
  const size_t start = bags.entries.size();
  float total = 0;
  for (size_t i = 0; i < tokens.size();) {
    size_t next = i;
    while (next < tokens.size() && tokens[next] == tokens[i]) ++next;
    const float weight = std::pow(static_cast<float>(next - i), exponent);
    bags.entries.push_back({tokens[i], weight});
    total += weight;
    i = next;
  }
  for (size_t i = start; i < bags.entries.size(); ++i) bags.entries[i].share /= total;
  bags.starts.push_back(static_cast<uint32_t>(bags.entries.size()));
}

class Sampler {
 public:
  Sampler(const Corpus& corpus, const Options& options) : corpus_(corpus), options_(options), random_(options.seed) {
    std::stringstream list(options.shares);
    std::string share;
    while (std::getline(list, share, ',')) shares_.push_back(std::stof(share));
    if (shares_.size() != corpus.bySource.size()) fail("one share per source is needed");
  }

  // Fills a batch of pairs of different articles.
  void batch(Bags& queries, Bags& documents) {
    queries.clear();
    documents.clear();
    std::unordered_set<uint32_t> articles;
    const bool oneSource = random_.unit() < options_.same;
    size_t source = pickSource();
    for (int attempts = 0; static_cast<int>(queries.starts.size()) <= options_.batch; ++attempts) {
      // A small source runs out of distinct articles; the rest of the batch then comes from all.
      if (!oneSource || attempts > 2 * options_.batch) source = pickSource();
      const std::vector<uint32_t>& choices = corpus_.bySource[source];
      const Passage& passage = corpus_.passages[choices[random_.below(static_cast<uint32_t>(choices.size()))]];
      if (articles.count(passage.article) != 0) continue;
      if (!pair(passage)) continue;
      articles.insert(passage.article);
      addBag(queries, query_, options_.exponent);
      addBag(documents, document_, options_.exponent);
    }
  }

 private:
  size_t pickSource() {
    float rest = random_.unit();
    for (size_t i = 0; i + 1 < shares_.size(); ++i) {
      if (rest < shares_[i]) return i;
      rest -= shares_[i];
    }
    return shares_.size() - 1;
  }

  bool pair(const Passage& passage) {
    query_.clear();
    document_.clear();
    if (random_.unit() < options_.cloze && passage.sentenceCount >= 2)
      clozePair(passage);
    else
      titlePair(passage);
    return query_.size() >= 1 && document_.size() >= 8;
  }

  // The query is a sentence, whole or reduced to keywords; the document is the rest of the passage.
  void clozePair(const Passage& passage) {
    const uint32_t chosen = random_.below(passage.sentenceCount);
    const Span& sentence = corpus_.sentences[passage.firstSentence + chosen];
    if (sentence.size() < 5) return;
    const float kept = random_.unit() < 0.4f ? 0.3f + 0.5f * random_.unit() : 1.0f;
    for (const uint16_t* token = sentence.begin; token < sentence.end && query_.size() < 60; ++token) {
      if (kept == 1.0f || random_.unit() < kept) query_.push_back(*token);
    }
    if (random_.unit() < 0.5f) {
      append(document_, passage.title);
      append(document_, passage.heading);
    }
    for (uint32_t s = 0; s < passage.sentenceCount; ++s) {
      if (s != chosen) append(document_, corpus_.sentences[passage.firstSentence + s]);
    }
    if (random_.unit() < 0.15f) frame();
  }

  void titlePair(const Passage& passage) {
    append(query_, passage.title);
    append(query_, passage.heading);
    for (uint32_t s = 0; s < passage.sentenceCount; ++s) {
      append(document_, corpus_.sentences[passage.firstSentence + s]);
    }
    if (random_.unit() < 0.4f) frame();
  }

  // Words of questions around a query that has none: the query side learns what they are worth.
  void frame() {
    const Tokens& words = corpus_.frames[random_.below(static_cast<uint32_t>(corpus_.frames.size()))];
    query_.insert(query_.end(), words.begin(), words.end());
  }

  const Corpus& corpus_;
  const Options& options_;
  Random random_;
  std::vector<float> shares_;
  Tokens query_, document_;
};

// ---- arithmetic --------------------------------------------------------------------------------------------------

#ifdef __AVX512F__
constexpr int kRows = 8, kColumns = 48;
#else
constexpr int kRows = 6, kColumns = 16;
#endif

// Row-major; `stride` floats lie from row to row.
struct Matrix {
  float* data;
  size_t stride;
  float* row(size_t i) const { return data + i * stride; }
};

// `Rows` rows of C from (i, j) += the same rows of A times a panel of B, [k x kColumns].
template <int Rows>
void tile(const Matrix& c, const Matrix& a, const float* panel, int i, int j, int columns, int k) {
  float sums[Rows][kColumns] = {};
  for (int p = 0; p < k; ++p) {
    for (int r = 0; r < Rows; ++r) {
      const float factor = a.row(static_cast<size_t>(i + r))[p];
      for (int x = 0; x < kColumns; ++x) sums[r][x] += factor * panel[p * kColumns + x];
    }
  }
  for (int r = 0; r < Rows; ++r) {
    float* out = c.row(static_cast<size_t>(i + r)) + j;
    for (int x = 0; x < columns; ++x) out[x] += sums[r][x];
  }
}

void multiplyPart(const Matrix& c, const Matrix& a, const Matrix& b, int begin, int end, int n, int k) {
  constexpr int kDepth = 256;
  std::vector<float> panel(static_cast<size_t>(kDepth) * kColumns);
  for (int depth = 0; depth < k; depth += kDepth) {
    const int deep = std::min(kDepth, k - depth);
    const Matrix part{a.data + depth, a.stride};
    for (int j = 0; j < n; j += kColumns) {
      const int columns = std::min(kColumns, n - j);
      std::fill(panel.begin(), panel.end(), 0.0f);
      for (int p = 0; p < deep; ++p) {
        std::memcpy(&panel[static_cast<size_t>(p) * kColumns], b.row(static_cast<size_t>(depth + p)) + j,
                    static_cast<size_t>(columns) * sizeof(float));
      }
      int i = begin;
      for (; i + kRows <= end; i += kRows) tile<kRows>(c, part, panel.data(), i, j, columns, deep);
      for (; i < end; ++i) tile<1>(c, part, panel.data(), i, j, columns, deep);
    }
  }
}

// C[m x n] += A[m x k] * B[k x n].
void multiply(int threads, const Matrix& c, const Matrix& a, const Matrix& b, int m, int n, int k) {
  parallel(threads, m, [&](int begin, int end, int) { multiplyPart(c, a, b, begin, end, n, k); });
}

void transpose(const Matrix& out, const Matrix& in, int rows, int columns) {
  for (int i = 0; i < rows; i += 32) {
    for (int j = 0; j < columns; j += 32) {
      for (int y = i; y < std::min(rows, i + 32); ++y) {
        for (int x = j; x < std::min(columns, j + 32); ++x) {
          out.row(static_cast<size_t>(x))[y] = in.row(static_cast<size_t>(y))[x];
        }
      }
    }
  }
}

// ---- the model ---------------------------------------------------------------------------------------------------

// Parameters with lazy Adam: a row that no batch touches keeps its moments as they are.
struct Parameters {
  size_t width;
  std::vector<float> value, mean, square;
  Parameters(size_t rows, size_t columns)
      : width(columns), value(rows * columns), mean(rows * columns), square(rows * columns) {}

  void update(size_t row, const float* gradient, float rate, float meanScale, float squareScale) {
    float* v = &value[row * width];
    float* m = &mean[row * width];
    float* s = &square[row * width];
    for (size_t i = 0; i < width; ++i) {
      m[i] = 0.9f * m[i] + 0.1f * gradient[i];
      s[i] = 0.98f * s[i] + 0.02f * gradient[i] * gradient[i];
      v[i] -= rate * m[i] * meanScale / (std::sqrt(s[i] * squareScale) + 1e-8f);
    }
  }
};

// One tower: the weights and the prefix of queries or of documents, and what a step needs of it.
struct Side {
  Parameters weight, prefix;  // log weight of each token; [1 x dimensions]
  Bags bags;
  std::vector<float> raw, gradient, transposed;  // [batch x dimensions]; [dimensions x batch]
  std::vector<float> norm;                       // [prefixes x batch]
  Side(size_t vocabulary, size_t batch)
      : weight(vocabulary, 1),
        prefix(1, kDimensions),
        raw(batch * kDimensions),
        gradient(batch * kDimensions),
        transposed(batch * kDimensions),
        norm(kPrefixCount * batch) {}
};

class Trainer {
 public:
  Trainer(const Corpus& corpus, const Options& options)
      : options_(options),
        batch_(static_cast<size_t>(options.batch)),
        vocabulary_(static_cast<size_t>(options.vocabulary)),
        sampler_(corpus, options),
        table_(vocabulary_, kDimensions),
        query_(vocabulary_, batch_),
        document_(vocabulary_, batch_),
        slot_(vocabulary_, -1),
        h_(batch_ * batch_),
        hTransposed_(batch_ * batch_) {
    for (auto& scores : scores_) scores.resize(batch_ * batch_);
    initialise(corpus);
  }

  // One step of gradient descent; returns the loss of the whole vector.
  float step(int number) {
    sampler_.batch(query_.bags, document_.bags);
    forward(query_);
    forward(document_);
    const float loss = scoreGradients();
    backwardScores();
    backwardBags(number);
    return loss;
  }

  void save(const std::string& path) const {
    std::ofstream file(path, std::ios::binary);
    const auto write = [&file](const std::vector<float>& values) {
      const auto bytes = static_cast<std::streamsize>(values.size() * sizeof(float));
      file.write(reinterpret_cast<const char*>(values.data()), bytes);
    };
    const auto exponentials = [](std::vector<float> values) {
      for (float& value : values) value = std::exp(value);
      return values;
    };
    write(table_.value);
    write(exponentials(query_.weight.value));
    write(exponentials(document_.weight.value));
    write(query_.prefix.value);
    write(document_.prefix.value);
    if (!file) fail("cannot write " + path);
  }

 private:
  // Rare tokens start long: the norm of a vector is the weight of its token.
  void initialise(const Corpus& corpus) {
    Random random(options_.seed ^ 0x5eed);
    const float passages = static_cast<float>(corpus.passages.size());
    for (size_t token = 0; token < vocabulary_; ++token) {
      const float count = static_cast<float>(corpus.documentCount[token]);
      const float scale = std::log(1 + (passages - count + 0.5f) / (count + 0.5f)) / 8 / std::sqrt(float{kDimensions});
      for (size_t i = 0; i < kDimensions; ++i) table_.value[token * kDimensions + i] = scale * random.normal();
    }
    for (Side* side : {&query_, &document_}) {
      for (float& value : side->prefix.value) value = 0.1f / std::sqrt(float{kDimensions}) * random.normal();
    }
  }

  void forward(Side& side) {
    parallel(options_.threads, options_.batch, [&](int begin, int end, int) {
      for (size_t i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        float* raw = &side.raw[i * kDimensions];
        std::memcpy(raw, side.prefix.value.data(), kDimensions * sizeof(float));
        for (uint32_t e = side.bags.starts[i]; e < side.bags.starts[i + 1]; ++e) {
          const Entry& entry = side.bags.entries[e];
          const float weight = entry.share * std::exp(side.weight.value[entry.token]);
          const float* row = &table_.value[size_t{entry.token} * kDimensions];
          for (int d = 0; d < kDimensions; ++d) raw[d] += weight * row[d];
        }
        float sum = 1e-12f;
        for (int p = 0, d = 0; p < kPrefixCount; ++p) {
          for (; d < kPrefixes[p]; ++d) sum += raw[d] * raw[d];
          side.norm[static_cast<size_t>(p) * batch_ + i] = std::sqrt(sum);
        }
      }
    });
    transpose({side.transposed.data(), batch_}, {side.raw.data(), kDimensions}, options_.batch, kDimensions);
  }

  // scores_[p] becomes dLoss/dDot of prefix p; the norms' share of the gradient goes into the sides.
  float scoreGradients() {
    std::fill(query_.gradient.begin(), query_.gradient.end(), 0.0f);
    std::fill(document_.gradient.begin(), document_.gradient.end(), 0.0f);
    std::fill(h_.begin(), h_.end(), 0.0f);
    float loss = 0;
    for (int p = 0, from = 0; p < kPrefixCount; from = kPrefixes[p++]) {
      multiply(options_.threads, {h_.data(), batch_}, {query_.raw.data() + from, kDimensions},
               {document_.transposed.data() + static_cast<size_t>(from) * batch_, batch_}, options_.batch,
               options_.batch, kPrefixes[p] - from);
      loss = softmax(p);
    }
    return loss;
  }

  // Cosines of prefix p from the dots in h_, symmetric cross entropy, gradient by dot into scores_[p].
  float softmax(int p) {
    const float* queryNorm = &query_.norm[static_cast<size_t>(p) * batch_];
    const float* documentNorm = &document_.norm[static_cast<size_t>(p) * batch_];
    const float sharpness = 1 / options_.temperature;
    std::vector<float> rowSum(batch_), columnSum(batch_), inverse(batch_), columnSlope(batch_);
    for (size_t j = 0; j < batch_; ++j) inverse[j] = 1 / documentNorm[j];
    float* scores = scores_[p].data();
    float loss = 0;
    for (size_t i = 0; i < batch_; ++i) {
      const float scale = 1 / queryNorm[i];
      float sum = 0;
      for (size_t j = 0; j < batch_; ++j) {
        const float e = std::exp((h_[i * batch_ + j] * scale * inverse[j] - 1) * sharpness);
        scores[i * batch_ + j] = e;
        sum += e;
        columnSum[j] += e;
      }
      rowSum[i] = sum;
    }
    const float weight = options_.prefixWeight[p] * sharpness / (2 * static_cast<float>(batch_));
    for (size_t i = 0; i < batch_; ++i) {
      const float own = scores[i * batch_ + i];
      loss -= 0.5f * (std::log(own / rowSum[i]) + std::log(own / columnSum[i]));
      const float scale = 1 / queryNorm[i];
      float rowSlope = 0;
      for (size_t j = 0; j < batch_; ++j) {
        float gradient = scores[i * batch_ + j] * (1 / rowSum[i] + 1 / columnSum[j]);
        if (i == j) gradient -= 2;
        gradient *= weight * scale * inverse[j];
        const float slope = gradient * h_[i * batch_ + j];
        scores[i * batch_ + j] = gradient;
        rowSlope += slope;
        columnSlope[j] += slope;
      }
      addNormGradient(query_, i, p, rowSlope);
    }
    for (size_t j = 0; j < batch_; ++j) addNormGradient(document_, j, p, columnSlope[j]);
    return loss / static_cast<float>(batch_);
  }

  static void addNormGradient(Side& side, size_t row, int p, float slope) {
    const float norm = side.norm[static_cast<size_t>(p) * (side.raw.size() / kDimensions) + row];
    const float factor = slope / (norm * norm);
    const float* raw = &side.raw[row * kDimensions];
    float* gradient = &side.gradient[row * kDimensions];
    for (int d = 0; d < kPrefixes[p]; ++d) gradient[d] -= factor * raw[d];
  }

  // A block of dimensions belongs to every prefix that reaches it: their gradients add up from the longest down.
  void backwardScores() {
    std::fill(h_.begin(), h_.end(), 0.0f);
    for (int p = kPrefixCount - 1; p >= 0; --p) {
      for (size_t i = 0; i < h_.size(); ++i) h_[i] += scores_[p][i];
      const int from = p == 0 ? 0 : kPrefixes[p - 1];
      const int width = kPrefixes[p] - from;
      multiply(options_.threads, {query_.gradient.data() + from, kDimensions}, {h_.data(), batch_},
               {document_.raw.data() + from, kDimensions}, options_.batch, width, options_.batch);
      transpose({hTransposed_.data(), batch_}, {h_.data(), batch_}, options_.batch, options_.batch);
      multiply(options_.threads, {document_.gradient.data() + from, kDimensions}, {hTransposed_.data(), batch_},
               {query_.raw.data() + from, kDimensions}, options_.batch, width, options_.batch);
    }
  }

  // Gradients of the vectors become gradients of the tokens in them, and the parameters move.
  void backwardBags(int number) {
    touched_.clear();
    for (const Side* side : {&query_, &document_}) {
      for (const Entry& entry : side->bags.entries) {
        if (slot_[entry.token] >= 0) continue;
        slot_[entry.token] = static_cast<int32_t>(touched_.size());
        touched_.push_back(entry.token);
      }
    }
    tableGradient_.assign(touched_.size() * kDimensions, 0.0f);
    queryGradient_.assign(touched_.size(), 0.0f);
    documentGradient_.assign(touched_.size(), 0.0f);
    scatter(query_, queryGradient_);
    scatter(document_, documentGradient_);
    update(number);
    for (const uint32_t token : touched_) slot_[token] = -1;
  }

  void scatter(const Side& side, std::vector<float>& weightGradient) {
    for (size_t i = 0; i < batch_; ++i) {
      const float* gradient = &side.gradient[i * kDimensions];
      for (uint32_t e = side.bags.starts[i]; e < side.bags.starts[i + 1]; ++e) {
        const Entry& entry = side.bags.entries[e];
        const size_t slot = static_cast<size_t>(slot_[entry.token]);
        const float weight = entry.share * std::exp(side.weight.value[entry.token]);
        const float* row = &table_.value[size_t{entry.token} * kDimensions];
        float* out = &tableGradient_[slot * kDimensions];
        float dot = 0;
        for (int d = 0; d < kDimensions; ++d) {
          dot += gradient[d] * row[d];
          out[d] += weight * gradient[d];
        }
        weightGradient[slot] += weight * dot;
      }
    }
  }

  void update(int number) {
    const float done = static_cast<float>(number) / static_cast<float>(options_.steps);
    const float rate = options_.rate * std::min(1.0f, static_cast<float>(number + 1) / 100.0f) * (1 - done);
    const float meanScale = 1 / (1 - std::pow(0.9f, static_cast<float>(number + 1)));
    const float squareScale = 1 / (1 - std::pow(0.98f, static_cast<float>(number + 1)));
    parallel(options_.threads, static_cast<int>(touched_.size()), [&](int begin, int end, int) {
      for (size_t slot = static_cast<size_t>(begin); slot < static_cast<size_t>(end); ++slot) {
        const uint32_t token = touched_[slot];
        table_.update(token, &tableGradient_[slot * kDimensions], rate, meanScale, squareScale);
        query_.weight.update(token, &queryGradient_[slot], rate, meanScale, squareScale);
        document_.weight.update(token, &documentGradient_[slot], rate, meanScale, squareScale);
      }
    });
    for (Side* side : {&query_, &document_}) {
      std::vector<float> sum(kDimensions);
      for (size_t i = 0; i < batch_; ++i) {
        for (size_t d = 0; d < kDimensions; ++d) sum[d] += side->gradient[i * kDimensions + d];
      }
      side->prefix.update(0, sum.data(), 0.1f * rate, meanScale, squareScale);
    }
  }

  const Options& options_;
  const size_t batch_, vocabulary_;
  Sampler sampler_;
  Parameters table_;
  Side query_, document_;
  std::vector<int32_t> slot_;
  std::vector<uint32_t> touched_;
  std::vector<float> tableGradient_, queryGradient_, documentGradient_;
  std::vector<float> h_, hTransposed_, scores_[kPrefixCount];
};

}  // namespace

int main(int count, char** arguments) {
  const Options options = parse(count, arguments);
  const Corpus corpus = readCorpus(options);
  Trainer trainer(corpus, options);
  float mean = 0;
  for (int number = 0; number < options.steps; ++number) {
    const float loss = trainer.step(number);
    mean = number == 0 ? loss : 0.98f * mean + 0.02f * loss;
    if (number % 50 == 49) {
      const double shown = static_cast<double>(mean);
      std::fprintf(stderr, "training: step %d of %d, loss %.3f\n", number + 1, options.steps, shown);
    }
  }
  trainer.save(options.out);
  return 0;
}
