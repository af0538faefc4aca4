#include "producers/import/collective_calls.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace eroica {
namespace {

// The group of this name, with its members, where the trace's header lists it; else as it is
// stated.
int32_t StatedGroup(const ProcessGroup& group, RankTrace* trace) {
  for (size_t i = 0; i < trace->groups.size(); ++i) {
    const ProcessGroup& known = trace->groups[i];
    if (known.name == group.name && (group.ranks.empty() || known.ranks == group.ranks))
      return static_cast<int32_t>(i);
  }
  return trace->GroupIndex(group);
}

// What two places say of one send or receive.
void TakeIn(CollectiveArgs more, CollectiveArgs* args) {
  if (args->peer < 0) args->peer = more.peer;
  if (args->group_peer < 0) args->group_peer = more.group_peer;
  if (args->bytes == 0) args->bytes = more.bytes;
  if (args->input_bytes.empty()) args->input_bytes = std::move(more.input_bytes);
  if (args->group.name.empty() && args->group.ranks.empty()) args->group = std::move(more.group);
}

// An operation of a group, as its enqueue says it. The group's sequence numbers are of the batch.
void Describe(const CollectiveArgs& args, CollectiveOperation operation, RankTrace* trace,
              CollectiveCall* call) {
  call->operation = operation;
  call->peer = args.peer;
  call->group_peer = args.group_peer;
  if (!args.group.name.empty() || !args.group.ranks.empty())
    call->group = StatedGroup(args.group, trace);
  call->bytes = args.bytes > 0 ? args.bytes
                               : std::accumulate(args.input_bytes.begin(), args.input_bytes.end(),
                                                 uint64_t{0});
}

}  // namespace

void CollectiveCalls::AddEnqueue(Span span, CollectiveOperation operation, CollectiveArgs args) {
  enqueues_.push_back({span, operation, std::move(args)});
}

void CollectiveCalls::AddRecord(Span span, CollectiveArgs args) {
  const CollectiveOperation operation = args.operation;
  if (IsPointToPoint(operation)) {
    records_.push_back({span, operation, std::move(args)});
  } else if (operation != CollectiveOperation::kUnknown) {
    launched_.push_back({span, operation, std::move(args)});
  }
}

void CollectiveCalls::AddAnnotation(Span span, CollectiveOperation operation, int32_t peer,
                                    const CollectiveArgs& args) {
  if (peer >= 0) {
    records_.push_back({span, operation, args});
    records_.back().args.group_peer = peer;
  }
  annotations_.push_back(
      {span, operation,
       std::accumulate(args.input_bytes.begin(), args.input_bytes.end(), uint64_t{0})});
}

void CollectiveCalls::AddLaunch(Span span, uint64_t correlation) {
  if (launches_.size() < kMaxLaunches) launches_.push_back({correlation, span.start_ns, span.lane});
}

uint32_t CollectiveCalls::AddKernel(Span span, CollectiveOperation operation,
                                    CollectiveLibrary library, CollectiveArgs args) {
  executions_.push_back({span, operation, library, std::move(args), true});
  return static_cast<uint32_t>(executions_.size() - 1);
}

uint32_t CollectiveCalls::AddExecution(Span span, CollectiveOperation operation,
                                       CollectiveLibrary library, CollectiveArgs args) {
  executions_.push_back({span, operation, library, std::move(args), false});
  return static_cast<uint32_t>(executions_.size() - 1);
}

void CollectiveCalls::Finish(FlightRecorderDump dump, RankTrace* trace) {
  trace->collectives.clear();
  for (const Execution& execution : executions_) {
    CollectiveCall call;
    call.order_ns = call.start_ns = execution.span.start_ns;
    call.end_ns = execution.span.end_ns;
    call.operation = execution.operation;
    call.library = execution.library;
    const CollectiveArgs& args = execution.args;
    if (args.states_collective) {
      if (args.operation != CollectiveOperation::kUnknown) call.operation = args.operation;
      if (!args.group.name.empty() || !args.group.ranks.empty())
        call.group = StatedGroup(args.group, trace);
      call.bytes = args.bytes;
      call.stated_sequence = args.sequence;
      call.peer = args.peer;
    } else {
      call.bytes = args.bytes > 0 ? args.bytes
                                  : std::accumulate(args.input_bytes.begin(),
                                                    args.input_bytes.end(), uint64_t{0});
    }
    trace->collectives.push_back(call);
  }
  JoinRecords();
  JoinDump(std::move(dump), trace);
  JoinExecutions(trace);
  JoinKernels(trace);
  JoinGroups(trace);
  AddWhatNeverRan(trace);
}

