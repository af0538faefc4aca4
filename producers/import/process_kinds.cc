#include "producers/import/process_kinds.h"

#include <algorithm>
#include <array>

#include "producers/import/collective_kernels.h"
#include "producers/import/json_members.h"

namespace eroica {
namespace {

template <size_t N>
bool StartsWithOne(std::string_view text, const std::array<std::string_view, N>& prefixes) {
  return std::ranges::any_of(prefixes,
                             [text](std::string_view prefix) { return text.starts_with(prefix); });
}

template <size_t N>
bool IsOneOf(std::string_view text, const std::array<std::string_view, N>& list) {
  return std::ranges::find(list, text) != list.end();
}

bool NameHolds(std::string_view text, std::string_view lower) {
  const auto same = [](char x, char y) { return (x >= 'A' && x <= 'Z' ? x - 'A' + 'a' : x) == y; };
  return !std::ranges::search(text, lower, same).empty();
}

constexpr std::array<std::string_view, 8> kDeviceLabels = {"GPU", "NPU", "XPU",  "HPU",
                                                           "MLU", "GCU", "MTIA", "TPU"};
constexpr std::array<std::string_view, 2> kCommunicationNames = {"HCCL", "Communication"};

// The spans of torch_npu's overlap analysis.
constexpr std::array<std::string_view, 4> kDerivedSpans = {"Computing", "Communication",
                                                           "Communication(Not Overlapped)", "Free"};

// A task of a device says on which stream it ran.
bool StatesStream(std::string_view args) {
  constexpr std::array<std::string_view, 4> kKeys = {"Stream Id", "stream id", "stream",
                                                     "Physic Stream Id"};
  bool states = false;
  VisitJsonMembers(args,
                   [&](std::string_view key, std::string_view) { states |= IsOneOf(key, kKeys); });
  return states;
}

// A stream that waits for an event or a notification of another does no work.
TraceCategory CategoryOfDeviceTask(std::string_view name) {
  const bool waits =
      NameHolds(name, "wait") && (NameHolds(name, "event") || NameHolds(name, "notify"));
  if (waits) return TraceCategory::kUnwanted;
  if (NameHolds(name, "memcpy") || NameHolds(name, "memset")) return TraceCategory::kGpuMemory;
  return TraceCategory::kKernel;
}

}  // namespace

bool IsCannCall(std::string_view name) {
  constexpr std::array<std::string_view, 8> kLayers = {
      "AscendCL@", "Acl@", "Model@", "Node@", "Runtime@", "Hccl@", "HCCL@", "Communication@"};
  return StartsWithOne(name, kLayers);
}

void ProcessKinds::Read(const ChromeEvent& metadata) {
  const bool name = metadata.name == "process_name";
  if (!name && metadata.name != "process_labels") return;
  VisitJsonMembers(metadata.args, [&](std::string_view key, std::string_view value) {
    if (key != (name ? "name" : "labels")) return;
    const std::string_view text = Unquoted(value);
    of_xla_ = of_xla_ || (name && (text.starts_with("/host:") || text.starts_with("/device:")));
    Kind kind = Kind::kHost;
    if (!name && StartsWithOne(text, kDeviceLabels)) kind = Kind::kDevice;
    if (name && text.starts_with("/device:")) kind = Kind::kDevice;
    if (name && IsOneOf(text, kCommunicationNames)) kind = Kind::kCommunication;
    if (name && text == "Overlap Analysis") kind = Kind::kDerived;
    if (kind == Kind::kHost || kinds_.size() >= kMaxProcesses) return;
    Kind& known = kinds_.try_emplace(std::string(metadata.pid), kind).first->second;
    known = std::max(known, kind);  // a name says more than the label
  });
}

ProcessKinds::Kind ProcessKinds::KindOf(const ChromeEvent& event) const {
  const auto known = kinds_.find(std::string(event.pid));
  return known != kinds_.end() ? known->second : Kind::kHost;
}

TraceCategory ProcessKinds::CategoryOf(const ChromeEvent& event) const {
  const Kind kind = KindOf(event);
  if (kind == Kind::kDerived) return TraceCategory::kUnwanted;
  if (IsCannCall(event.name)) return TraceCategory::kRuntime;
  const bool on_device = kind != Kind::kHost || StatesStream(event.args);
  if (StepOfAnnotation(event.name) >= 0)
    return on_device ? TraceCategory::kUnwanted : TraceCategory::kAnnotation;
  if (event.name.starts_with("hcom_")) return TraceCategory::kKernel;
  if (kind == Kind::kCommunication) return TraceCategory::kUnwanted;  // parts of collectives
  if (on_device) return CategoryOfDeviceTask(event.name);
  const bool derived = event.category.empty() && IsOneOf(event.name, kDerivedSpans);
  return derived ? TraceCategory::kUnwanted : TraceCategory::kCpuOp;
}

}  // namespace eroica
