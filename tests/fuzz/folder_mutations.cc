#include "tests/fuzz/folder_mutations.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/mutation_count.h"

namespace eroica {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostChanges = 24;
constexpr size_t kMostBytes = 200'000;  // of a file: more is slow, and shows nothing else

constexpr const char* kTexts[] = {"",
                                  "[0, 4294967296]",
                                  "[0, 1, 2, 3, 4, 5, 6, 7]",
                                  "[-1]",
                                  "[0, 0]",
                                  "[0, 1, ...]",
                                  "[1048575]",
                                  "nccl:send 0->4294967297",
                                  "nccl:recv 3<-0",
                                  "ProfilerStep#9223372036854775807",
                                  "ProfilerStep#3",
                                  "ncclDevKernel_SendRecv()",
                                  "c10d::recv_",
                                  "record_param_comms",
                                  "gloo:all_to_all",
                                  "Optimizer.step#Adam.step",
                                  "python_function",
                                  "user_annotation",
                                  "kernel",
                                  "cuda_runtime",
                                  "1e308",
                                  "NaN",
                                  "\xff\xfe",
                                  "\x1b[31m",
                                  "\xe2\x80\xae"};

constexpr const char* kNames[] = {"rank0.json",       "rank1048575.json",
                                  "rank1048576.json", "rank99999999999999999999.json",
                                  "rank-1.json",      "trace.json",
                                  "fr_rank0.json",    "fr_rank4294967296.json",
                                  "_dump_0",          "nccl_trace_rank_1048576",
                                  "ss_rank0.txt",     "operations.csv",
                                  "rank2.json.gz",    "worker3_step_12.pt.trace.json",
                                  "\xff.json",        "rank1 \n.json"};

// The containers of a document, the deeper ones as often as the others.
void Collect(Json& value, std::vector<Json*>* containers) {
  if (!value.is_structured()) return;
  containers->push_back(&value);
  for (Json& member : value) Collect(member, containers);
}

Json* MemberOf(Json& container, FuzzChoices& choices) {
  if (container.empty()) return nullptr;
  auto at = container.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(choices.Below(container.size())));
  return &*at;
}

void EraseMember(Json& container, FuzzChoices& choices) {
  if (container.empty()) return;
  auto at = container.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(choices.Below(container.size())));
  container.erase(at);
}

Json OtherValue(FuzzChoices& choices) {
  switch (choices.Below(8)) {
    case 0: return nullptr;
    case 1: return choices.OneIn(2);
    case 2: return static_cast<double>(choices.Extreme()) / 3;
    case 3: return choices.Of(kTexts);
    case 4: return Json::array();
    case 5: return Json::object();
    case 6: return {choices.Extreme(), choices.Extreme()};
    default: return choices.Extreme();
  }
}

