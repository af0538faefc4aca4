#include "producers/export/collective_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <string_view>

#include "producers/export/json_text.h"

namespace eroica {
namespace {

// of a group, beside a kernel: beyond, PyTorch cuts the list short. The head of the trace has them
// all
constexpr size_t kMostNamedRanks = 30;

std::string_view NameOf(CollectiveOperation operation) {
  switch (operation) {
    case CollectiveOperation::kUnknown: return "";
    case CollectiveOperation::kAllReduce: return "allreduce";
    case CollectiveOperation::kAllGather: return "_allgather_base";
    case CollectiveOperation::kReduceScatter: return "_reduce_scatter_base";
    case CollectiveOperation::kBroadcast: return "broadcast";
    case CollectiveOperation::kReduce: return "reduce";
    case CollectiveOperation::kAllToAll: return "all_to_allv";
    case CollectiveOperation::kGather: return "gather";
    case CollectiveOperation::kScatter: return "scatter";
    case CollectiveOperation::kBarrier: return "barrier";
    case CollectiveOperation::kSend: return "send";
    case CollectiveOperation::kRecv: return "recv";
  }
  return "";
}

}  // namespace

void AppendCollectiveArgs(const Communicator& communicator, const Collective& collective,
                          RankId rank, std::string* json) {
  const auto out = std::back_inserter(*json);
  // Elements of two bytes where that goes, as gradients and activations mostly are.
  const bool halves = collective.bytes % 2 == 0;
  const uint64_t elements = halves ? collective.bytes / 2 : collective.bytes;
  fmt::format_to(out,
                 "\"Collective name\":\"{}\",\"dtype\":\"{}\",\"In msg nelems\":{},\"Out msg "
                 "nelems\":{},\"Group size\":{},",
                 NameOf(collective.operation), halves ? "BFloat16" : "Byte", elements, elements,
                 communicator.size);
  *json += "\"Process Group Name\":";
  AppendJsonString(communicator.name, json);
  *json += ",\"Process Group Description\":";
  AppendJsonString(communicator.description, json);
  if (!communicator.ranks.empty()) {
    const bool cut = communicator.ranks.size() > kMostNamedRanks;
    const auto end = cut ? communicator.ranks.begin() + kMostNamedRanks : communicator.ranks.end();
    fmt::format_to(out, ",\"Process Group Ranks\":\"[{}{}]\"",
                   fmt::join(communicator.ranks.begin(), end, ", "), cut ? ", ..." : "");
  }
  fmt::format_to(out, ",\"Seq\":{}", collective.sequence);
  if (!IsPointToPoint(collective.operation)) return;
  const bool sends = collective.operation == CollectiveOperation::kSend;
  const auto own = static_cast<int64_t>(rank.value);
  fmt::format_to(out, ",\"Src Rank\":{},\"Dst Rank\":{}", sends ? own : collective.peer,
                 sends ? collective.peer : own);
}

void AppendProcessGroup(const Communicator& communicator, std::string* json) {
  *json += "{\"pg_name\":";
  AppendJsonString(communicator.name, json);
  *json += ",\"pg_desc\":";
  AppendJsonString(communicator.description, json);
  fmt::format_to(std::back_inserter(*json),
                 ",\"backend_config\":\"cuda:nccl\",\"pg_size\":{},\"ranks\":[{}]}}",
                 communicator.size, fmt::join(communicator.ranks, ","));
}

}  // namespace eroica
