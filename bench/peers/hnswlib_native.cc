// Addon of hnswlib's own headers, compiled for the machine it runs on (with AVX-512 if available) and with
// filters in C++: the fastest variant of this peer. Compiled by `npm run bench -- peers install`; never part of
// the product.
#include <hnswlib/hnswlib.h>
#include <napi.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

// Accepts the rows whose tag byte has the bit set.
class TagFilter : public hnswlib::BaseFilterFunctor {
 public:
  TagFilter(const std::vector<uint8_t>& tags, uint8_t bit) : tags_(tags), bit_(bit) {}
  bool operator()(hnswlib::labeltype label) override { return (tags_[label] & bit_) != 0; }

 private:
  const std::vector<uint8_t>& tags_;
  const uint8_t bit_;
};

// new Index(dimensions, rows, connections, efConstruction, path | null): loads the file written by save.
class Index : public Napi::ObjectWrap<Index> {
 public:
  static Napi::Function Define(Napi::Env env) {
    return DefineClass(env, "Index",
                       {InstanceMethod("add", &Index::Add), InstanceMethod("remove", &Index::Remove),
                        InstanceMethod("search", &Index::Search), InstanceMethod("save", &Index::Save)});
  }

  explicit Index(const Napi::CallbackInfo& info)
      : Napi::ObjectWrap<Index>(info),
        dimensions_(info[0].As<Napi::Number>().Uint32Value()),
        space_(dimensions_),
        tags_(info[1].As<Napi::Number>().Uint32Value()) {
    const size_t rows = tags_.size();
    try {
      if (info[4].IsString()) {
        const std::string path = info[4].As<Napi::String>();
        graph_ = std::make_unique<hnswlib::HierarchicalNSW<float>>(&space_, path, false, rows, true);
      } else {
        const size_t connections = info[2].As<Napi::Number>().Uint32Value();
        const size_t ef = info[3].As<Napi::Number>().Uint32Value();
        graph_ = std::make_unique<hnswlib::HierarchicalNSW<float>>(&space_, rows, connections, ef, 100, true);
      }
    } catch (const std::exception& error) {
      throw Napi::Error::New(info.Env(), error.what());
    }
  }

 private:
  // add(labels: Uint32Array, vectors: Float32Array, tags: Uint8Array, replaceDeleted: boolean)
  Napi::Value Add(const Napi::CallbackInfo& info) {
    const auto labels = info[0].As<Napi::Uint32Array>();
    const auto vectors = info[1].As<Napi::Float32Array>();
    const auto tags = info[2].As<Napi::Uint8Array>();
    const bool replace = info[3].As<Napi::Boolean>();
    try {
      for (size_t i = 0; i < labels.ElementLength(); i++) {
        if (labels[i] >= tags_.size()) tags_.resize(labels[i] + 1);
        tags_[labels[i]] = tags[i];
        graph_->addPoint(vectors.Data() + i * dimensions_, labels[i], replace);
      }
    } catch (const std::exception& error) {
      throw Napi::Error::New(info.Env(), error.what());
    }
    return info.Env().Undefined();
  }

  // remove(labels: Uint32Array)
  Napi::Value Remove(const Napi::CallbackInfo& info) {
    const auto labels = info[0].As<Napi::Uint32Array>();
    try {
      for (size_t i = 0; i < labels.ElementLength(); i++) graph_->markDelete(labels[i]);
    } catch (const std::exception& error) {
      throw Napi::Error::New(info.Env(), error.what());
    }
    return info.Env().Undefined();
  }

  // search(vector: Float32Array, count, ef, bit): Uint32Array of labels, nearest first; bit 0: no filter
  Napi::Value Search(const Napi::CallbackInfo& info) {
    const auto vector = info[0].As<Napi::Float32Array>();
    const size_t count = info[1].As<Napi::Number>().Uint32Value();
    graph_->setEf(info[2].As<Napi::Number>().Uint32Value());
    const auto bit = static_cast<uint8_t>(info[3].As<Napi::Number>().Uint32Value());
    TagFilter filter(tags_, bit);
    auto found = graph_->searchKnn(vector.Data(), count, bit == 0 ? nullptr : &filter);
    auto labels = Napi::Uint32Array::New(info.Env(), found.size());
    for (size_t i = found.size(); i > 0; found.pop()) labels[--i] = static_cast<uint32_t>(found.top().second);
    return labels;
  }

  // save(path)
  Napi::Value Save(const Napi::CallbackInfo& info) {
    graph_->saveIndex(info[0].As<Napi::String>());
    return info.Env().Undefined();
  }

  const size_t dimensions_;
  hnswlib::InnerProductSpace space_;
  std::vector<uint8_t> tags_;
  std::unique_ptr<hnswlib::HierarchicalNSW<float>> graph_;
};

Napi::Object Init(Napi::Env env, Napi::Object exports) {
  exports.Set("Index", Index::Define(env));
  return exports;
}

}  // namespace

NODE_API_MODULE(hnswlib_native, Init)
