#include "bridge/document_lists.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bridge/catch_out_of_memory.h"
#include "bridge/collection_handle.h"
#include "bridge/environment.h"
#include "bridge/values.h"
#include "engine/document_selection.h"
#include "engine/facets.h"
#include "engine/registry.h"
#include "engine/sorted_list.h"
#include "engine/version_list.h"

namespace quarry {
namespace {

// Documents of one or several collections.
struct Selections {
  std::vector<DocumentSelection> documents;
  std::vector<std::shared_ptr<Collection>> collections;  // open until the operation ends
};

// Converts an array of {handle, filter}. Takes the read snapshots.
std::shared_ptr<const Selections> ToSelections(const Napi::Value& value) {
  if (!value.IsArray()) throw Napi::TypeError::New(value.Env(), "selections must be an array");
  const auto array = value.As<Napi::Array>();
  auto selections = std::make_shared<Selections>();
  for (uint32_t i = 0; i < array.Length(); i++) {
    const auto entry = array.Get(i).As<Napi::Object>();
    auto collection = ToCollection(entry.Get("handle"));
    selections->documents.push_back({collection->GetReadSnapshot(), ToFilter(entry.Get("filter"))});
    selections->collections.push_back(std::move(collection));
  }
  return selections;
}

Napi::Value List(const Napi::CallbackInfo& info) {
  using Versions = std::shared_ptr<std::vector<double>>;
  const auto collection = ToCollection(info[0]);
  const auto filter = std::make_shared<std::optional<FilterProgram>>(ToFilter(info[1]));
  const uint64_t limit = ToCount(info[2], "limit");
  const CancellationToken cancellation = MakeCancellationToken(ToUint32(info[3], "deadlineMs"));
  const auto versions = std::make_shared<std::vector<double>>();
  return RunAsync<Versions>(
      info.Env(),
      [&](const Finish<Versions>& finish) {
        return Registry::Instance().RunQuery(
            [collection, filter, cancellation, limit, versions, readSnapshot = collection->GetReadSnapshot()] {
              return ListVersions(readSnapshot, filter->has_value() ? &**filter : nullptr, cancellation, limit,
                                  versions.get());
            },
            [finish, versions](Status status) { finish(std::move(status), versions); });
      },
      [](Napi::Env env, Versions& found) { return FromVersions(env, *found); });
}

// Returns two numbers for each document: its version and the position of its selection.
Napi::Value FromListed(Napi::Env env, const std::vector<ListedDocument>& documents) {
  auto array = Napi::Float64Array::New(env, 2 * documents.size());
  double* to = array.Data();
  for (const auto& [version, selection] : documents) {
    *to++ = static_cast<double>(version);
    *to++ = selection;
  }
  return array;
}

Napi::Value SortedList(const Napi::CallbackInfo& info) {
  using Documents = std::shared_ptr<std::vector<ListedDocument>>;
  const auto selections = ToSelections(info[0]);
  const auto fields = std::make_shared<std::vector<SortField>>(ToSort(info[1]));
  const auto excluded = std::make_shared<std::vector<uint64_t>>(ToVersions(info[2]));
  const uint64_t limit = ToCount(info[3], "limit");
  const CancellationToken cancellation = MakeCancellationToken(ToUint32(info[4], "deadlineMs"));
  const auto documents = std::make_shared<std::vector<ListedDocument>>();
  return RunAsync<Documents>(
      info.Env(),
      [&](const Finish<Documents>& finish) {
        return Registry::Instance().RunQuery(
            [selections, fields, excluded, limit, cancellation, documents] {
              return ListSorted(selections->documents, *fields, *excluded, limit, cancellation, documents.get());
            },
            [finish, documents](Status status) { finish(std::move(status), documents); });
      },
      [](Napi::Env env, Documents& found) { return FromListed(env, *found); });
}

Napi::Value Count(const Napi::CallbackInfo& info) {
  const auto collection = ToCollection(info[0]);
  const auto filter = ToFilter(info[1]);
  const uint64_t count = CountVersions(collection->GetReadSnapshot(), filter.has_value() ? &*filter : nullptr);
  return Napi::Number::New(info.Env(), static_cast<double>(count));
}

Napi::Value Facets(const Napi::CallbackInfo& info) {
  using Bytes = std::shared_ptr<std::vector<uint8_t>>;
  const auto selections = ToSelections(info[0]);
  const auto facets = std::make_shared<std::vector<FacetRequest>>(ToFacets(info[1]));
  const auto excluded = std::make_shared<std::vector<uint64_t>>(ToVersions(info[2]));
  const CancellationToken cancellation = MakeCancellationToken(ToUint32(info[3], "deadlineMs"));
  const auto bytes = std::make_shared<std::vector<uint8_t>>();
  return RunAsync<Bytes>(
      info.Env(),
      [&](const Finish<Bytes>& finish) {
        return Registry::Instance().RunQuery(
            [selections, facets, excluded, cancellation, bytes] {
              std::vector<FacetResult> results;
              Status status = CountFacets(selections->documents, *facets, *excluded, cancellation, &results);
              if (status.ok()) *bytes = EncodeFacets(results);
              return status;
            },
            [finish, bytes](Status status) { finish(std::move(status), bytes); });
      },
      [](Napi::Env env, Bytes& found) { return Napi::Buffer<uint8_t>::Copy(env, found->data(), found->size()); });
}

}  // namespace

void AddDocumentListFunctions(Napi::Env env, Napi::Object exports) {
  const auto add = [&](const char* name, Napi::Function function) { exports.Set(name, function); };
  add("collectionCount", Napi::Function::New<CatchOutOfMemory<Count>>(env, "collectionCount"));
  add("collectionList", Napi::Function::New<CatchOutOfMemory<List>>(env, "collectionList"));
  add("collectionsFacets", Napi::Function::New<CatchOutOfMemory<Facets>>(env, "collectionsFacets"));
  add("collectionsSortedList", Napi::Function::New<CatchOutOfMemory<SortedList>>(env, "collectionsSortedList"));
}

}  // namespace quarry
