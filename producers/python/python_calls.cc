#include "producers/python/python_calls.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "producers/core/producer_core.h"
#include "producers/python/awaited_worker.h"
#include "producers/python/python_frame.h"
#include "producers/python/sampler_calls.h"
#include "producers/python/thread_lane.h"
#include "producers/python/training_boundaries.h"
#include "schemas/thread_boundary.h"

using eroica::BoundaryKind;
using eroica::LaneOfThisThread;
using eroica::PassBoundary;

extern "C" {

bool eroica_python_attach(int64_t rank, int64_t world_size, int32_t device) {
  const EroicaAttachOptions options = {.component = "python",
                                       .rank = rank,
                                       .world_size = world_size,
                                       .role = nullptr,
                                       .device = device};
  return eroica_attach(&options);
}

int64_t eroica_python_step() {
  const int64_t now_ns = eroica_now_ns();
  const int64_t step = eroica_step(now_ns);
  PassBoundary(now_ns, BoundaryKind::kStep);
  eroica_python_training_call();
  return step;
}

void eroica_python_dataloader_next() {
  const int64_t now_ns = eroica_now_ns();
  eroica_dataloader_next(now_ns);
  PassBoundary(now_ns, BoundaryKind::kBatch);
  eroica_python_training_call();
}

void eroica_python_optimizer_step(bool begins_stage) {
  const int64_t now_ns = eroica_now_ns();
  if (begins_stage) eroica_mark(now_ns, EROICA_OPTIMIZER_BEGIN, 0);
  eroica_optimizer_step(now_ns);
  PassBoundary(now_ns, BoundaryKind::kOptimizer);
  eroica_python_training_call();
}

void eroica_python_mark(int mark_kind) {
  const int64_t now_ns = eroica_now_ns();
  eroica_mark(now_ns, mark_kind, 0);
  PassBoundary(now_ns, BoundaryKind::kMark, static_cast<uint32_t>(mark_kind));
  if (mark_kind == EROICA_BACKWARD_BEGIN) eroica_python_training_call();
}

uint32_t eroica_python_function(const char* name, int wait) {
  if (wait < 0) wait = static_cast<int>(eroica::WaitOfPythonFrame(name));
  return eroica_function(name, EROICA_PYTHON, wait, EROICA_NO_PARENT);
}

uint32_t eroica_python_frame(uint32_t parent, const char* file, int line, const char* function,
                             const char* search_path) {
  uint32_t number = parent;
  eroica::RunAtBoundary(
      [&] {
        if (eroica::IsBootstrapFrame(file)) return;
        std::vector<std::string_view> folders;
        for (std::string_view rest = search_path; !rest.empty();) {
          const size_t end = std::min(rest.find('\n'), rest.size());
          folders.push_back(rest.substr(0, end));
          rest.remove_prefix(std::min(end + 1, rest.size()));
        }
        const std::string name = eroica::PythonFrameName(file, line, function, folders);
        const int wait = static_cast<int>(eroica::WaitOfPythonFrame(name));
        number = eroica_function(name.c_str(), EROICA_PYTHON, wait, parent);
      },
      [](const eroica::Thrown&) {});  // without memory the frame is left out
  return number;
}

uint32_t eroica_python_collective_function(const char* name) {
  return eroica_function(name, EROICA_COLLECTIVE, EROICA_WAIT_NONE, EROICA_NO_PARENT);
}

void eroica_python_enter(uint32_t function, bool covers) {
  if (eroica_wants(EROICA_PYTHON)) eroica::EnterRegion(eroica_now_ns(), function, covers);
}

void eroica_python_interval(int64_t start_monotonic_ns, uint32_t function) {
  const int64_t now_ns = eroica_now_ns();
  eroica::LeaveRegion(now_ns, function);
  if (!eroica_wants(EROICA_PYTHON)) return;
  eroica_interval(eroica_from_monotonic_ns(start_monotonic_ns), now_ns, function,
                  LaneOfThisThread());
}

void eroica_python_await_worker(int32_t process, uint32_t function) {
  if (process > 0) {
    eroica::AwaitWorker({.process = process, .function = function});
  } else if (eroica_trains()) {
    eroica::EndOfAwait();
  }
}

uint64_t eroica_python_collective_launched(uint16_t communicator, uint8_t operation, int32_t peer,
                                           uint64_t sequence, uint64_t bytes) {
  const bool waits = (operation & EROICA_PYTHON_WAITS) != 0;
  const EroicaCollective collective = {
      .communicator = communicator,
      .operation = static_cast<uint8_t>(operation & ~EROICA_PYTHON_WAITS),
      .peer = peer,
      .sequence = sequence,
      .bytes = bytes};
  const int64_t now_ns = eroica_now_ns();
  const uint64_t ticket = eroica_collective_launched(&collective, now_ns);
  if (waits) {
    eroica::EnterCollective(now_ns, ticket);
  } else {
    PassBoundary(now_ns, BoundaryKind::kCollectiveBegin);
  }
  return ticket;
}

void eroica_python_collective_ended(uint64_t ticket, int64_t start_monotonic_ns, uint32_t function,
                                    bool asynchronous) {
  const int64_t now_ns = eroica_now_ns();
  eroica::LeaveCollective(now_ns, ticket);
  eroica_collective_ended(ticket, eroica_from_monotonic_ns(start_monotonic_ns), now_ns, function,
                          asynchronous ? eroica::AsynchronousLane() : LaneOfThisThread());
}

void eroica_python_collective_dropped(uint64_t ticket) {
  eroica::LeaveCollective(eroica_now_ns(), ticket);
  eroica_collective_dropped(ticket);
}

}  // extern "C"