// Collectives that were launched behind the launch of the last one that ran. A thread that stands
// still launches few more; a trace that lacks the executions (no CUDA activity) shows none that ran
// and says nothing.
void CollectiveCalls::AddWhatNeverRan(RankTrace* trace) {
  int64_t last_ns = -1;
  for (const CollectiveCall& call : trace->collectives) {
    if (!IsPointToPoint(call.operation)) last_ns = std::max(last_ns, call.order_ns);
  }
  if (last_ns < 0) return;
  const auto is_collective = [](const Enqueue& enqueue) {
    return !IsPointToPoint(enqueue.operation);
  };
  const bool enqueued = std::ranges::any_of(enqueues_, is_collective);
  for (const Enqueue& launch : enqueued ? enqueues_ : launched_) {
    if (!is_collective(launch) || launch.taken || launch.span.start_ns <= last_ns) continue;
    CollectiveCall call;
    Describe(launch.args, launch.operation, trace, &call);
    call.ran = false;
    call.order_ns = call.start_ns = launch.span.start_ns;
    call.end_ns = trace->end_ns;
    if (call.group < 0) call.group = launch.group;
    call.stated_sequence = launch.args.sequence >= 0 ? launch.args.sequence : launch.sequence;
    trace->collectives.push_back(call);
  }
}

// What a record says goes to the enqueue that it lies in, or that lies in it; without one it is an
// enqueue itself. Leaves enqueues_ by start.
void CollectiveCalls::JoinRecords() {
  const auto by_start = [](const Enqueue& x, const Enqueue& y) {
    return x.span.start_ns < y.span.start_ns;
  };
  std::ranges::stable_sort(enqueues_, by_start);
  std::ranges::stable_sort(records_, by_start);
  const size_t known = enqueues_.size();
  size_t first_open = 0;
  for (Enqueue& record : records_) {
    while (first_open < known && enqueues_[first_open].span.end_ns < record.span.start_ns)
      ++first_open;
    Enqueue* around = nullptr;
    for (size_t i = first_open; i < known; ++i) {
      Enqueue& enqueue = enqueues_[i];
      if (enqueue.span.start_ns > record.span.end_ns) break;
      if (enqueue.operation == record.operation && enqueue.span.lane == record.span.lane)
        around = &enqueue;
    }
    if (around == nullptr) {
      enqueues_.push_back(std::move(record));
    } else {
      TakeIn(std::move(record.args), &around->args);
    }
  }
  records_.clear();
  std::ranges::stable_sort(enqueues_, by_start);
}

// A dump's entry is made while the enqueue runs: the one entry whose time lies inside belongs to
// it. None or several: not told.
void CollectiveCalls::JoinDump(FlightRecorderDump dump, RankTrace* trace) {
  using Entry = FlightRecorderDump::Entry;
  std::erase_if(dump.entries, [](const Entry& entry) {
    return entry.point_to_point || entry.group == FlightRecorderDump::kNone;
  });
  std::sort(dump.entries.begin(), dump.entries.end(),
            [](const Entry& x, const Entry& y) { return x.created_ns < y.created_ns; });
  for (Enqueue& enqueue : enqueues_) {
    if (IsPointToPoint(enqueue.operation)) continue;
    const auto created_before = [](const Entry& entry, int64_t time) {
      return entry.created_ns < time;
    };
    const int64_t start = trace->base_time_ns + enqueue.span.start_ns;
    const int64_t end = trace->base_time_ns + enqueue.span.end_ns;
    const auto first =
        std::lower_bound(dump.entries.begin(), dump.entries.end(), start, created_before);
    const auto behind = std::lower_bound(first, dump.entries.end(), end, created_before);
    if (behind - first != 1) continue;
    const FlightRecorderDump::GroupName& named = dump.names[first->group];
    ProcessGroup group{named.name, named.description, {}, 0};
    for (const ProcessGroup& known : dump.groups) {
      if (known.name != group.name) continue;
      group.ranks = known.ranks;
      group.size = known.size;
    }
    enqueue.group = StatedGroup(group, trace);
    enqueue.sequence = first->sequence;
  }
}

