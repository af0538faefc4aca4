#include "producers/import/collective_args.h"

#include <charconv>

#include "producers/import/chrome_event.h"
#include "producers/import/function_classifier.h"
#include "producers/import/json_members.h"

namespace eroica {
namespace {

int64_t ParseInteger(std::string_view text, int64_t fallback) {
  text = Unquoted(text);
  int64_t value = fallback;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Elements of each entry of "Input Dims": an entry is a shape, or a list of shapes whose elements
// add up. [] is no tensor, 0 elements.
std::vector<uint64_t> ParseDims(std::string_view text) {
  std::vector<uint64_t> elements;
  int depth = 0;
  bool any = false;  // an extent of the shape has been read
  uint64_t product = 0;
  uint64_t sum = 0;
  size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '[') {
      ++depth;
      any = false;
      if (depth == 2) sum = 0;
    } else if (c == ']') {
      if (depth >= 2 && any) sum += product;
      any = false;
      if (depth == 2) elements.push_back(sum);
      --depth;
    } else if (c >= '0' && c <= '9') {
      uint64_t extent = 0;
      const auto [rest, error] =
          std::from_chars(text.data() + at, text.data() + text.size(), extent);
      if (error != std::errc()) return {};
      const bool overflow = any && product != 0 && extent > (uint64_t{1} << 60) / product;
      product = overflow ? 0 : any ? product * extent : extent;
      any = true;
      at = static_cast<size_t>(rest - text.data());
      continue;
    }
    ++at;
  }
  return elements;
}

// The strings of a flat JSON array; other elements as they stand.
std::vector<std::string_view> ParseList(std::string_view text) {
  std::vector<std::string_view> list;
  if (text.size() < 2 || text[0] != '[') return list;
  const size_t end = text.size() - 1;
  size_t at = SkipJsonSpace(text.data(), 1, end);
  while (at < end) {
    const size_t value_end = FindJsonValueEnd(text.data(), at, end);
    if (value_end > end) return list;
    list.push_back(Unquoted(text.substr(at, value_end - at)));
    at = SkipJsonSpace(text.data(), value_end, end);
    if (at < end && text[at] == ',') ++at;
    at = SkipJsonSpace(text.data(), at, end);
  }
  return list;
}

struct RawCollectiveArgs {
  std::string_view dims;
  std::string_view types;
  std::string_view concrete;
  std::string_view dtype;
  std::string_view group_ranks;
  int64_t in_elements = -1;
  int64_t source = -1;
  int64_t destination = -1;
};

void AssignStated(std::string_view key, std::string_view value, RawCollectiveArgs* raw,
                  CollectiveArgs* args) {
  if (key == "Collective name") {
    args->states_collective = true;
    args->operation = OperationOfName(Unquoted(value));
  } else if (key == "Process Group Name") {
    args->group.name = DecodeJsonString(Unquoted(value));
  } else if (key == "Process Group Description") {
    args->group.description = DecodeJsonString(Unquoted(value));
  } else if (key == "Process Group Ranks") {
    raw->group_ranks = value;
  } else if (key == "Group size") {
    args->group.size = SizeOrUnknown(ParseInteger(value, 0));
  } else if (key == "In msg nelems" || key == "count") {
    raw->in_elements = ParseInteger(value, -1);
  } else if (key == "dtype" || key == "data_type") {  // HCCL's kernels say count and data_type
    raw->dtype = Unquoted(value);
  } else if (key == "Seq" || key == "Collective Seq" || key == "Seq num") {
    args->sequence = ParseInteger(value, -1);
  } else if (key == "Src Rank") {
    raw->source = ParseInteger(value, -1);
  } else if (key == "Dst Rank") {
    raw->destination = ParseInteger(value, -1);
  }
}

}  // namespace

CollectiveArgs ParseCollectiveArgs(std::string_view text) {
  CollectiveArgs args;
  RawCollectiveArgs raw;
  VisitJsonMembers(text, [&](std::string_view key, std::string_view value) {
    if (key == "External id") {
      args.external_id = static_cast<uint64_t>(ParseInteger(value, 0));
    } else if (key == "correlation") {
      args.correlation = static_cast<uint64_t>(ParseInteger(value, 0));
    } else if (key == "Input Dims") {
      raw.dims = value;
    } else if (key == "Input type") {
      raw.types = value;
    } else if (key == "Concrete Inputs") {
      raw.concrete = value;
    } else {
      AssignStated(key, value, &raw, &args);
    }
  });
  args.input_elements = ParseDims(raw.dims);
  const std::vector<std::string_view> types = ParseList(raw.types);
  for (size_t i = 0; i < args.input_elements.size(); ++i) {
    args.input_bytes.push_back(i < types.size() ? args.input_elements[i] * BytesOfType(types[i])
                                                : 0);
  }
  const std::vector<std::string_view> concrete = ParseList(raw.concrete);
  if (concrete.size() > 2 && !concrete[2].empty())
    args.group_peer = RankOrNone(ParseInteger(concrete[2], -1));
  TakeMembers(MemberList::Parse(raw.group_ranks), &args.group);
  if (!args.group.ranks.empty()) args.group.size = static_cast<uint32_t>(args.group.ranks.size());
  if (raw.in_elements > 0)
    args.bytes = static_cast<uint64_t>(raw.in_elements) * BytesOfType(raw.dtype);
  if (args.operation == CollectiveOperation::kSend) args.peer = RankOrNone(raw.destination);
  if (args.operation == CollectiveOperation::kRecv) args.peer = RankOrNone(raw.source);
  return args;
}

}  // namespace eroica