void ChangeContainer(FuzzChoices& choices, const std::vector<Json*>& containers, Json& container) {
  Json* const member = MemberOf(container, choices);
  if (member == nullptr) return;
  switch (choices.Below(8)) {
    case 0: return EraseMember(container, choices);
    case 1: *member = OtherValue(choices); return;
    case 2:
      if (container.is_array() && container.size() < 2'000) container.push_back(Json(*member));
      return;
    case 3: {
      const Json* const other = MemberOf(*containers[choices.Below(containers.size())], choices);
      if (other != nullptr && !other->is_structured()) *member = Json(*other);
      return;
    }
    case 4:
      if (member->is_number_integer())
        *member = static_cast<int64_t>(member->get<uint64_t>() + choices.Below(5) - 2);
      return;
    case 5:
      if (member->is_number()) *member = member->dump();
      return;
    case 6:
      if (container.is_array() && container.size() > 1)
        std::swap(container.front(), *MemberOf(container, choices));
      return;
    default:
      if (member->is_number()) *member = choices.Extreme();
      if (member->is_string()) *member = choices.Of(kTexts);
  }
}

// False: it is no JSON.
bool ChangeJson(FuzzChoices& choices, std::string* content) {
  Json document = Json::parse(*content, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return false;
  for (size_t changes = 1 + choices.Below(6); changes > 0; --changes) {
    std::vector<Json*> containers;
    Collect(document, &containers);
    if (containers.empty()) break;
    ChangeContainer(choices, containers, *containers[choices.Below(containers.size())]);
    ++mutations_made;
  }
  *content = document.dump(-1, ' ', false, Json::error_handler_t::replace);
  return true;
}

// A number of the text becomes another one.
void ChangeNumber(FuzzChoices& choices, std::string* content) {
  constexpr std::string_view kDigits = "0123456789";
  const size_t begin = content->find_first_of(kDigits, choices.Below(content->size()));
  if (begin == std::string::npos) return;
  const size_t end = std::min(content->find_first_not_of(kDigits, begin), content->size());
  content->replace(begin, end - begin, std::to_string(choices.Extreme()));
}

void ChangeBytes(FuzzChoices& choices, std::string* content) {
  if (content->empty()) return;
  const size_t at = choices.Below(content->size());
  const size_t length = std::min(content->size() - at, 1 + choices.Below(40));
  switch (choices.Below(5)) {
    case 0: (*content)[at] = static_cast<char>((*content)[at] ^ (1 << choices.Below(8))); return;
    case 1: content->erase(at, length); return;
    case 2: content->insert(choices.Below(content->size()), content->substr(at, length)); return;
    case 3: content->resize(at); return;  // cut off
    default: (*content)[at] = static_cast<char>(choices.Word());
  }
}

using File = FuzzFolder::iterator;

File SomeFile(FuzzChoices& choices, FuzzFolder* folder) {
  auto file = folder->begin();
  std::advance(file, static_cast<std::ptrdiff_t>(choices.Below(folder->size())));
  return file;
}

void ChangeContent(FuzzChoices& choices, std::string* content) {
  if (!choices.OneIn(4) && ChangeJson(choices, content)) return;
  ++mutations_made;
  if (content->empty()) return;
  if (choices.OneIn(2)) return ChangeNumber(choices, content);
  ChangeBytes(choices, content);
}

// All events in one file, as tools merge them.
void MergeTraces(FuzzFolder* folder) {
  Json merged{{"traceEvents", Json::array()}};
  for (const auto& [name, content] : *folder) {
    const Json trace = Json::parse(content, nullptr, /*allow_exceptions=*/false);
    if (!trace.is_object() || !trace.contains("traceEvents")) continue;
    for (const Json& event : trace["traceEvents"]) merged["traceEvents"].push_back(event);
  }
  folder->clear();
  (*folder)["merged_trace.json"] = merged.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void ChangeFiles(FuzzChoices& choices, FuzzFolder* folder) {
  const File file = SomeFile(choices, folder);
  switch (choices.Below(7)) {
    case 0: (*folder)[choices.Of(kNames)] = std::string(file->second); return;  // twice
    case 1: folder->erase(file); return;
    case 2: {
      std::string content = std::move(file->second);
      folder->erase(file);
      (*folder)[choices.Of(kNames)] = std::move(content);
      return;
    }
    case 3: return MergeTraces(folder);
    case 4: std::swap(file->second, SomeFile(choices, folder)->second); return;
    case 5: file->second = PickleOfJson(file->second); return;
    default: (*folder)[fmt::format("rank{}.json", choices.Below(12))] = file->second;
  }
}

}  // namespace

void MutateFolder(FuzzChoices& choices, FuzzFolder* folder) {
  if (choices.OneIn(16)) return;
  for (size_t changes = 1 + choices.Below(kMostChanges); changes > 0 && !folder->empty();
       --changes) {
    if (choices.OneIn(8)) {
      ChangeFiles(choices, folder);
      ++mutations_made;
    } else {
      ChangeContent(choices, &SomeFile(choices, folder)->second);
    }
  }
  for (auto& [name, content] : *folder) content.resize(std::min(content.size(), kMostBytes));
}

}  // namespace eroica