// The first enqueue, in order, that is still without an execution, began before it and has a tensor
// of its size. Point to point operations name it by id.
CollectiveCalls::Enqueue* CollectiveCalls::FindEnqueue(const Execution& execution,
                                                       size_t* first_open) {
  const bool point_to_point = IsPointToPoint(execution.operation);
  while (*first_open < enqueues_.size() && enqueues_[*first_open].taken) ++*first_open;
  for (size_t i = *first_open; i < enqueues_.size(); ++i) {
    Enqueue& enqueue = enqueues_[i];
    if (enqueue.span.start_ns > execution.span.start_ns) break;
    if (enqueue.taken || IsPointToPoint(enqueue.operation) != point_to_point) continue;
    if (point_to_point) {
      if (enqueue.operation == execution.operation &&
          enqueue.args.external_id + 1 == execution.args.external_id)
        return &enqueue;
      continue;
    }
    // FSDP's reduce-scatter runs as an all-reduce in gloo; any other difference tells that they do
    // not belong together.
    const bool same = enqueue.operation == execution.operation ||
                      (enqueue.operation == CollectiveOperation::kReduceScatter &&
                       execution.operation == CollectiveOperation::kAllReduce);
    if (!same) continue;
    if (execution.args.input_elements.empty()) return &enqueue;
    const uint64_t elements = execution.args.input_elements[0];
    const std::vector<uint64_t>& offered = enqueue.args.input_elements;
    if (std::find(offered.begin(), offered.end(), elements) != offered.end()) return &enqueue;
  }
  return nullptr;
}

void CollectiveCalls::JoinExecutions(RankTrace* trace) {
  std::vector<size_t> order;
  for (size_t i = 0; i < executions_.size(); ++i) {
    if (!executions_[i].kernel) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [this](size_t x, size_t y) {
    return executions_[x].span.start_ns < executions_[y].span.start_ns;
  });
  size_t first_open = 0;
  for (const size_t i : order) {
    Enqueue* enqueue = FindEnqueue(executions_[i], &first_open);
    if (enqueue == nullptr) continue;
    enqueue->taken = true;
    CollectiveCall& call = trace->collectives[i];
    call.order_ns = enqueue->span.start_ns;
    call.operation = enqueue->operation;
    call.group_peer = enqueue->args.group_peer;
    if (call.group < 0) call.group = enqueue->group;
    if (call.stated_sequence < 0) call.stated_sequence = enqueue->sequence;
  }
}

// Annotations are sorted by lane and start; those of one lane do not overlap.
const CollectiveCalls::Annotation* CollectiveCalls::FindAnnotation(const Launch& launch) const {
  auto behind = std::upper_bound(
      annotations_.begin(), annotations_.end(), launch, [](const Launch& x, const Annotation& y) {
        return std::pair(x.lane, x.start_ns) < std::pair(y.span.lane, y.span.start_ns);
      });
  if (behind == annotations_.begin()) return nullptr;
  const Annotation& candidate = *--behind;
  const bool inside =
      candidate.span.lane == launch.lane && launch.start_ns <= candidate.span.end_ns;
  return inside ? &candidate : nullptr;
}

// enqueues_ is sorted by start, and few are open at one time.
CollectiveCalls::Enqueue* CollectiveCalls::FindEnqueueAround(const Launch& launch) {
  constexpr int kLookBack = 64;
  auto at = std::upper_bound(
      enqueues_.begin(), enqueues_.end(), launch.start_ns,
      [](int64_t time, const Enqueue& enqueue) { return time < enqueue.span.start_ns; });
  for (int i = 0; i < kLookBack && at != enqueues_.begin(); ++i) {
    --at;
    if (at->span.lane == launch.lane && launch.start_ns <= at->span.end_ns && !at->taken)
      return &*at;
  }
  return nullptr;
}

// launches_ is sorted by correlation.
const CollectiveCalls::Launch* CollectiveCalls::FindLaunch(const Execution& kernel) const {
  const auto launch =
      std::ranges::lower_bound(launches_, kernel.args.correlation, {}, &Launch::correlation);
  const bool found = launch != launches_.end() && launch->correlation == kernel.args.correlation;
  return found ? &*launch : nullptr;
}

// A kernel's correlation id is that of its launch. The launch lies inside the annotation that names
// operation and sizes, and inside the enqueue of which a dump names group and sequence number.
void CollectiveCalls::JoinKernels(RankTrace* trace) {
  std::sort(launches_.begin(), launches_.end(),
            [](const Launch& x, const Launch& y) { return x.correlation < y.correlation; });
  std::sort(annotations_.begin(), annotations_.end(), [](const Annotation& x, const Annotation& y) {
    return std::pair(x.span.lane, x.span.start_ns) < std::pair(y.span.lane, y.span.start_ns);
  });
  for (size_t i = 0; i < executions_.size(); ++i) {
    const Execution& kernel = executions_[i];
    if (!kernel.kernel) continue;
    const Launch* launch = FindLaunch(kernel);
    if (launch == nullptr) continue;
    CollectiveCall& call = trace->collectives[i];
    call.order_ns = launch->start_ns;
    if (Enqueue* enqueue = FindEnqueueAround(*launch); enqueue != nullptr &&
                                                       !IsPointToPoint(enqueue->operation) &&
                                                       !IsPointToPoint(call.operation)) {
      enqueue->taken = true;
      if (call.operation == CollectiveOperation::kUnknown) call.operation = enqueue->operation;
      if (call.group < 0) call.group = enqueue->group;
      if (call.stated_sequence < 0 && call.group == enqueue->group)
        call.stated_sequence = enqueue->sequence;
    }
    const Annotation* annotation = FindAnnotation(*launch);
    if (kernel.args.states_collective || annotation == nullptr) continue;
    if (call.operation == CollectiveOperation::kUnknown) call.operation = annotation->operation;
    call.bytes = annotation->bytes;
  }
}

// Of each thread, in order of time: an enqueue is carried by the first kernel that is launched
// inside it or behind it.
void CollectiveCalls::JoinGroups(RankTrace* trace) {
  struct Kernel {
    const Launch* launch;
    size_t execution;
  };
  std::vector<Kernel> kernels;
  for (size_t i = 0; i < executions_.size(); ++i) {
    const CollectiveOperation operation = trace->collectives[i].operation;
    const bool sends = operation == CollectiveOperation::kUnknown || IsPointToPoint(operation);
    const Launch* launch = executions_[i].kernel && sends ? FindLaunch(executions_[i]) : nullptr;
    if (launch != nullptr) kernels.push_back({launch, i});
  }
  std::ranges::sort(kernels, {}, [](const Kernel& kernel) {
    return std::pair(kernel.launch->start_ns, kernel.execution);
  });
  std::map<uint8_t, std::vector<const Enqueue*>> waiting;  // by lane
  size_t next = 0;
  for (const Kernel& kernel : kernels) {
    for (; next < enqueues_.size() && enqueues_[next].span.start_ns <= kernel.launch->start_ns;
         ++next) {
      if (IsPointToPoint(enqueues_[next].operation) && !enqueues_[next].taken)
        waiting[enqueues_[next].span.lane].push_back(&enqueues_[next]);
    }
    std::vector<const Enqueue*> carried = std::move(waiting[kernel.launch->lane]);
    waiting[kernel.launch->lane].clear();
    const CollectiveArgs& stated = executions_[kernel.execution].args;
    if (stated.states_collective && IsPointToPoint(stated.operation)) continue;
    if (carried.size() > kMaxOperationsOfKernel) carried.resize(kMaxOperationsOfKernel);
    size_t last = kernel.execution;
    for (size_t i = 0; i < carried.size(); ++i) {
      if (i > 0) {
        CollectiveCall further = trace->collectives[kernel.execution];
        further.next = -1;
        trace->collectives[last].next = static_cast<int32_t>(trace->collectives.size());
        last = trace->collectives.size();
        trace->collectives.push_back(further);
      }
      Describe(carried[i]->args, carried[i]->operation, trace, &trace->collectives[last]);
    }
  }
}

}  // namespace eroica
